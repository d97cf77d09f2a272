import type { KV } from '@nats-io/kv'
import {
  DELIVERIES,
  DELIVERY_PARTITIONS,
  deliveriesCheckpoint,
  deliveriesSubject,
} from '../../../streams/deliveries.js'
import { dueCheckpoint, dueSubject, RETRIES } from '../../../streams/retries.js'
import { readCheckpoint } from '../../broker/checkpoint.js'
import type { LogRange, StoredEntry } from '../../broker/log.js'
import { gauge, whenRead } from '../../telemetry/metrics.js'
import type { DeliveryProgress } from './partition-log.js'

const OLDEST = gauge(
  'webhook_oldest_seconds',
  'Age of the oldest delivery that is due and neither acknowledged nor put off to a retry; 0: none waits.',
)

/**
 * Sets, when the metrics are read, for how long the deliveries of this process's partitions have waited.
 *
 * @returns a function that stops the measurement
 */
export function measureOldestDelivery(
  checkpoints: KV,
  readLog: (range: LogRange) => Promise<readonly StoredEntry[]>,
  isOwner: (key: string) => boolean,
  clock: () => number,
): () => void {
  const ageOf = async (stream: string, subject: string, key: string): Promise<number> => {
    const { done = 0 } = (await readCheckpoint<DeliveryProgress>(checkpoints, key)) ?? {}
    const [oldest] = await readLog({
      stream,
      subject,
      from: done + 1,
      messagesMax: 1,
      bytesMax: DELIVERIES.max_msg_size,
    })
    return oldest === undefined ? 0 : Math.max(0, clock() - Date.parse(oldest.storedAt)) / 1_000
  }
  return whenRead(async () => {
    const ages: Promise<number>[] = []
    for (let partition = 0; partition < DELIVERY_PARTITIONS; partition++) {
      const key = deliveriesCheckpoint(partition)
      if (!isOwner(key)) continue
      ages.push(ageOf(DELIVERIES.name, deliveriesSubject(partition), key))
      ages.push(ageOf(RETRIES.name, dueSubject(partition), dueCheckpoint(partition)))
    }
    OLDEST.set(Math.max(0, ...(await Promise.all(ages))))
  })
}
