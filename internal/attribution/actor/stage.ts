import type { StageName } from '../../../streams/invocations.js'
import { poisonReason } from '../../broker/quarantine.js'
import type { AdmittedInvocation } from '../../invocations/invocation-group.js'
import { ownTurn } from '../../process/own-turn.js'
import type { AttributionRow } from '../../store/tables/attributions.js'
import type { Batch } from './batch.js'
import type { Checkpoint } from './checkpoint.js'
import type { Learned } from './corrections.js'
import type { ReadAgain } from './recent-messages.js'
import type { LearnedFact } from './trace-facts.js'

/** The result of a stage for one event. */
export type Disposition =
  | { readonly kind: 'resolved'; readonly row: AttributionRow }
  /** `traceServices`: the services of the event's trace, when there are several. */
  | { readonly kind: 'hand_on'; readonly traceServices?: readonly string[] }
  | { readonly kind: 'drop' }
  | { readonly kind: 'failed'; readonly reason: string } // from `poisonReason`

export const HAND_ON: Disposition = { kind: 'hand_on' }
export const DROP: Disposition = { kind: 'drop' }

/** An event as the next stage gets it. */
export const handedOn = (
  admitted: AdmittedInvocation,
  { traceServices }: Extract<Disposition, { readonly kind: 'hand_on' }>,
): AdmittedInvocation => (traceServices === undefined ? admitted : { ...admitted, traceServices })

/**
 * A stage: a side-effect-free function over a batch, with in-memory state per partition that can always be rebuilt.
 */
export interface Stage {
  readonly name: StageName
  /** The stage that gets the corrections of this one, in the same partition, and the events that it hands on. */
  readonly next: StageName | undefined
  /**
   * Where an event of a partition goes that is handed on, if not to `next` in the same one. It depends on these two
   * alone.
   */
  mailboxOf?(admitted: AdmittedInvocation, partition: number): Mailbox | undefined
  /** Whether the stage records the Idempotency-Key of an event, whatever it decides on the event. */
  recordsKeyOf?(admitted: AdmittedInvocation, partition: number): boolean
  /** What the checkpoint remembers of the mailbox, for an `open` that rebuilds the state from it. */
  readonly readAgain?: ReadAgain
  /**
   * Called when this process takes over a partition, before its first batch.
   *
   * @param checkpoint as the last owner left it; absent if there was none
   */
  open(partition: number, checkpoint?: Checkpoint): Promise<OpenStage>
}

export interface OpenStage {
  /**
   * Returns one disposition per invocation of the batch, in order. It may do lookups, but must return the same result
   * when the same batch is repeated.
   *
   * @param basis the result of `basisOf` when the batch was planned
   */
  handle(batch: Batch, basis?: string): Promise<readonly Disposition[]>
  /**
   * The changing state that the dispositions of the batch just handled depend on (which model served). It is stored in
   * the plan, so that a repeat, perhaps in another process, depends on the same state.
   */
  basisOf?(batch: Batch): string
  /**
   * New verdicts on events of earlier batches, learned from the batch just handled. Returns the same until `onApplied`
   * is called, and does not repeat them after that.
   */
  correctionsOf?(batch: Batch): readonly Learned[]
  /** What the batch just handled tells the trace actors: facts of calls that need none of their trace themselves. */
  factsOf?(batch: Batch): readonly LearnedFact[]
  /** Called after all effects of the batch have been applied; again if the batch is repeated. */
  onApplied?(batch: Batch): Promise<void>
}

export interface Mailbox {
  readonly stage: StageName
  readonly partition: number
}

/** Of a batch, before the actors of other partitions have their turn. */
const SLICE_MS = 10

/**
 * Applies a rule to each event, in slices. An event whose rule throws is poison; the rest of the batch continues.
 */
export async function eachInvocation(
  invocations: readonly AdmittedInvocation[],
  rule: (invocation: AdmittedInvocation, i: number) => AttributionRow | Disposition,
): Promise<Disposition[]> {
  const results: Disposition[] = []
  let sliceEnd = performance.now() + SLICE_MS
  for (const [i, invocation] of invocations.entries()) {
    results.push(resultOf(invocation, i, rule))
    if (i % EVENTS_PER_LOOK !== EVENTS_PER_LOOK - 1 || performance.now() < sliceEnd) continue
    await ownTurn()
    sliceEnd = performance.now() + SLICE_MS
  }
  return results
}

/** A clock costs what a rule for a common event does. */
const EVENTS_PER_LOOK = 8

function resultOf(
  invocation: AdmittedInvocation,
  i: number,
  rule: (invocation: AdmittedInvocation, i: number) => AttributionRow | Disposition,
): Disposition {
  try {
    const result = rule(invocation, i)
    return 'kind' in result ? result : { kind: 'resolved', row: result }
  } catch (cause) {
    return { kind: 'failed', reason: poisonReason('rule_failed', cause) }
  }
}
