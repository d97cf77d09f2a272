import { identityHash } from '../../../ids/identity-hash.js'
import { idHex } from '../../../ids/ids.js'
import type { SipKey } from '../../../ids/siphash.js'
import { type EventFacts, withNeighbours } from '../../../inference/learning/features.js'
import type { AdmittedInvocation } from '../../../invocations/invocation-group.js'
import type { CountedWindow } from '../../../store/queries/attribution/resolved-classes.js'
import type { StoredNeighbour } from '../../../store/queries/attribution/trace-neighbours.js'
import type { Lookups } from './lookups.js'

/** The facts of an admitted event that a model may use. @param hashOf what rows keep of an identity */
export const factsOf = (
  { invocation, principal, identityHash: known }: AdmittedInvocation,
  hashOf: (identity: string) => Uint8Array,
): EventFacts => ({
  eventTimeMs: invocation.eventTimeMs,
  provider: invocation.provider,
  model: invocation.servedModel ?? invocation.requestedModel,
  ingestionLayer: invocation.ingestionLayer,
  principal,
  inputTokens: invocation.inputTokens,
  outputTokens: invocation.outputTokens,
  cachedInputTokens: invocation.cachedInputTokens,
  reasoningTokens: invocation.reasoningTokens,
  latencyMs: invocation.latencyMs,
  serviceTier: invocation.serviceTier,
  region: invocation.region,
  identityHash:
    invocation.attributedIdentity === undefined ? undefined : idHex(known ?? hashOf(invocation.attributedIdentity)),
  traceId: invocation.traceId,
  tags: invocation.tags,
  k8sNamespace: invocation.k8sNamespace,
  k8sWorkload: invocation.k8sWorkload,
  workloadIdentity: invocation.workloadIdentity,
})

export interface FactsDeps {
  readonly identityKeyOf: (tenantId: string) => SipKey
  readonly identityNameOf: (tenantId: string, stated: string) => string
  /** Recorded calls of traces, at most `ofEachMax` per trace. */
  readonly neighbours: (
    window: CountedWindow,
    traceIds: readonly string[],
    ofEachMax: number,
  ) => Promise<readonly StoredNeighbour[]>
}

/** The features use no more neighbours per trace. */
export const NEIGHBOURS_MAX = 16

/**
 * The facts of a tenant's calls that a model may use: each call's own facts, and those of the other calls of its trace,
 * from the same batch or from records.
 *
 * @param tracesMs the instant of an earlier attempt, to read records as of the same one again
 */
export async function factsOfAll(
  tenantId: string,
  calls: readonly AdmittedInvocation[],
  tracesMs: number | undefined,
  lookups: Lookups,
  deps: FactsDeps,
): Promise<{ readonly facts: readonly EventFacts[]; readonly tracesMs: number | undefined }> {
  const identityKey = deps.identityKeyOf(tenantId)
  const hashOf = (identity: string) => identityHash(identityKey, deps.identityNameOf(tenantId, identity))
  const own = calls.map((admitted) => factsOf(admitted, hashOf))
  const traced = traceWindowOf(own)
  if (traced === undefined) return { facts: own, tracesMs: undefined }
  const { traceIds, ...window } = traced
  const recorded = await lookups.within(async () => {
    const asOfMs = tracesMs ?? (await lookups.completeAsOf())
    return { asOfMs, others: await deps.neighbours({ tenantId, ...window, asOfMs }, traceIds, NEIGHBOURS_MAX) }
  })
  const facts = withNeighbours([...own, ...(recorded?.others ?? []).map(neighbourOf)]).slice(0, own.length)
  return { facts, tracesMs: recorded?.asOfMs }
}

export const neighbourOf = ({
  trace_id,
  provider,
  served_model,
  input_tokens,
  identity_hash_hex,
}: StoredNeighbour): EventFacts => ({
  traceId: trace_id,
  provider,
  model: served_model,
  inputTokens: input_tokens === null ? undefined : Number(input_tokens),
  identityHash: identity_hash_hex ?? undefined,
  // The features use no other facts of a neighbour.
  eventTimeMs: 0,
  ingestionLayer: '',
  principal: '',
})

const HOUR_MS = 60 * 60 * 1000
/** Maximum time between two steps of a workflow. */
const TRACE_WINDOW_MS = HOUR_MS

/** The traces of calls, and the time range in which their other steps can have happened. */
export interface TraceWindow {
  readonly traceIds: readonly string[]
  /** The range is in event time. */
  readonly fromMs: number
  readonly toMs: number
}

/** @returns undefined when no call has a trace */
export function traceWindowOf(
  calls: Iterable<{ readonly traceId?: string | undefined; readonly eventTimeMs: number }>,
): TraceWindow | undefined {
  const traceIds = new Set<string>()
  let [fromMs, toMs] = [Number.POSITIVE_INFINITY, 0]
  for (const { traceId, eventTimeMs } of calls) {
    if (traceId === undefined) continue
    traceIds.add(traceId)
    fromMs = Math.min(fromMs, eventTimeMs - TRACE_WINDOW_MS)
    toMs = Math.max(toMs, eventTimeMs + TRACE_WINDOW_MS)
  }
  return traceIds.size === 0 ? undefined : { traceIds: [...traceIds], fromMs, toMs }
}
