import { deadLettersSubject, dueSubject, retrySubject } from '../../../streams/retries.js'
import { type Publisher, publishOrThrow } from '../../broker/publisher.js'
import type { LogAttempts } from '../attempt-log/writer.js'
import { encodeDelivery, partitionOf } from '../delivery.js'
import type { Outcome } from './outcomes.js'

export interface SettleDeps {
  readonly publish: Publisher['publish']
  readonly logAttempts: LogAttempts
}

/**
 * Does what must happen because of these outcomes: what comes back is scheduled, what is given up is kept as a dead
 * letter, and every attempt goes into the delivery log. Safe to repeat as long as it is not logged, which is last: a
 * delivery has one schedule, and a dead letter one name.
 *
 * @throws NotStored
 */
export async function settle(outcomes: readonly Outcome[], { publish, logAttempts }: SettleDeps): Promise<void> {
  const kept = outcomes.map((outcome) => {
    if (outcome.kind === 'again') {
      const { delivery, atMs } = outcome
      const partition = partitionOf(delivery.endpointId)
      const subject = retrySubject(partition, delivery.endpointId, delivery.id)
      const schedule = { atMs, subject: dueSubject(partition) }
      return publishOrThrow(publish, subject, encodeDelivery(delivery), '', { schedule })
    }
    // A challenge that nobody answered is not sent again by itself.
    if (outcome.kind !== 'dead_lettered' || outcome.delivery.type === 'webhook.verification') return undefined
    const { delivery } = outcome
    return publishOrThrow(publish, deadLettersSubject(delivery.endpointId), encodeDelivery(delivery), delivery.id)
  })
  await Promise.all(kept)
  await logAttempts(
    outcomes.flatMap((outcome) => (outcome.kind === 'dropped' || outcome.record === undefined ? [] : [outcome.record])),
  )
}
