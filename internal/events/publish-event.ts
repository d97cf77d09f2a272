import { eventsSubject } from '../../streams/events.js'
import {
  type GroupPublisher,
  type Message,
  type Publisher,
  publishAllOrThrow,
  publishOrThrow,
} from '../broker/publisher.js'
import type { TenantIds } from '../ids/ids.js'
import { eventId, type NewEvent, storedText } from './event.js'
import type { EventType } from './event-contract.js'

/**
 * Publishes an event for the webhook endpoints that subscribe to its type. Safe to repeat: the same cause is the same
 * event.
 *
 * @throws Error when the broker did not store it
 */
export type PublishEvent = <T extends EventType>(event: NewEvent<T>) => Promise<void>

export const eventPublisher =
  (publish: Publisher['publish'], idsOf: (tenantId: string) => TenantIds): PublishEvent =>
  (event) => {
    const { subject, payload, messageId } = messageOf(event, idsOf)
    return publishOrThrow(publish, subject, payload, messageId)
  }

/** Publishes many events in order, like `PublishEvent`. */
export type PublishEvents = (events: readonly NewEvent[]) => Promise<void>

export const eventsPublisher =
  (publisher: GroupPublisher, idsOf: (tenantId: string) => TenantIds): PublishEvents =>
  (events) =>
    publishAllOrThrow(publisher, events, (event) => messageOf(event, idsOf))

function messageOf(event: NewEvent, idsOf: (tenantId: string) => TenantIds): Message {
  const messageId = eventId(idsOf(event.tenantId), event.type, event.cause)
  const payload = Buffer.from(storedText(messageId, event))
  return { subject: eventsSubject(event.tenantId, event.type), payload, messageId }
}
