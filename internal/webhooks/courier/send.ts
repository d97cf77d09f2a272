import { readTarget, type Target, type TargetRefusal, type TargetRules } from '../../outbound/target-url.js'
import type { MasterKeys } from '../../secrets/master-keys.js'
import type { Delivery } from '../delivery.js'
import { type SigningKey, type StoredWebhook, signingKeys } from '../endpoint.js'
import type { AttemptRequest, AttemptResult, Failed } from './attempt.js'
import type { FINAL_REASONS } from './outcomes.js'
import { signaturesOf } from './signatures.js'

export interface SendDeps {
  readonly masterKeys: MasterKeys
  readonly targetRules: TargetRules
  /** Whether the tenant's current residency settings let its data go to this endpoint. */
  readonly mayReceive: (webhook: StoredWebhook) => boolean
  readonly attempt: (request: AttemptRequest, onResult: (result: AttemptResult) => void) => void
}

const USER_AGENT = 'attribution-service-webhooks/1'

/**
 * Signs a body and posts it to an endpoint.
 *
 * @param keepBytes how much of the response body to keep
 * @param onResult called once, never before this returns
 */
export function send(
  webhook: StoredWebhook,
  { endpointId, eventId, isReplayed }: Delivery,
  body: Uint8Array,
  keepBytes: number,
  nowMs: number,
  { targetRules, mayReceive, attempt, masterKeys }: SendDeps,
  onResult: (result: AttemptResult) => void,
): void {
  // The rules may have changed since the endpoint was registered.
  if (!mayReceive(webhook)) return queueMicrotask(() => onResult(refused('residency_blocked')))
  const target = targetOf(webhook, targetRules)
  if (typeof target === 'string') return queueMicrotask(() => onResult(refused('disallowed_address')))
  const headers = {
    'content-type': 'application/json',
    'user-agent': USER_AGENT,
    ...signaturesOf(keysOf(webhook, nowMs, masterKeys), eventId, body, nowMs),
    ...(isReplayed && { 'service-replayed': 'true' }),
  }
  attempt({ endpointId, target, headers, body, keepBytes }, onResult)
}

const refused = (reason: (typeof FINAL_REASONS)[number]): Failed => ({
  kind: 'failed',
  reason,
  status: null,
  latencyMs: 0,
  retryAfterMs: undefined,
})

/** Parsed once per version of an endpoint; the rules are the same for the whole process. */
const targets = new WeakMap<StoredWebhook, Target | TargetRefusal>()

function targetOf(webhook: StoredWebhook, rules: TargetRules): Target | TargetRefusal {
  const known = targets.get(webhook)
  if (known !== undefined) return known
  const target = readTarget(webhook.url, rules)
  targets.set(webhook, target)
  return target
}

/** Unsealed once per version of an endpoint, and again when one of its secrets has expired. */
const unsealed = new WeakMap<StoredWebhook, { readonly keys: readonly SigningKey[]; readonly untilMs: number }>()

function keysOf(webhook: StoredWebhook, nowMs: number, masterKeys: MasterKeys): readonly SigningKey[] {
  const known = unsealed.get(webhook)
  if (known !== undefined && nowMs < known.untilMs) return known.keys
  const keys = signingKeys(masterKeys, webhook, nowMs)
  const ends = webhook.secrets.map(({ expires_at: at }) => (at === null ? Number.POSITIVE_INFINITY : Date.parse(at)))
  unsealed.set(webhook, { keys, untilMs: Math.min(...ends.filter((end) => end > nowMs)) })
  return keys
}
