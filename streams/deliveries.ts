import { DiscardPolicy, RetentionPolicy, StorageType, type StreamConfig } from '@nats-io/jetstream'

/**
 * Events on their way to webhook endpoints, partitioned by endpoint. One message carries the deliveries of one
 * partition that are published together, encoded by `internal/webhooks/delivery-group.ts`.
 *
 * The fan-out is the only writer. It states the expected sequence of each message, so that its concurrent publishes are
 * stored in order and none is stored twice. The one courier that owns a partition reads it, starting at the sequence in
 * its checkpoint. All other deliveries (challenges, replays, retries) are in RETRIES.
 */
export const DELIVERIES = {
  name: 'DELIVERIES',
  subjects: ['deliveries.*'],
  storage: StorageType.File,
  retention: RetentionPolicy.Limits,
  discard: DiscardPolicy.New, // a full stream makes the fan-out wait; it never drops a delivery
  max_bytes: 1024 ** 3,
  max_age: 0, // an age limit would drop deliveries that were never attempted; couriers purge those that are done
  max_msg_size: 128 * 1024,
  duplicate_window: 1_000_000_000, // ns; not used
  allow_direct: true,
} satisfies Partial<StreamConfig>

/**
 * Partitions of the endpoints, divided among couriers. Not a setting: with a different number, stored deliveries would
 * be read by nobody.
 */
export const DELIVERY_PARTITIONS = 4

export const deliveriesSubject = (partition: number): string => `deliveries.${partition}`

/** Key of a partition's checkpoint; also the name under which couriers own the partition. */
export const deliveriesCheckpoint = (partition: number): string => `deliveries.${partition}`

/** Core NATS subject of an empty message to couriers: a partition has deliveries. Who misses it polls soon. */
export const deliveriesWake = (partition: number): string => `wake.deliveries.${partition}`

/** Key of the checkpoint of the fan-out of events. */
export const FAN_OUT_CHECKPOINT = 'fan-out'

/** How long finished deliveries are kept, so that a repeated fan-out batch finds what it has published. */
export const DELIVERED_KEPT_MS = 5 * 60 * 1000
