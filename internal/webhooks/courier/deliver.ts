import type { KeyObject } from 'node:crypto'
import type { Records } from '../../broker/records.js'
import { eventId } from '../../events/event.js'
import type { TenantIds } from '../../ids/ids.js'
import type { MasterKeys } from '../../secrets/master-keys.js'
import { parseJson } from '../../text/parse-json.js'
import type { AttemptOutcome, AttemptReason } from '../attempt-outcomes.js'
import type { Delivery } from '../delivery.js'
import { answersChallenge, challengeText, type StoredWebhook, signingKeys, verified } from '../endpoint.js'
import { nextAttemptAt, parkedUntil, type RetryRules, unparkedAt, VERIFICATION_RULES } from '../retry-schedule.js'
import { signatureOf } from '../signature.js'
import { readTarget, type Target, type TargetRefusal, type TargetRules } from '../target-url.js'
import type { AttemptRequest, AttemptResult, Failed } from './attempt.js'
import type { AttemptRecord, Outcome } from './outcomes.js'

export interface DeliverDeps {
  /** As of a moment ago. */
  readonly findWebhook: (id: string) => StoredWebhook | undefined
  readonly webhooks: Pick<Records<StoredWebhook>, 'read' | 'change'>
  readonly masterKeys: MasterKeys
  readonly targetRules: TargetRules
  /** Whether what is a tenant's may go to its endpoint, by the tenant's settings of now. */
  readonly mayReceive: (webhook: StoredWebhook) => boolean
  readonly rules: RetryRules
  readonly attempt: (request: AttemptRequest, done: (result: AttemptResult) => void) => void
  /** Told of each attempt, before it is settled. */
  readonly tellLane: (delivery: Delivery, result: AttemptResult) => void
  /** The sequence of the newest event there is. */
  readonly newestEvent: () => Promise<number>
  readonly idsOf: (tenantId: string) => TenantIds
  readonly clock: () => number
  /** From 0 to 1. */
  readonly random: () => number
}

/** Bytes of an answer to a challenge. */
const CHALLENGE_ANSWER_BYTES = 4 * 1024
const USER_AGENT = 'attribution-service-webhooks/1'

/**
 * Makes one attempt at a delivery. Its usual way makes no promise, since there is one a delivery.
 *
 * @param made called with what it came to, not before this returns
 * @param failed called instead when the broker is away; it is then to be made again
 */
export function deliver(
  delivery: Delivery,
  deps: DeliverDeps,
  made: (outcome: Outcome) => void,
  failed: (cause: unknown) => void,
): void {
  const webhook = deps.findWebhook(delivery.endpointId)
  if (webhook?.status === 'verified' && !isChallenge(delivery)) deliverEvent(delivery, webhook, deps, made)
  else lookUp(delivery, deps).then(made, failed)
}

const isChallenge = ({ type, sequence }: Delivery): boolean => type === 'webhook.verification' && sequence === 0

async function lookUp(delivery: Delivery, deps: DeliverDeps): Promise<Outcome> {
  // One that was made, verified or challenged anew a moment ago may not be so in the copy yet.
  const webhook = await deps.webhooks.read(delivery.endpointId)
  if (webhook === undefined || webhook.tenant_id !== delivery.tenantId) return { kind: 'dropped' }
  if (isChallenge(delivery)) return verify(delivery, webhook, deps.clock(), deps)
  return new Promise((made) => deliverEvent(delivery, webhook, deps, made))
}

function deliverEvent(
  delivery: Delivery,
  webhook: StoredWebhook,
  deps: DeliverDeps,
  made: (outcome: Outcome) => void,
): void {
  if (webhook.tenant_id !== delivery.tenantId || webhook.status !== 'verified') {
    return queueMicrotask(() => made({ kind: 'dropped' }))
  }
  const nowMs = deps.clock()
  const startedAtMs = delivery.startedAtMs ?? nowMs
  if (nowMs > startedAtMs + deps.rules.stopMs) return queueMicrotask(() => made(expired(delivery, nowMs)))
  send(webhook, delivery, delivery.body, 0, nowMs, deps, (result) => {
    deps.tellLane(delivery, result)
    made(outcomeOf(delivery, result, nowMs, deps.rules, deps))
  })
}

