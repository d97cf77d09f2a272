import { DiscardPolicy, RetentionPolicy, StorageType, type StreamConfig } from '@nats-io/jetstream'

/**
 * What happened, for whoever subscribes. One message carries one event (see `internal/events/event.ts` for its form),
 * with the event's id as message id: the sequence and the time that the stream gives it are the event's `sequence` and
 * `created_at`.
 */
export const EVENTS = {
  name: 'EVENTS',
  subjects: ['events.>'],
  storage: StorageType.File,
  retention: RetentionPolicy.Limits, // a replay must still find what was delivered
  discard: DiscardPolicy.Old, // what is told must not stop what happens; the oldest were delivered long ago, or it is logged
  max_bytes: 1024 ** 3,
  max_age: 30 * 24 * 60 * 60 * 1_000_000_000, // ns
  max_msg_size: 64 * 1024,
  duplicate_window: 120_000_000_000, // ns; a later repeat is a second message with the same id, by which receivers know it
  allow_direct: true,
} satisfies Partial<StreamConfig>

/** @param type out of a closed list; its dots part it into tokens, so that `events.*.attribution.>` is every event of a kind */
export const eventsSubject = (tenantId: string, type: string): string => `events.${tenantId}.${type}`
