import { type AdmittedInvocation, WAS_DUPLICATE } from '../../../invocations/invocation-group.js'
import type { OtherPartitions } from '../../actor/other-partitions.js'
import type { SeenEvents } from '../../actor/seen-events.js'
import { DROP, eachInvocation, type Stage } from '../../actor/stage.js'
import type { UnconfirmedIds } from '../../actor/unconfirmed-ids.js'
import { type RowDeps, toRow } from '../../records/row.js'
import { decideBatch } from './decide.js'
import { type EvidenceDeps, verdictOf } from './evidence.js'
import type { PartitionTraces } from './partition-traces.js'

export interface StageADeps extends RowDeps, EvidenceDeps {
  /** The events that the partition has seen, rebuilt from the read model and from the mailboxes of the later stages. */
  readonly loadSeen: (partition: number) => Promise<Pick<SeenEvents, 'duplicatesIn'>>
  /** Where events are that a partition does not know: for those whose owner has not confirmed that they are new. */
  readonly otherPartitions: (partition: number) => Pick<OtherPartitions, 'haveFirst' | 'forget'>
  /** The events that may have been admitted without confirmation, here or in another partition. */
  readonly unconfirmed: Pick<UnconfirmedIds, 'upToNow' | 'mayHave'>
  /** The partition's traces of the last hour, rebuilt from the same sources. */
  readonly loadTraces: (partition: number) => Promise<PartitionTraces>
}

/**
 * The facts stage (A): attributes from facts alone (what the event states, the tenant's directory, the other events of
 * its trace, the credential). Mailbox `invocations.a.<partition>`. A duplicate event is dropped here, even if its
 * content differs. An event that the facts do not resolve goes to `invocations.b.<same partition>`; corrections from
 * later events of its trace follow it there.
 */
export function stageA(deps: StageADeps): Stage {
  return {
    name: 'a',
    next: 'b',
    async open(partition) {
      const seen = await deps.loadSeen(partition)
      const traces = await deps.loadTraces(partition)
      const others = deps.otherPartitions(partition)
      return {
        async handle({ invocations, validFromMs }) {
          const events = invocations.filter((admitted) => !wasAdmittedBefore(admitted))
          const [isDuplicate] = await Promise.all([seen.duplicatesIn(events, validFromMs), deps.unconfirmed.upToNow()])
          const kept = new Set(events.filter((_, i) => isDuplicate[i] !== true))
          const unconfirmed = [...kept].filter(({ id, isUnconfirmed }) => isUnconfirmed || deps.unconfirmed.mayHave(id))
          for (const event of await elsewhere(unconfirmed, others, validFromMs)) kept.delete(event)
          const decided = decideBatch(
            invocations.filter((admitted) => kept.has(admitted)),
            traces,
            validFromMs,
            deps,
          )
          await traces.deriveCorrections(validFromMs)
          return eachInvocation(invocations, (admitted) => {
            if (!kept.has(admitted)) return DROP
            const { resolution, traceServices } = decided.get(admitted) ?? {}
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

/** Those of these events whose first request went to another partition. */
async function elsewhere(
  unconfirmed: readonly AdmittedInvocation[],
  others: Pick<OtherPartitions, 'haveFirst' | 'forget'>,
  nowMs: number,
): Promise<readonly AdmittedInvocation[]> {
  if (unconfirmed.length === 0) {
    others.forget()
    return []
  }
  const areElsewhere = await others.haveFirst(unconfirmed, nowMs)
  return unconfirmed.filter((_, i) => areElsewhere[i] === true)
}

/** The event was admitted before, perhaps through another partition; it is here only so that its key is recorded. */
const wasAdmittedBefore = ({ key }: AdmittedInvocation): boolean =>
  key !== undefined && (key.flags & WAS_DUPLICATE) !== 0
