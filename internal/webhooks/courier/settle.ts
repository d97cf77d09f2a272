import { ATTEMPTS_SUBJECT, deadLettersSubject, dueSubject, retrySubject } from '../../../streams/retries.js'
import { type Publisher, publishOrThrow } from '../../broker/publisher.js'
import { encodeAttempts } from '../attempt-log/codec.js'
import { encodeDelivery, partitionOf } from '../delivery.js'
import type { Outcome } from './outcomes.js'

export interface SettleDeps {
  readonly publish: Publisher['publish']
}

/** Records of a message of ATTEMPTS at most. */
const RECORDS_MAX = 1_000

/**
 * Does what must happen because of these outcomes: what comes back is scheduled, what is given up is kept as a dead
 * letter, and every attempt goes into the delivery log. Safe to repeat: a delivery has one schedule, and the log's
 * message one name.
 *
 * @throws NotStored
 */
export async function settle(outcomes: readonly Outcome[], { publish }: SettleDeps): Promise<void> {
  const records = outcomes.flatMap((outcome) =>
    outcome.kind === 'dropped' || outcome.record === undefined ? [] : [outcome.record],
  )
  const logged = []
  for (let from = 0; from < records.length; from += RECORDS_MAX) {
    const some = records.slice(from, from + RECORDS_MAX)
    const [first] = some
    // The first attempt of a settlement is in no other.
    const id = first && `${first.delivery.id}.${first.attempt}.${first.attemptedAtMs}`
    logged.push(publishOrThrow(publish, ATTEMPTS_SUBJECT, encodeAttempts(some), id ?? ''))
  }
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
  await Promise.all([...logged, ...kept])
}
