import type { Checkpoint } from '../../actor/checkpoint.js'
import { eachInvocation, type Stage } from '../../actor/stage.js'
import { type RowDeps, toRow } from '../../records/row.js'
import { type EvidenceDeps, verdictOf } from '../a/evidence.js'
import { decideBatch } from './decide.js'
import { type PartitionTraces, TRACE_WINDOW_MS } from './partition-traces.js'
import { traceName } from './traces.js'

export interface StageTDeps extends RowDeps, EvidenceDeps {
  /** The partition's traces, rebuilt from its own mailbox. */
  readonly loadTraces: (partition: number, checkpoint: Checkpoint) => Promise<PartitionTraces>
}

/** 100,000 to 200,000 calls, which is more than a partition remembers, or 500,000 facts: read in seconds. */
const READ_AGAIN_BYTES_MAX = 64 * 1024 * 1024

/**
 * The trace stage (T): attributes calls that do not name their service by the other calls of their trace. Mailbox
 * `invocations.t.<partition>`, in which a partition has all that concerns one of its traces: the calls that stage A
 * could not resolve, or only by the default of their credential, and what it learned of the others. A call that its
 * trace does not resolve goes to `invocations.b.<same partition>`; corrections by later calls of its trace follow it
 * there.
 */
export function stageT(deps: StageTDeps): Stage {
  return {
    name: 't',
    next: 'b',
    readAgain: { windowMs: TRACE_WINDOW_MS, bytesMax: READ_AGAIN_BYTES_MAX },
    async open(partition, checkpoint = { done: 0 }) {
      const traces = await deps.loadTraces(partition, checkpoint)
      return {
        async handle({ invocations, facts, validFromMs }) {
          for (const fact of facts) traces.learnAll(traceName(fact.tenantId, fact.traceId), fact, validFromMs)
          const decided = decideBatch(invocations, traces, validFromMs, deps)
          await traces.deriveCorrections(validFromMs)
          return eachInvocation(invocations, (admitted) => {
            const { resolution, traceServices, failure } = decided.get(admitted) ?? {}
            if (failure !== undefined) throw failure.cause
            if (resolution === undefined) return { kind: 'hand_on', ...(traceServices && { traceServices }) }
            return toRow(admitted, verdictOf(resolution), { partition, validFromMs }, deps)
          })
        },
        correctionsOf: () => traces.corrections(),
        onApplied: async () => traces.markSent(),
      }
    },
  }
}
