import { DiscardPolicy, RetentionPolicy, StorageType, type StreamConfig } from '@nats-io/jetstream'

/**
 * Events on their way to webhook endpoints, those of one part that are published together in a message (see
 * `internal/webhooks/delivery-group.ts` for its form), parted by endpoint. Written by the fan-out alone, which foretells each sequence: what it has under way at
 * once is stored in order, and none twice. Each part is read by the one courier that owns it, from the sequence that its
 * checkpoint names. What is not an event's first way (challenges, replays, retries) is in RETRIES.
 */
export const DELIVERIES = {
  name: 'DELIVERIES',
  subjects: ['deliveries.*'],
  storage: StorageType.File,
  retention: RetentionPolicy.Limits,
  discard: DiscardPolicy.New, // full means that the fan-out waits, never that a delivery vanishes
  max_bytes: 1024 ** 3,
  max_age: 0, // age would drop what was never tried; couriers purge what is done
  max_msg_size: 128 * 1024,
  duplicate_window: 1_000_000_000, // ns; not used
  allow_direct: true,
} satisfies Partial<StreamConfig>

/** Of endpoints among couriers. Not a setting: with another number what waits would be read by nobody. */
export const DELIVERY_PARTITIONS = 4

export const deliveriesSubject = (partition: number): string => `deliveries.${partition}`

/** Key of a part's checkpoint, and what its owner owns. */
export const deliveriesCheckpoint = (partition: number): string => `deliveries.${partition}`

/** Heard by couriers, over core NATS and without content: a part has something new. Who misses it looks soon anyway. */
export const deliveriesWake = (partition: number): string => `wake.deliveries.${partition}`

/** Key of the checkpoint of whoever makes deliveries of events. */
export const FAN_OUT_CHECKPOINT = 'fan-out'

/** Done deliveries stay so long that a batch which is fanned out once more finds which of it is there. */
export const DELIVERED_KEPT_MS = 5 * 60 * 1000
