import fc from 'fast-check'
import { expect, test, vi } from 'vitest'
import { type createPublisher, STREAM_FULL } from '../../../internal/broker/publisher.js'
import {
  admittableBytes,
  batchBytesWithin,
  batchesAtOnce,
  followStreamCapacity,
  leastLogBytes,
  type StreamCapacity,
  withinStreamCapacity,
} from '../../../internal/broker/stream-capacity.js'
import {
  GROUP_BYTES_MAX,
  INVOCATIONS,
  invocationsSubject,
  isInvocations,
  PARTITIONS_MAX,
} from '../../../streams/invocations.js'
import { observationsSubject } from '../../../streams/observations.js'
import { launchLogBroker } from '../../support/planned-logs.js'

const MIB = 1024 ** 2

test('new work may fill nine tenths of a stream, or less when the rest would be too small for work in flight', () => {
  expect([8_192, 1_000, 640].map((mib) => admittableBytes(mib * MIB) / MIB)).toEqual([7_372.8, 900, 544])
  expect([256, 120].map((mib) => admittableBytes(mib * MIB) / MIB)).toEqual([160, 24])
  expect(admittableBytes(15 * MIB) / MIB).toBeCloseTo(3)
})

test('the copies of all batches in flight fit into the reserve, however small the log and many the partitions', () => {
  fc.assert(
    fc.property(fc.integer({ min: MIB, max: 2 ** 40 }), fc.integer({ min: 1, max: 64 }), (bytesMax, partitions) => {
      const batches = batchesAtOnce(partitions)
      const copy = (batchBytesWithin(bytesMax, batches) * 7) / 6

      expect(copy * batches).toBeLessThanOrEqual(bytesMax - admittableBytes(bytesMax))
    }),
  )
  const withPartitions = (mib: number, partitions: number) =>
    batchBytesWithin(mib * MIB, batchesAtOnce(partitions)) / MIB
  expect(withPartitions(120, 4)).toBeGreaterThan(6)
  expect(withPartitions(1_024, 12)).toBeCloseTo(2.4, 1)
})

test('a log of the least size has a reserve for a largest message of each batch, with any number of partitions', () => {
  for (let partitions = 1; partitions <= PARTITIONS_MAX; partitions++) {
    const batches = batchesAtOnce(partitions)
    const least = leastLogBytes(batches)

    // Below 120 MiB the reserve is a share of the log.
    expect(batchBytesWithin(Math.max(least, 120 * MIB), batches)).toBeGreaterThanOrEqual(GROUP_BYTES_MAX)
    if (least > 0) expect(batchBytesWithin(least * 0.99, batches)).toBeLessThan(GROUP_BYTES_MAX)
  }
  expect([2, 27].map((partitions) => leastLogBytes(batchesAtOnce(partitions)))).toEqual([0, 0])
  expect(leastLogBytes(batchesAtOnce(PARTITIONS_MAX)) / MIB).toBeCloseTo(2_251.67)
})

test('new work is refused once its share is full, by any sender, and accepted again with capacity', async () => {
  const broker = await launchLogBroker({ invocationsBytesMax: 15 * MIB })
  const stopping = new AbortController()
  const follow = (): Promise<StreamCapacity> =>
    followStreamCapacity(broker.manager, INVOCATIONS.name, { log: broker.deps.log, signal: stopping.signal })
  const payload = Buffer.alloc(MIB / 2)
  let sent = 0
  const send = (publish: ReturnType<typeof createPublisher>['publish'], subject = invocationsSubject('a', 0)) =>
    publish(subject, payload, `room.${sent++}`, 5_000)
  const capacity = await follow()
  const publish = withinStreamCapacity(broker.publish, capacity, isInvocations)

  // `has` counts nothing.
  for (let i = 0; i < 100; i++) expect(capacity.has(payload.length)).toBe(true)
  for (let i = 0; i < 6; i++) expect(await send(publish)).toMatchObject({ kind: 'stored' })
  expect(capacity.has(payload.length)).toBe(false)
  expect(await send(publish)).toMatchObject({ kind: 'refused', errorCode: STREAM_FULL })
  expect(await send(publish, observationsSubject('tnt_one'))).toMatchObject({ kind: 'stored' })
  // A gateway that starts now counts the other's messages, and a stage can still publish.
  const another = withinStreamCapacity(broker.publish, await follow(), isInvocations)
  expect(await send(another)).toMatchObject({ kind: 'refused', errorCode: STREAM_FULL })
  expect(await send(broker.publish, invocationsSubject('b', 0))).toMatchObject({ kind: 'stored' })

  await broker.manager.streams.purge(INVOCATIONS.name)
  await vi.waitFor(async () => expect(await send(publish)).toMatchObject({ kind: 'stored' }), { timeout: 10_000 })
  stopping.abort()
})
