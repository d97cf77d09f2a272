import type { AttemptOutcome, AttemptReason } from '../attempt-outcomes.js'
import type { Delivery } from '../delivery.js'
import { nextAttemptAt, nextUnparkAt, parkedUntil, type RetryRules } from '../retry-schedule.js'
import type { AttemptResult } from './attempt.js'

/** An attempt and its result, as the delivery log keeps them. */
export interface AttemptRecord {
  readonly delivery: Pick<Delivery, 'id' | 'tenantId' | 'endpointId' | 'eventId' | 'type' | 'sequence' | 'isReplayed'>
  /** Counts from 1. */
  readonly attempt: number
  readonly attemptedAtMs: number
  readonly latencyMs: number
  /** Null: there was no response. */
  readonly status: number | null
  readonly outcome: AttemptOutcome
  readonly reason: AttemptReason | null
  readonly nextAttemptAtMs: number | null
}

/** How a delivery that was read from a log is settled. */
export type Outcome =
  | { readonly kind: 'acknowledged'; readonly record: AttemptRecord }
  /** Scheduled for `atMs`; without a record when it was parked instead of attempted. */
  | { readonly kind: 'again'; readonly delivery: Delivery; readonly atMs: number; readonly record?: AttemptRecord }
  | { readonly kind: 'dead_lettered'; readonly delivery: Delivery; readonly record: AttemptRecord }
  /** Its endpoint is deleted, or no longer wants it. */
  | { readonly kind: 'dropped' }

/** What the rules need besides a delivery and its result. */
export interface OutcomeDeps {
  readonly clock: () => number
  /** From 0 to 1. */
  readonly random: () => number
}

/** Reasons that no later attempt would change. */
export const FINAL_REASONS = ['disallowed_address', 'residency_blocked'] as const satisfies readonly AttemptReason[]

/** @param delivery as it was before the attempt */
export function outcomeOf(
  delivery: Delivery,
  result: AttemptResult,
  attemptedAtMs: number,
  rules: RetryRules,
  { clock, random }: OutcomeDeps,
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

/**
 * Parks a delivery that its endpoint has no capacity for: it is rescheduled without an attempt, or dead-lettered when
 * its time is over.
 */
export function park(
  delivery: Delivery,
  { rules, clock, random }: OutcomeDeps & { readonly rules: RetryRules },
): Outcome {
  const nowMs = clock()
  const { startedAtMs, parkedAtMs = nowMs } = delivery
  const endMs = startedAtMs === undefined ? parkedUntil(parkedAtMs, rules) : startedAtMs + rules.stopMs
  if (nowMs > endMs) return expired(delivery, nowMs)
  const isTried = startedAtMs !== undefined
  const parked = { ...delivery, parks: delivery.parks + 1, parkedAtMs: isTried ? undefined : parkedAtMs }
  return { kind: 'again', delivery: parked, atMs: nextUnparkAt(delivery.parks, rules, nowMs, random()) }
}

/** The outcome of a delivery whose retry period ended before this attempt could start. */
export const expired = (delivery: Delivery, nowMs: number): Outcome => ({
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

const afterAttempt = (delivery: Delivery, nowMs: number) => ({
  ...delivery,
  attempts: delivery.attempts + 1,
  parks: 0,
  startedAtMs: delivery.startedAtMs ?? nowMs,
  parkedAtMs: undefined,
})
