import { eventsSubject } from '../../streams/events.js'
import { type Publisher, publishOrThrow } from '../broker/publisher.js'
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
    const id = eventId(idsOf(event.tenantId), event.type, event.cause)
    return publishOrThrow(publish, eventsSubject(event.tenantId, event.type), Buffer.from(storedText(id, event)), id)
  }
