import type { DeliveryAttempt, Webhook } from 'attribution-service/sdk/api'
import { countShown } from './shown.js'
import { wordOf } from './words.js'

/** Who hears of a budget, and whether what was sent to them arrived. */
export interface Target {
  readonly id: string
  /** How it is reached. */
  readonly by: 'webhook'
  readonly address: string
  /** Thresholds whose crossing it is sent, in percent. */
  readonly hears: readonly number[]
  /** Without it, nothing is sent but its challenge. */
  readonly isVerified: boolean
  /** What was sent last did not arrive. */
  readonly isFailing: boolean
}

/** The contract's thresholds; all others have an event of their own (`deploy/docs/budgets.md`). */
const STANDARD: readonly number[] = [75, 100, 150]

const eventOf = (threshold: number) =>
  STANDARD.includes(threshold) ? 'budget.threshold.crossed' : 'budget.threshold.custom'

type Subscribed = Pick<Webhook, 'id' | 'url' | 'events' | 'status'> & {
  readonly health: Pick<Webhook['health'], 'status'>
}

/** The targets that hear of at least one threshold. */
export const targetsOf = (webhooks: readonly Subscribed[], thresholds: readonly number[]): readonly Target[] =>
  webhooks.flatMap(({ id, url, events, status, health }) => {
    const hears = thresholds.filter((threshold) => events.includes(eventOf(threshold)))
    return hears.length === 0
      ? []
      : {
          id,
          by: 'webhook' as const,
          address: url,
          hears,
          isVerified: status === 'verified',
          isFailing: health.status === 'failing',
        }
  })

/** Thresholds whose crossing reaches nobody. */
export const unheard = (targets: readonly Target[], thresholds: readonly number[]): readonly number[] =>
  thresholds.filter((threshold) => !targets.some(({ isVerified, hears }) => isVerified && hears.includes(threshold)))

/** "2 webhooks, 1 failing, nobody at 50 %" */
export function heardBy(targets: readonly Target[], thresholds: readonly number[]): string {
  if (thresholds.length === 0) return 'no events'
  const missed = unheard(targets, thresholds)
  if (missed.length === thresholds.length) return 'nobody'
  const verified = targets.filter(({ isVerified }) => isVerified)
  const failing = verified.filter(({ isFailing }) => isFailing).length
  return [
    `${countShown(verified.length)} ${verified.length === 1 ? 'webhook' : 'webhooks'}`,
    ...(failing === 0 ? [] : [`${countShown(failing)} failing`]),
    ...(missed.length === 0 ? [] : [`nobody at ${percents(missed)}`]),
  ].join(', ')
}

export const percents = (thresholds: readonly number[]): string => thresholds.map((each) => `${each} %`).join(', ')

/** Events that somebody should hear of, besides those of budgets. */
export const ALERTS = [
  'anomaly.detected',
  'price.missing',
  'coverage.degraded',
  'connector.health.changed',
  'ingestion.backlog',
  'capacity.warning',
  'export.failed',
  'export.schedule.late',
] as const

/** Addresses that an event reaches. */
export const listeners = (webhooks: readonly Subscribed[], event: (typeof ALERTS)[number]): readonly string[] =>
  webhooks.flatMap(({ url, events, status }) => (status === 'verified' && events.includes(event) ? url : []))

type Attempt = Pick<DeliveryAttempt, 'outcome' | 'response_status' | 'reason' | 'latency_ms' | 'attempt'>

/** Whether a target has got an event. @param attempt the newest one */
export function deliveryShown(attempt: Attempt): string {
  const { outcome, latency_ms: ms, attempt: count } = attempt
  switch (outcome) {
    case 'acknowledged':
      return `delivered: ${answerShown(attempt)} in ${countShown(ms)} ms`
    case 'retried':
      return `not delivered: ${answerShown(attempt)}; ${count === 1 ? '1 attempt' : `${count} attempts`}, more follow`
    case 'dead_lettered':
      return `not delivered: ${answerShown(attempt)}; given up`
  }
}

/** What a receiver answered, or why it did not. */
export function answerShown({ response_status: status, reason }: Pick<Attempt, 'response_status' | 'reason'>): string {
  const words = reason === null || reason === 'status' ? '' : wordOf(reason)
  if (status === null) return words === '' ? 'no answer' : `no answer: ${words}`
  return words === '' ? String(status) : `${status}, ${words}`
}