/** What becomes of a delivery for which its endpoint has no room: it comes back, unless its time is over. */
export function putOff(
  delivery: Delivery,
  { rules, clock, random }: Pick<DeliverDeps, 'rules' | 'clock' | 'random'>,
): Outcome {
  const nowMs = clock()
  const { startedAtMs, parkedAtMs = nowMs } = delivery
  const endMs = startedAtMs === undefined ? parkedUntil(parkedAtMs, rules) : startedAtMs + rules.stopMs
  if (nowMs > endMs) return expired(delivery, nowMs)
  const isTried = startedAtMs !== undefined
  const parked = { ...delivery, parks: delivery.parks + 1, parkedAtMs: isTried ? undefined : parkedAtMs }
  return { kind: 'again', delivery: parked, atMs: unparkedAt(delivery.parks, rules, nowMs, random()) }
}

function send(
  webhook: StoredWebhook,
  { endpointId, isReplayed }: Delivery,
  body: Uint8Array,
  keepBytes: number,
  nowMs: number,
  { targetRules, mayReceive, attempt, masterKeys }: DeliverDeps,
  done: (result: AttemptResult) => void,
): void {
  // What is allowed may have changed since it was registered.
  if (!mayReceive(webhook)) return queueMicrotask(() => done(refused('residency_blocked')))
  const target = targetOf(webhook, targetRules)
  if (typeof target === 'string') return queueMicrotask(() => done(refused('disallowed_address')))
  const headers = {
    'content-type': 'application/json',
    'user-agent': USER_AGENT,
    'service-signature': signatureOf(keysOf(webhook, nowMs, masterKeys), body, nowMs),
    ...(isReplayed && { 'service-replayed': 'true' }),
  }
  attempt({ endpointId, target, headers, body, keepBytes }, done)
}

/** What no later attempt would change. */
const FINAL_REASONS = ['disallowed_address', 'residency_blocked'] as const satisfies readonly AttemptReason[]

const refused = (reason: (typeof FINAL_REASONS)[number]): Failed => ({
  kind: 'failed',
  reason,
  status: null,
  latencyMs: 0,
  retryAfterMs: undefined,
})

/** @param delivery as it was before the attempt */
function outcomeOf(
  delivery: Delivery,
  result: AttemptResult,
  attemptedAtMs: number,
  rules: RetryRules,
  { clock, random }: Pick<DeliverDeps, 'clock' | 'random'>,
): Outcome {
  const record = (
    outcome: AttemptOutcome,
    reason: AttemptReason | null,
    nextAttemptAtMs: number | null,
  ): AttemptRecord => ({
    delivery,
    attempt: delivery.attempts + 1,
    attemptedAtMs,
    latencyMs: result.latencyMs,
    status: result.status,
    outcome,
    reason,
    nextAttemptAtMs,
  })
  if (result.kind === 'acknowledged') return { kind: 'acknowledged', record: record('acknowledged', null, null) }
  const tried = afterAttempt(delivery, attemptedAtMs)
  const again = { ...tried, retryAfterMs: result.retryAfterMs }
  const { reason } = result
  const isFinal = FINAL_REASONS.some((final) => final === reason)
  const atMs = isFinal ? undefined : nextAttemptAt(again, rules, clock(), random())
  return atMs === undefined
    ? { kind: 'dead_lettered', delivery: tried, record: record('dead_lettered', reason, null) }
    : { kind: 'again', delivery: tried, atMs, record: record('retried', reason, atMs) }
}

