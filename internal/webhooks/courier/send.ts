import { createHmac, type KeyObject } from 'node:crypto'
import { readTarget, type Target, type TargetRefusal, type TargetRules } from '../../outbound/target-url.js'
import type { MasterKeys } from '../../secrets/master-keys.js'
import type { Delivery } from '../delivery.js'
import { type StoredWebhook, signingKeys } from '../endpoint.js'
import type { AttemptRequest, AttemptResult, Failed } from './attempt.js'
import type { FINAL_REASONS } from './outcomes.js'

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
  { endpointId, isReplayed }: Delivery,
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
    'service-signature': signatureOf(keysOf(webhook, nowMs, masterKeys), body, nowMs),
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
const unsealed = new WeakMap<StoredWebhook, { readonly keys: readonly KeyObject[]; readonly untilMs: number }>()

function keysOf(webhook: StoredWebhook, nowMs: number, masterKeys: MasterKeys): readonly KeyObject[] {
  const known = unsealed.get(webhook)
  if (known !== undefined && nowMs < known.untilMs) return known.keys
  const keys = signingKeys(masterKeys, webhook, nowMs)
  const ends = webhook.secrets.map(({ expires_at: at }) => (at === null ? Number.POSITIVE_INFINITY : Date.parse(at)))
  unsealed.set(webhook, { keys, untilMs: Math.min(...ends.filter((end) => end > nowMs)) })
  return keys
}

/**
 * `Service-Signature`: `t=<unix seconds>,v1=<hex>`, HMAC-SHA256 over `<t>.<body>` keyed by the endpoint's
 * signing secret, as text, with its prefix. During a rotation overlap there is one `v1` per secret, newest first.
 *
 * @param body the exact bytes that are sent
 */
export function signatureOf(secrets: readonly KeyObject[], body: Uint8Array, nowMs: number): string {
  const t = Math.floor(nowMs / 1_000)
  const v1 = secrets.map((secret) => `v1=${createHmac('sha256', secret).update(`${t}.`).update(body).digest('hex')}`)
  return `t=${t},${v1.join(',')}`
}
