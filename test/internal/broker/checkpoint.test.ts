import type { KV } from '@nats-io/kv'
import { afterAll, beforeAll, expect, test } from 'vitest'
import {
  CheckpointHold,
  entryUpdater,
  OwnershipLost,
  readCheckpoint,
  type UpdateEntry,
} from '../../../internal/broker/checkpoint.js'
import { type Broker, connectBroker, ensureStreams } from '../../../internal/broker/connect.js'
import { NotStored } from '../../../internal/broker/errors.js'
import { createPublisher } from '../../../internal/broker/publisher.js'
import { DELIVERY_CHECKPOINTS } from '../../../streams/buckets.js'
import { launchBroker } from '../../support/broker.js'

let broker: Broker
let bucket: KV
let byPublisher: UpdateEntry

beforeAll(async () => {
  const { url } = await launchBroker()
  broker = await connectBroker({ url, user: '', password: '', name: 'test' })
  await ensureStreams(broker, { replicas: 1, invocationsBytesMax: 2 ** 20, observationsBytesMax: 2 ** 20 })
  bucket = await broker.bucket(DELIVERY_CHECKPOINTS)
  byPublisher = entryUpdater(createPublisher(broker.connection).publish, DELIVERY_CHECKPOINTS.name)
})
afterAll(() => broker.close())

test.each([
  ['by the bucket', () => undefined],
  ['by a publisher', () => byPublisher],
])(
  'a checkpoint written %s is visible to all processes, and its previous owner can no longer write it',
  async (name, update) => {
    const key = name.replaceAll(' ', '-')
    const before = await CheckpointHold.take(bucket, key, { done: 0 }, update())
    await before.save({ done: 1 })
    await before.save({ done: 2 })
    const after = await CheckpointHold.take(bucket, key, { done: 0 }, update())
    expect(after.value).toEqual({ done: 2 })
    expect(after.revision).toBe(before.revision)

    await after.save({ done: 3 })
    await expect(before.save({ done: 4 })).rejects.toBeInstanceOf(OwnershipLost)
    expect(await readCheckpoint(bucket, key)).toEqual({ done: 3 })
    expect(before.value).toEqual({ done: 2 })
  },
)

test('a repeated checkpoint write whose reply was lost succeeds; another owner’s is not taken for it', async () => {
  let isLost = true
  const unheard: UpdateEntry = async (key, text, revision) => {
    const written = await byPublisher(key, text, revision)
    if (isLost) throw new NotStored('no answer')
    return written
  }
  const hold = await CheckpointHold.take(bucket, 'unheard', { done: 0 }, unheard)

  await expect(hold.save({ done: 1 })).rejects.toBeInstanceOf(NotStored)
  isLost = false
  await hold.save({ done: 1 })
  await hold.save({ done: 2 })
  expect(await readCheckpoint(bucket, 'unheard')).toEqual({ done: 2 })

  isLost = true
  await expect(hold.save({ done: 3 })).rejects.toBeInstanceOf(NotStored)
  isLost = false
  const other = await CheckpointHold.take(bucket, 'unheard', { done: 0 })
  await other.save({ done: 4 })
  await expect(hold.save({ done: 3 })).rejects.toBeInstanceOf(OwnershipLost)
})
