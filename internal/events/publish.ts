import { eventsSubject } from '../../streams/events.js'
import { type Publisher, publishOrThrow } from '../broker/publisher.js'
import type { TenantIds } from '../ids/ids.js'
import { type NewEvent, storedEvent } from './event.js'

/**
 * Tells that something happened, to whoever subscribes. Safe to repeat: the same cause is the same event.
 *
 * @throws Error when the broker did not store it
 */
export type PublishEvent = (event: NewEvent) => Promise<void>

export const eventPublisher =
  (publish: Publisher['publish'], idsOf: (tenantId: string) => TenantIds): PublishEvent =>
  (event) => {
    const stored = storedEvent(event, idsOf(event.tenantId))
    const payload = Buffer.from(JSON.stringify(stored))
    return publishOrThrow(publish, eventsSubject(event.tenantId, event.type), payload, stored.id)
  }
