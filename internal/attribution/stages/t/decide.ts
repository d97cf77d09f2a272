import type { AdmittedInvocation } from '../../../invocations/invocation-group.js'
import { pooledCall } from '../../pools/allocate.js'
import {
  type EvidenceDeps,
  evidenceWithTrace,
  isStated,
  ownerFacts,
  type Resolution,
  strongestEvidence,
} from '../a/evidence.js'
import { factOf } from '../a/trace-facts.js'
import { decidedByTrace, type PartitionTraces } from './partition-traces.js'
import { traceName } from './traces.js'

export interface Decided {
  /** Undefined if the event must go to the next stage. */
  readonly resolution: Resolution | undefined
  /** Of an event without a resolution: the services of its trace, when there are several. */
  readonly traceServices?: readonly string[]
}

/**
 * Attributes each event of a batch from facts. A first pass adds the evidence of all events to their traces, a second
 * one decides each event, so that the order within a batch does not matter.
 *
 * @param atMs the batch's own time
 */
export function decideBatch(
  events: readonly AdmittedInvocation[],
  traces: PartitionTraces,
  atMs: number,
  deps: EvidenceDeps,
): ReadonlyMap<AdmittedInvocation, Decided> {
  const { directory, settingsOf } = deps
  const timeOf = ({ invocation: { eventTimeMs } }: AdmittedInvocation) => ({ atMs, eventTimeMs })
  const decided = new Map<AdmittedInvocation, Decided>()
  const traced: (readonly [admitted: AdmittedInvocation, trace: string])[] = []
  for (const admitted of events) {
    const { invocation, tenantId } = admitted
    const own = strongestEvidence(invocation, tenantId, admitted, deps)
    decided.set(admitted, { resolution: own })
    if (invocation.traceId === undefined) continue
    const trace = traceName(tenantId, invocation.traceId)
    traced.push([admitted, trace])
    if (own === undefined) continue
    traces.learn(trace, factOf(admitted, own, directory), timeOf(admitted))
  }
  for (const [admitted, trace] of traced) {
    const own = decided.get(admitted)?.resolution
    if (own !== undefined && isStated(own)) continue
    const { invocation, tenantId, principal, id } = admitted
    const owners = ownerFacts(invocation, tenantId, directory, settingsOf(tenantId))
    const correlation = traces.correlate(trace, timeOf(admitted))
    const { eventTimeMs } = invocation
    const resolution = evidenceWithTrace(own, correlation, { tenantId, eventTimeMs }, owners, directory)
    const isContested = resolution === undefined && correlation.kind === 'contested'
    decided.set(admitted, { resolution, ...(isContested && { traceServices: correlation.services }) })
    const call = pooledCall(invocation, principal)
    const byTrace = decidedByTrace(resolution, isContested)
    traces.keepOpen(trace, { tenantId, id, own, owners, call, byTrace }, timeOf(admitted))
  }
  return decided
}
