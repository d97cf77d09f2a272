import type { StageName } from '../../../streams/invocations.js'
import { poisonReason } from '../../broker/quarantine.js'
import type { AdmittedInvocation } from '../../invocations/group.js'
import type { AttributionRow } from '../../store/tables/attributions.js'
import type { Batch } from './batch.js'
import type { Learned } from './corrections.js'

/** What a stage makes of one event. */
export type Disposition =
  | { readonly kind: 'resolved'; readonly row: AttributionRow }
  | { readonly kind: 'hand_on' }
  | { readonly kind: 'drop' }
  | { readonly kind: 'failed'; readonly reason: string } // made by `poisonReason`

export const HAND_ON: Disposition = { kind: 'hand_on' }
export const DROP: Disposition = { kind: 'drop' }

/**
 * A stage: a function over a batch without effects, and the state it keeps in memory for its partition. The state can always
 * be rebuilt.
 */
export interface Stage {
  readonly name: StageName
  readonly next: StageName | undefined
  /** Called when a partition is taken over, before its first batch. */
  open(partition: number): Promise<OpenStage>
}

export interface OpenStage {
  /**
   * One disposition for each of the batch's invocations, in their order. It may look things up; of the same batch
   * formed again it says the same.
   *
   * @param basis what `basisOf` said of the batch when it was planned
   */
  handle(batch: Batch, basis?: string): Promise<readonly Disposition[]>
  /**
   * What of the changing world the dispositions of the batch that was just handled rest on (which model has served),
   * to be kept in its plan: formed again, perhaps by another process, the batch rests on the same.
   */
  basisOf?(batch: Batch): string
  /**
   * Other verdicts on events of earlier batches, learned from the batch that was just handled. The same until `settled`
   * is called; what has been told then need not be told again.
   */
  correctionsOf?(batch: Batch): readonly Learned[]
  /** Called when all effects of the batch have happened; again when it is formed again. */
  settled?(batch: Batch): Promise<void>
}

/** Applies a rule event by event; one that throws is poison, and the rest of the batch goes on. */
export const eachInvocation = (
  invocations: readonly AdmittedInvocation[],
  rule: (invocation: AdmittedInvocation, i: number) => AttributionRow | Disposition,
): Disposition[] =>
  invocations.map((invocation, i) => {
    try {
      const result = rule(invocation, i)
      return 'kind' in result ? result : { kind: 'resolved', row: result }
    } catch (cause) {
      return { kind: 'failed', reason: poisonReason('rule_failed', cause) }
    }
  })
