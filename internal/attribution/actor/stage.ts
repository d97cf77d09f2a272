import type { StageName } from '../../../streams/invocations.js'
import type { AdmittedInvocation } from '../../invocations/group.js'
import type { AttributionRow } from '../../store/tables/attributions.js'
import type { Batch } from './batch.js'

/** What a stage makes of one event. */
export type Disposition =
  | { readonly kind: 'resolved'; readonly row: AttributionRow }
  | { readonly kind: 'hand_on' }
  | { readonly kind: 'drop' }
  | { readonly kind: 'failed'; readonly reason: string }

export const HAND_ON: Disposition = { kind: 'hand_on' }
export const DROP: Disposition = { kind: 'drop' }

/**
 * A stage: a pure function over a batch, and the state it keeps in memory for its partition. The state can always
 * be rebuilt.
 */
export interface Stage {
  readonly name: StageName
  readonly next: StageName | undefined
  /** Called when a partition is taken over, before its first batch. */
  open(partition: number): Promise<OpenStage>
}

export interface OpenStage {
  /** One disposition for each of the batch's invocations, in their order. */
  handle(batch: Batch): readonly Disposition[]
}

/** Applies a rule event by event; one that throws is poison, and the rest of the batch goes on. */
export const eachInvocation = (
  invocations: readonly AdmittedInvocation[],
  rule: (invocation: AdmittedInvocation) => AttributionRow | Disposition,
): Disposition[] =>
  invocations.map((invocation) => {
    try {
      const result = rule(invocation)
      return 'kind' in result ? result : { kind: 'resolved', row: result }
    } catch (cause) {
      return { kind: 'failed', reason: cause instanceof Error ? cause.message : String(cause) }
    }
  })
