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

/** Of an event whose rule threw, `failure` alone. */
export interface Decided {
  /** Undefined if the event must go to the next stage. */
  readonly resolution?: Resolution | undefined
  /** Of an event without a resolution: the services of its trace, when there are several. */
  readonly traceServices?: readonly string[]
  readonly failure?: { readonly cause: unknown }
}

/**
 * Attributes each event of a batch from facts. A first pass adds the evidence of all events to their traces, a second
 * one decides each event, so that the order within a batch does not matter. An event whose rule throws costs only
 * itself.
 *
 * @param atMs the batch's own time
 */
export function decideBatch(
  events: readonly AdmittedInvocation[],
  traces: PartitionTraces,
  atMs: number,
  deps: EvidenceDeps,
): ReadonlyMap<AdmittedInvocation, Decided> {
  const decided = new Map<AdmittedInvocation, Decided>()
  const decide = (admitted: AdmittedInvocation, rule: () => Decided): Decided => {
    let made: Decided
    try {
      made = rule()
    } catch (cause) {
      made = { failure: { cause } }
    }
    decided.set(admitted, made)
    return made
  }
  const traced: (readonly [admitted: AdmittedInvocation, trace: string, own: Resolution | undefined])[] = []
  for (const admitted of events) {
    const { tenantId, invocation } = admitted
    const trace = invocation.traceId === undefined ? undefined : traceName(tenantId, invocation.traceId)
    const { resolution, failure } = decide(admitted, () => learnFrom(admitted, trace, traces, atMs, deps))
    const isDecided = failure !== undefined || (resolution !== undefined && isStated(resolution))
    if (trace !== undefined && !isDecided) traced.push([admitted, trace, resolution])
  }
  for (const [admitted, trace, own] of traced) {
    decide(admitted, () => decideByTrace(admitted, own, trace, traces, atMs, deps))
  }
  return decided
}

/** Resolves an event by itself, and adds to its trace what that tells. */
function learnFrom(
  admitted: AdmittedInvocation,
  trace: string | undefined,
  traces: PartitionTraces,
  atMs: number,
  deps: EvidenceDeps,
): Decided {
  const { invocation, tenantId } = admitted
  const own = strongestEvidence(invocation, tenantId, admitted, deps)
  if (own !== undefined && trace !== undefined) {
    traces.learn(trace, factOf(admitted, own, deps.directory), { atMs, eventTimeMs: invocation.eventTimeMs })
  }
  return { resolution: own }
}

/** @param own the resolution from the event's own facts, if any */
function decideByTrace(
  { invocation, tenantId, principal, id }: AdmittedInvocation,
  own: Resolution | undefined,
  trace: string,
  traces: PartitionTraces,
  atMs: number,
  { directory, settingsOf }: EvidenceDeps,
): Decided {
  const { eventTimeMs } = invocation
  const owners = ownerFacts(invocation, tenantId, directory, settingsOf(tenantId))
  const correlation = traces.correlate(trace, { atMs, eventTimeMs })
  const resolution = evidenceWithTrace(own, correlation, { tenantId, eventTimeMs }, owners, directory)
  const isContested = resolution === undefined && correlation.kind === 'contested'
  const call = pooledCall(invocation, principal)
  const byTrace = decidedByTrace(resolution, isContested)
  traces.keepOpen(trace, { tenantId, id, own, owners, call, byTrace }, { atMs, eventTimeMs })
  return { resolution, ...(isContested && { traceServices: correlation.services }) }
}
