import { DiscardPolicy, RetentionPolicy, StorageType, type StreamConfig } from '@nats-io/jetstream'

/**
 * Ids of events that a gateway could not confirm to be new, 16 bytes each, many per message. A gateway writes them
 * before it writes the events to INVOCATIONS, so that an attributor which reads any event of such an id, admitted by
 * whatever gateway, finds the id here and looks for the event in the other partitions.
 *
 * Every attributor reads the whole stream.
 */
export const UNCONFIRMED = {
  name: 'UNCONFIRMED',
  subjects: ['unconfirmed'],
  storage: StorageType.File,
  retention: RetentionPolicy.Limits,
  discard: DiscardPolicy.Old, // four million ids; without its id here an event counts as confirmed, as it says itself
  max_bytes: 64 * 1024 ** 2,
  max_age: 24 * 60 * 60 * 1_000_000_000, // ns; by then, every gateway knows the event from the log or the read model
  max_msg_size: 1024 * 1024,
  duplicate_window: 120_000_000_000, // ns
  allow_direct: true,
} satisfies Partial<StreamConfig>

/** The only subject. */
export const UNCONFIRMED_SUBJECT = 'unconfirmed'

/** Bytes of an event's id in a message. */
export const UNCONFIRMED_ID_BYTES = 16
