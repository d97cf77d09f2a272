import { partitionOf } from '../../../ids/event-partition.js'
import type { AdmittedInvocation } from '../../../invocations/invocation-group.js'
import type { SeenEvents } from '../../actor/seen-events.js'
import { DROP, eachInvocation, HAND_ON, type Stage } from '../../actor/stage.js'
import { tracePartition } from '../../actor/trace-partition.js'
import { type RowDeps, toRow } from '../../records/row.js'
import { type EvidenceDeps, isStated, strongestEvidence, verdictOf } from './evidence.js'
import { TraceFacts } from './trace-facts.js'

export interface StageADeps extends RowDeps, EvidenceDeps {
  /** Of the log. */
  readonly partitions: number
  /** The events that the partition has seen, rebuilt from the read model and from the mailboxes of the later stages. */
  readonly loadSeen: (partition: number) => Promise<Pick<SeenEvents, 'duplicatesIn'>>
}

/**
 * The facts stage (A): attributes from what an event states, the tenant's directory and the credential. Mailbox
 * `invocations.a.<partition>`, in which a partition has all events with one of its ids: so this stage alone decides
 * whether an event is new, and drops a repeat even if its content differs.
 *
 * A call of a trace that does not name its service itself goes to the trace's actor (`stages/t/`), and so does what the
 * other calls of a trace show about it. An event without a trace that the facts do not resolve goes to
 * `invocations.b.<same partition>`.
 *
 * An event of another partition goes to that one's mailbox, where it is decided on: a spool of before the number of
 * partitions changed holds such events, and a replay from quarantine may.
 */
export function stageA(deps: StageADeps): Stage {
  const { partitions } = deps
  return {
    name: 'a',
    next: 'b',
    mailboxOf({ id, tenantId, invocation: { traceId } }, partition) {
      const own = partitionOf(id, partitions)
      if (own !== partition) return { stage: 'a', partition: own }
      return traceId === undefined
        ? undefined
        : { stage: 't', partition: tracePartition(tenantId, traceId, partitions) }
    },
    recordsKeyOf: ({ id }, partition) => partitionOf(id, partitions) === partition,
    async open(partition) {
      const seen = await deps.loadSeen(partition)
      let learned = new TraceFacts(deps.directory)
      return {
        async handle({ invocations, validFromMs }) {
          const ofPartition = invocations.filter(({ id }) => partitionOf(id, partitions) === partition)
          const isDuplicate = await seen.duplicatesIn(ofPartition, validFromMs)
          learned = new TraceFacts(deps.directory)
          let at = 0
          return eachInvocation(invocations, (admitted) => {
            if (admitted !== ofPartition[at]) return HAND_ON
            if (isDuplicate[at++] === true) return DROP
            const own = resolutionOf(admitted, deps)
            const { traceId } = admitted.invocation
            if (own === undefined || (traceId !== undefined && !isStated(own))) return HAND_ON
            if (traceId !== undefined) learned.add(admitted, traceId, own)
            return toRow(admitted, verdictOf(own), { partition, validFromMs }, deps)
          })
        },
        factsOf: () => learned.all(),
      }
    },
  }
}

const resolutionOf = (admitted: AdmittedInvocation, deps: EvidenceDeps) =>
  strongestEvidence(admitted.invocation, admitted.tenantId, admitted, deps)
