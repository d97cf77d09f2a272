import { DiscardPolicy, RetentionPolicy, StorageType, type StreamConfig } from '@nats-io/jetstream'

/**
 * The Idempotency-Keys that gateways admitted, 25 bytes each (`internal/ingest/keys/admitted-keys.ts`). A gateway writes
 * them after the group of events that they belong to, and before it answers: those of all groups that the log takes in
 * one event-loop turn in one message. It does not wait until the stream has them: the log has them, too.
 *
 * Every gateway reads the whole stream at its start, and then what the others write.
 */
export const KEYS = {
  name: 'KEYS',
  subjects: ['keys'],
  storage: StorageType.File,
  retention: RetentionPolicy.Limits,
  discard: DiscardPolicy.Old, // a full stream forgets the oldest keys before their day is over
  max_bytes: 2 * 1024 ** 3, // unless the layout says otherwise; reserved on disk
  max_age: 24 * 60 * 60 * 1_000_000_000, // ns; as long as a key counts
  max_msg_size: 1024 * 1024,
  allow_direct: true,
} satisfies Partial<StreamConfig>

/** The only subject. */
export const KEYS_SUBJECT = 'keys'
