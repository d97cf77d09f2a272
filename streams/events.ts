import { DiscardPolicy, RetentionPolicy, StorageType, type StreamConfig } from '@nats-io/jetstream'

/**
 * Domain events, for webhook endpoints that subscribe to them. One message carries one event, encoded by
 * `internal/events/event.ts`, with the event's id as message id. The message's stream sequence and timestamp are the
 * event's `sequence` and `created_at`.
 */
export const EVENTS = {
  name: 'EVENTS',
  subjects: ['events.>'],
  storage: StorageType.File,
  retention: RetentionPolicy.Limits, // a replay must still find what was delivered
  // Events must not block the work that emits them; the oldest were delivered long ago, and a loss is logged
  discard: DiscardPolicy.Old,
  max_bytes: 1024 ** 3,
  max_age: 30 * 24 * 60 * 60 * 1_000_000_000, // ns
  max_msg_size: 64 * 1024,
  // Ns; a later repeat is a second message with the same id, by which receivers deduplicate
  duplicate_window: 120_000_000_000,
  allow_direct: true,
  allow_atomic: true, // the events of a batch of records cost one sync instead of one each
} satisfies Partial<StreamConfig>

/** All tenants' events, for readers of the whole stream. */
export const EVENTS_OF_ALL = 'events.>'

/** Key of the checkpoint of the reader that writes the log of events. */
export const EVENT_LOG_CHECKPOINT = 'event-log'

/** @param type of a closed list; dots separate tokens, so that `events.*.attribution.>` matches all of attribution */
export const eventsSubject = (tenantId: string, type: string): string => `events.${tenantId}.${type}`
