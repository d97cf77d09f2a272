import { type SipKey, sipHash128 } from '../../ids/siphash.js'
import type { AdmittedInvocation } from '../../invocations/group.js'
import type { EventFacts } from '../learning/features.js'

/** What a model may know of an admitted event. @param identityKey the tenant's, for hashing identities */
export const factsOf = ({ invocation, principal }: AdmittedInvocation, identityKey: SipKey): EventFacts => ({
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
    invocation.attributedIdentity === undefined ? undefined : identityHash(invocation.attributedIdentity, identityKey),
  traceId: invocation.traceId,
  tags: invocation.tags,
  k8sNamespace: invocation.k8sNamespace,
  k8sWorkload: invocation.k8sWorkload,
  workloadIdentity: invocation.workloadIdentity,
})

function identityHash(identity: string, key: SipKey): string {
  const hash = Buffer.alloc(16)
  sipHash128(key, Buffer.from(identity), hash)
  return hash.toString('hex')
}
