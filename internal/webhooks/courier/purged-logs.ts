import {
  DELIVERED_KEPT_MS,
  DELIVERIES,
  DELIVERY_PARTITIONS,
  deliveriesCheckpoint,
  deliveriesSubject,
} from '../../../streams/deliveries.js'
import {
  ATTEMPTS,
  ATTEMPTS_CHECKPOINT,
  ATTEMPTS_SUBJECT,
  dueCheckpoint,
  dueSubject,
  REPLAYS_CHECKPOINT,
  REPLAYS_SUBJECT,
  RETRIES,
} from '../../../streams/retries.js'
import type { PurgedLog } from '../../broker/purge.js'

/** RETRIES has no limit of bytes, so that it never counts as crowded. */
const UNLIMITED = Number.MAX_SAFE_INTEGER

const partitions = [...Array(DELIVERY_PARTITIONS).keys()]

/** The logs that couriers purge, each up to its checkpoint. */
export const COURIER_LOGS: readonly PurgedLog[] = [
  ...partitions.map((partition) => ({
    key: deliveriesCheckpoint(partition),
    stream: DELIVERIES.name,
    subject: deliveriesSubject(partition),
    bytesMax: DELIVERIES.max_bytes,
    keepMs: DELIVERED_KEPT_MS,
  })),
  ...partitions.map((partition) => ({
    key: dueCheckpoint(partition),
    stream: RETRIES.name,
    subject: dueSubject(partition),
    bytesMax: UNLIMITED,
    keepMs: 0,
  })),
  { key: REPLAYS_CHECKPOINT, stream: RETRIES.name, subject: REPLAYS_SUBJECT, bytesMax: UNLIMITED, keepMs: 0 },
  {
    key: ATTEMPTS_CHECKPOINT,
    stream: ATTEMPTS.name,
    subject: ATTEMPTS_SUBJECT,
    bytesMax: ATTEMPTS.max_bytes,
    keepMs: DELIVERED_KEPT_MS,
  },
]
