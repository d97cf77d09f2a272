import { deadLettersSubject, dueSubject, retrySubject } from '../../../streams/retries.js'
import { type Publisher, publishOrThrow } from '../../broker/publisher.js'
import { counter, histogram, SECONDS_BUCKETS } from '../../telemetry/metrics.js'
import type { LogAttempts } from '../attempt-log/writer.js'
import { encodeDelivery, partitionOf } from '../delivery.js'
import type { Outcome } from './outcomes.js'

const ATTEMPTS = counter('webhook_attempts_total', 'Attempts to deliver an event to an endpoint.', [
  'outcome',
  'reason',
])
const ATTEMPT_SECONDS = histogram('webhook_attempt_duration_seconds', 'From an attempt to its answer.', SECONDS_BUCKETS)

export interface SettleDeps {
  readonly publish: Publisher['publish']
  readonly logAttempts: LogAttempts
}

/**
 * Applies the effects of outcomes: schedules retries, stores dead letters, and logs every attempt. The attempts are
 * logged last, and everything before that is safe to repeat: a delivery has one schedule, and a dead letter has one
 * message id.
 *
 * @throws NotStored
 */
export async function settle(outcomes: readonly Outcome[], { publish, logAttempts }: SettleDeps): Promise<void> {
  const published = outcomes.map((outcome) => {
    if (outcome.kind === 'again') {
      const { delivery, atMs } = outcome
      const partition = partitionOf(delivery.endpointId)
      const subject = retrySubject(partition, delivery.endpointId, delivery.id)
      const schedule = { atMs, subject: dueSubject(partition) }
      return publishOrThrow(publish, subject, encodeDelivery(delivery), '', { schedule })
    }
    // An unanswered challenge is not replayable: the tenant requests a new one.
    if (outcome.kind !== 'dead_lettered' || outcome.delivery.type === 'webhook.verification') return undefined
    const { delivery } = outcome
    return publishOrThrow(publish, deadLettersSubject(delivery.endpointId), encodeDelivery(delivery), delivery.id)
  })
  await Promise.all(published)
  const records = outcomes.flatMap((outcome) =>
    outcome.kind === 'dropped' || outcome.record === undefined ? [] : [outcome.record],
  )
  await logAttempts(records)
  for (const { outcome, reason, latencyMs } of records) {
    ATTEMPTS.inc({ outcome, reason: reason ?? 'none' })
    ATTEMPT_SECONDS.observe(latencyMs / 1_000)
  }
}
