import { DiscardPolicy, RetentionPolicy, StorageType, type StreamConfig } from '@nats-io/jetstream'

/**
 * Deliveries that wait for their next attempt, as message schedules (ADR-51): one on `retries.at.<partition>.<endpoint>.<delivery>` becomes a message on `retries.due.<partition>` when its time has come. A second schedule of a delivery
 * takes the place of the first. `replays.*` are orders to deliver once more, a piece at a time.
 */
export const RETRIES = {
  name: 'RETRIES',
  subjects: ['retries.>', 'replays.>'],
  storage: StorageType.File,
  retention: RetentionPolicy.Limits,
  discard: DiscardPolicy.Old, // the broker allows schedules no other; without a limit nothing is ever discarded
  max_bytes: -1,
  max_age: 0, // couriers purge what is done
  max_msg_size: 128 * 1024,
  duplicate_window: 120_000_000_000, // ns
  allow_direct: true,
  allow_msg_schedules: true,
} satisfies Partial<StreamConfig>

export const retrySubject = (partition: number, endpointId: string, deliveryId: string): string =>
  `retries.at.${partition}.${endpointId}.${deliveryId}`
/** Every retry that an endpoint waits for. */
export const retriesOfEndpoint = (partition: number, endpointId: string): string =>
  `retries.at.${partition}.${endpointId}.*`
export const dueSubject = (partition: number): string => `retries.due.${partition}`

/** Key of the checkpoint of a part's due retries; owned with the deliveries of the part. */
export const dueCheckpoint = (partition: number): string => `retries.due.${partition}`

/** Replays to be carried out, in their order. */
export const REPLAYS_SUBJECT = 'replays.asked'
/** Schedules of the next piece of a replay. */
export const replaySchedule = (replayId: string): string => `replays.at.${replayId}`
export const REPLAYS_CHECKPOINT = 'replays'

/** Deliveries that were given up, by endpoint; kept for a month, and of one endpoint at most so many. */
export const DEADLETTERS = {
  name: 'DEADLETTERS',
  subjects: ['deadletters.*'],
  storage: StorageType.File,
  retention: RetentionPolicy.Limits,
  discard: DiscardPolicy.Old,
  max_bytes: 1024 ** 3,
  max_age: 30 * 24 * 60 * 60 * 1_000_000_000, // ns
  max_msgs_per_subject: 100_000, // one endpoint's must not push out the others'
  max_msg_size: 128 * 1024,
  duplicate_window: 120_000_000_000, // ns
  allow_direct: true,
} satisfies Partial<StreamConfig>

export const deadLettersSubject = (endpointId: string): string => `deadletters.${endpointId}`

/** What became of attempts, on its way to the delivery log in the read model. One message carries those of one moment. */
export const ATTEMPTS = {
  name: 'ATTEMPTS',
  subjects: ['attempts'],
  storage: StorageType.File,
  retention: RetentionPolicy.Limits,
  discard: DiscardPolicy.New, // full means that couriers wait: an attempt that nobody could read of is not made
  max_bytes: 256 * 1024 ** 2,
  max_age: 0, // the writer of the log purges what is in it
  max_msg_size: 1024 * 1024,
  duplicate_window: 120_000_000_000, // ns
  allow_direct: true,
} satisfies Partial<StreamConfig>

export const ATTEMPTS_SUBJECT = 'attempts'
/** Key of the checkpoint of the delivery log's one writer. */
export const ATTEMPTS_CHECKPOINT = 'attempts'
