import { DiscardPolicy, RetentionPolicy, StorageType, type StreamConfig } from '@nats-io/jetstream'

/**
 * Deliveries that wait for their next attempt, as message schedules (ADR-51): a schedule on
 * `retries.at.<partition>.<endpoint>.<delivery>` becomes a message on `retries.due.<partition>` when it is due. A
 * second schedule of the same delivery replaces the first. `replays.*` holds replay orders, which are executed in
 * batches.
 */
export const RETRIES = {
  name: 'RETRIES',
  subjects: ['retries.>', 'replays.>'],
  storage: StorageType.File,
  retention: RetentionPolicy.Limits,
  // The only policy that the broker allows with schedules; without limits nothing is discarded
  discard: DiscardPolicy.Old,
  max_bytes: -1,
  max_age: 0, // couriers purge finished deliveries
  max_msg_size: 128 * 1024,
  duplicate_window: 120_000_000_000, // ns
  allow_direct: true,
  allow_atomic: true, // an endpoint that is down has thousands of retries at once
  allow_msg_schedules: true,
} satisfies Partial<StreamConfig>

export const retrySubject = (partition: number, endpointId: string, deliveryId: string): string =>
  `retries.at.${partition}.${endpointId}.${deliveryId}`
/** All scheduled retries of an endpoint. */
export const retriesOfEndpoint = (partition: number, endpointId: string): string =>
  `retries.at.${partition}.${endpointId}.*`
/** The schedules of all endpoints. */
export const RETRIES_OF_ALL = 'retries.at.>'
export const dueSubject = (partition: number): string => `retries.due.${partition}`

/** Key of the checkpoint of a partition's due retries; the owner of the partition's deliveries owns it, too. */
export const dueCheckpoint = (partition: number): string => `retries.due.${partition}`

/** Replay orders to execute, in their order. */
export const REPLAYS_SUBJECT = 'replays.asked'
/** Subject of the schedule of a replay's next batch. */
export const replaySchedule = (replayId: string): string => `replays.at.${replayId}`
export const REPLAYS_CHECKPOINT = 'replays'

/** Dead letters: deliveries whose last attempt failed, by endpoint. Kept for a month, up to a limit per endpoint. */
export const DEADLETTERS = {
  name: 'DEADLETTERS',
  subjects: ['deadletters.*'],
  storage: StorageType.File,
  retention: RetentionPolicy.Limits,
  discard: DiscardPolicy.Old,
  max_bytes: 1024 ** 3,
  max_age: 30 * 24 * 60 * 60 * 1_000_000_000, // ns
  max_msgs_per_subject: 100_000, // one endpoint's dead letters must not displace the others'
  max_msg_size: 128 * 1024,
  duplicate_window: 120_000_000_000, // ns
  allow_direct: true,
  allow_atomic: true, // as of retries
} satisfies Partial<StreamConfig>

export const deadLettersSubject = (endpointId: string): string => `deadletters.${endpointId}`

/**
 * Delivery attempts and their results, on their way to the delivery log in the read model. One message carries the
 * attempts that a courier has settled together.
 */
export const ATTEMPTS = {
  name: 'ATTEMPTS',
  subjects: ['attempts'],
  storage: StorageType.File,
  retention: RetentionPolicy.Limits,
  discard: DiscardPolicy.New, // a full stream makes couriers wait: no attempt is made that could not be logged
  max_bytes: 256 * 1024 ** 2,
  max_age: 0, // couriers purge records that are in the delivery log
  max_msg_size: 1024 * 1024,
  duplicate_window: 120_000_000_000, // ns
  allow_direct: true,
} satisfies Partial<StreamConfig>

export const ATTEMPTS_SUBJECT = 'attempts'
/** Key of the checkpoint of the one writer of the delivery log. */
export const ATTEMPTS_CHECKPOINT = 'attempts'