const afterAttempt = (delivery: Delivery, nowMs: number) => ({
  ...delivery,
  attempts: delivery.attempts + 1,
  parks: 0,
  startedAtMs: delivery.startedAtMs ?? nowMs,
  parkedAtMs: undefined,
})

const expired = (delivery: Delivery, nowMs: number): Outcome => ({
  kind: 'dead_lettered',
  delivery: afterAttempt(delivery, nowMs),
  record: {
    delivery,
    attempt: delivery.attempts + 1,
    attemptedAtMs: nowMs,
    latencyMs: 0,
    status: null,
    outcome: 'dead_lettered',
    reason: 'expired',
    nextAttemptAtMs: null,
  },
})

/** Sends a challenge, unless another has taken its place or the endpoint is verified (spec 6.2.1). */
async function verify(delivery: Delivery, webhook: StoredWebhook, nowMs: number, deps: DeliverDeps): Promise<Outcome> {
  const { masterKeys, idsOf, webhooks } = deps
  const { id, tenant_id: tenantId, challenge, status } = webhook
  if (status === 'verified' || challenge === null) return { kind: 'dropped' }
  if (eventId(idsOf(tenantId), 'webhook.verification', challenge.id) !== delivery.eventId) return { kind: 'dropped' }
  const body = JSON.stringify({
    id: delivery.eventId,
    type: delivery.type,
    created_at: challenge.created_at,
    sequence: 0,
    tenant_id: tenantId,
    data: { challenge: challengeText(masterKeys, id, challenge) },
  })
  const result = await new Promise<AttemptResult>((resolve) =>
    send(webhook, delivery, Buffer.from(body), CHALLENGE_ANSWER_BYTES, nowMs, deps, resolve),
  )
  deps.tellLane(delivery, result)
  if (result.kind === 'failed') return outcomeOf(delivery, result, nowMs, VERIFICATION_RULES, deps)
  const answer = challengeIn(result.kept)
  let isVerified = false
  if (answer !== undefined) {
    const startsAfter = await deps.newestEvent()
    await webhooks.change(id, (found) => {
      isVerified = answersChallenge(masterKeys, found, answer, deps.clock())
      return isVerified ? verified(found, startsAfter, deps.clock()) : undefined
    })
  }
  if (isVerified) return outcomeOf(delivery, result, nowMs, VERIFICATION_RULES, deps)
  const wrong: Failed = { ...result, kind: 'failed', reason: 'wrong_challenge', retryAfterMs: undefined }
  return outcomeOf(delivery, wrong, nowMs, VERIFICATION_RULES, deps)
}

function challengeIn(answer: Buffer): string | undefined {
  const value = parseJson(answer)
  if (typeof value !== 'object' || value === null || !('challenge' in value)) return undefined
  return typeof value.challenge === 'string' ? value.challenge : undefined
}

/** Read once a version of an endpoint: the rules are those of the process. */
const targets = new WeakMap<StoredWebhook, Target | TargetRefusal>()

function targetOf(webhook: StoredWebhook, rules: TargetRules): Target | TargetRefusal {
  const known = targets.get(webhook)
  if (known !== undefined) return known
  const target = readTarget(webhook.url, rules)
  targets.set(webhook, target)
  return target
}

/** Opened once a version of an endpoint, until one of its secrets is good no more. */
const opened = new WeakMap<StoredWebhook, { readonly keys: readonly KeyObject[]; readonly untilMs: number }>()

function keysOf(webhook: StoredWebhook, nowMs: number, masterKeys: MasterKeys): readonly KeyObject[] {
  const known = opened.get(webhook)
  if (known !== undefined && nowMs < known.untilMs) return known.keys
  const keys = signingKeys(masterKeys, webhook, nowMs)
  const ends = webhook.secrets.map(({ expires_at: at }) => (at === null ? Number.POSITIVE_INFINITY : Date.parse(at)))
  opened.set(webhook, { keys, untilMs: Math.min(...ends.filter((end) => end > nowMs)) })
  return keys
}
