import { STAGES, type StageName } from './invocations.js'

/**
 * Who writes records to the read model, and what holds their instants together: a record's version is valid from the
 * instant that its writer has reserved in the bucket `checkpoints`, before it makes anything.
 */

/** Key of the changes' reader in the bucket `checkpoints`: overrides, disputes and what undoes them. */
export const CHANGES_CHECKPOINT = 'changes'

/** Whether a checkpoint is one of a reader that writes records. */
export const writesRecords = (checkpoint: string): boolean =>
  checkpoint === CHANGES_CHECKPOINT || stageOf(checkpoint) !== undefined

/** The stage whose reader a checkpoint is of, where it is of a mailbox. */
export const stageOf = (checkpoint: string): StageName | undefined =>
  STAGES.find((stage) => checkpoint.startsWith(`${stage}.`) && /^\d+$/.test(checkpoint.slice(stage.length + 1)))

/**
 * Key of the fence in the bucket `checkpoints`: an instant that has been given out as a snapshot, or may have been. What
 * is reserved after it lies behind it. It stands among the checkpoints because one stream's messages have one order.
 */
export const FENCE = 'fence'
