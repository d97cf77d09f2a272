import { STAGES, type StageName } from './invocations.js'

/**
 * The writers of records in the read model, and the order of their instants: a record's version is valid from the
 * instant that its writer has reserved in the bucket `checkpoints` before it prepares the batch.
 */

/** Key of the reader of CHANGES in the bucket `checkpoints`. */
export const CHANGES_CHECKPOINT = 'changes'

/** Whether the reader with this checkpoint writes records: that of CHANGES and every stage; the lane only passes on. */
export function writesRecords(checkpoint: string): boolean {
  const stage = stageOf(checkpoint)
  return checkpoint === CHANGES_CHECKPOINT || (stage !== undefined && stage !== 'l')
}

/** The stage of a checkpoint, when it belongs to a stage's mailbox. */
export const stageOf = (checkpoint: string): StageName | undefined =>
  STAGES.find((stage) => checkpoint.startsWith(`${stage}.`) && /^\d+$/.test(checkpoint.slice(stage.length + 1)))

/**
 * Key of the fence in the bucket `checkpoints`: the newest instant that was, or may have been, used as a snapshot.
 * Instants reserved after the fence was set are later than it. It is kept in the same bucket as the checkpoints because
 * the messages of one stream have one order.
 */
export const FENCE = 'fence'
