import { expect, test } from 'vitest'
import { admittableBytes } from '../../../internal/broker/stream-capacity.js'
import { logBound } from '../../../internal/broker/unprocessed.js'
import { CHECKPOINTS } from '../../../streams/buckets.js'
import { INVOCATIONS, invocationsSubject } from '../../../streams/invocations.js'
import { type LogBroker, launchLogBroker } from '../../support/planned-logs.js'

const KIB = 1024
const LOG_BYTES = 100 * KIB ** 2
const PARTITIONS = 2

let sent = 0
const send = async (broker: LogBroker, stage: 'a' | 'b', partition: number, bytes: number): Promise<number> => {
  const stored = await broker.publish(invocationsSubject(stage, partition), Buffer.alloc(bytes), `m.${sent++}`, 5_000)
  if (stored.kind !== 'stored') throw new Error(stored.kind)
  return stored.sequence
}

const done = async (broker: LogBroker, key: string, sequence: number): Promise<void> => {
  await broker.deps.checkpoints.put(key, JSON.stringify({ done: sequence }))
}

test('of the log only the messages count that their owner has not processed, in all stages', async () => {
  const broker = await launchLogBroker({ invocationsBytesMax: LOG_BYTES })
  const checkpoints = await broker.bucket(CHECKPOINTS)
  const shareNow = async () => (await logBound(broker.manager, checkpoints, PARTITIONS)).share
  const of = (kib: number): number => (kib * KIB) / admittableBytes(LOG_BYTES)

  expect(await shareNow()).toBe(0)
  const first = await send(broker, 'a', 0, 800 * KIB)
  const second = await send(broker, 'a', 1, 400 * KIB)
  const third = await send(broker, 'b', 1, 200 * KIB)
  expect(await shareNow()).toBeCloseTo(of(1_400), 4)

  await done(broker, 'a.0', first)
  expect(await shareNow()).toBeCloseTo(of(600), 4)
  await done(broker, 'b.1', third)
  await done(broker, 'a.1', second)
  expect(await shareNow()).toBe(0)
  // Of a partition that the log no longer has.
  await send(broker, 'b', PARTITIONS, 100 * KIB)
  expect(await shareNow()).toBeCloseTo(of(100), 4)
  expect((await broker.manager.streams.info(INVOCATIONS.name)).state.bytes).toBeGreaterThan(1_400 * KIB)
})

test('each message of a small backlog counts: floods send few large ones, others many small ones', async () => {
  const broker = await launchLogBroker({ invocationsBytesMax: LOG_BYTES })
  const checkpoints = await broker.bucket(CHECKPOINTS)
  const sizes = Array.from({ length: 240 }, (_, i) => (i < 30 ? 50 * KIB : 200))
  for (const bytes of sizes) await send(broker, 'a', 0, bytes)

  const { unprocessedBytes } = await logBound(broker.manager, checkpoints, PARTITIONS)

  const bytes = sizes.reduce((sum, each) => sum + each, 0)
  expect(unprocessedBytes / bytes).toBeGreaterThan(1)
  expect(unprocessedBytes / bytes).toBeLessThan(1.03)
})

test('a backlog of many messages is measured by samples, however large the processed ones are', async () => {
  const broker = await launchLogBroker({ invocationsBytesMax: LOG_BYTES })
  const checkpoints = await broker.bucket(CHECKPOINTS)
  // Many small messages are kept, and the backlog grows from small ones to large ones.
  let last = 0
  for (let i = 0; i < 3_000; i++) last = await send(broker, 'a', 0, 100)
  await done(broker, 'a.0', last)
  let bytes = 0
  for (let i = 0; i < 1_000; i++) {
    bytes += i * 60
    await send(broker, 'a', 0, i * 60)
  }

  const bound = await logBound(broker.manager, checkpoints, PARTITIONS)

  expect(bound.unprocessedBytes / bytes).toBeGreaterThan(0.9)
  expect(bound.unprocessedBytes / bytes).toBeLessThan(1.1)
})
