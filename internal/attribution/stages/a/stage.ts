import { type AdmittedInvocation, WAS_DUPLICATE } from '../../../invocations/group.js'
import type { SeenEvents } from '../../actor/seen-events.js'
import { DROP, eachInvocation, HAND_ON, type Stage } from '../../actor/stage.js'
import { type RowDeps, toRow } from '../../records/row.js'
import { type DecideDeps, decideBatch } from './decide.js'
import { verdictOf } from './evidence.js'
import type { PartitionTraces } from './partition-traces.js'

export interface StageADeps extends RowDeps, DecideDeps {
  /** What the partition has seen so far, rebuilt from the read model and from what later stages still hold. */
  readonly loadSeen: (partition: number) => Promise<Pick<SeenEvents, 'duplicatesIn'>>
  /** The traces of the partition's last hour, rebuilt from the same. */
  readonly loadTraces: (partition: number) => Promise<PartitionTraces>
}

/**
 * Stage A: attributes from facts alone (what the event states, the tenant's directory, the other events of its trace,
 * the credential). Mailbox `invocations.a.<partition>`. An event seen before is dropped here, whatever it says now; what
 * the facts do not resolve goes to `invocations.b.<same partition>`, and with it, later, what the trace has told since.
 */
export function stageA(deps: StageADeps): Stage {
  return {
    name: 'a',
    next: 'b',
    async open(partition) {
      const seen = await deps.loadSeen(partition)
      const traces = await deps.loadTraces(partition)
      return {
        async handle({ invocations, validFromMs }) {
          const events = invocations.filter((admitted) => !isForItsKey(admitted))
          const isDuplicate = await seen.duplicatesIn(events, validFromMs)
          const kept = new Set(events.filter((_, i) => isDuplicate[i] !== true))
          const decided = decideBatch(
            invocations.filter((admitted) => kept.has(admitted)),
            traces,
            validFromMs,
            deps,
          )
          await traces.look(validFromMs)
          return eachInvocation(invocations, (admitted) => {
            if (!kept.has(admitted)) return DROP
            const resolution = decided.get(admitted)
            if (resolution === undefined) return HAND_ON
            return toRow(admitted, verdictOf(resolution), { partition, validFromMs }, deps)
          })
        },
        correctionsOf: () => traces.corrections(),
        settled: async () => traces.settle(),
      }
    },
  }
}

/** The event had been admitted before, perhaps by way of another partition. */
const isForItsKey = ({ key }: AdmittedInvocation): boolean => key !== undefined && (key.flags & WAS_DUPLICATE) !== 0
