import type { KV } from '@nats-io/kv'
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest'
import { passedOverTelemetry } from '../../../../internal/ingest/received/passed-over.js'
import { countReceived, type ReceivedCounts } from '../../../../internal/ingest/received/received-counts.js'
import { senderOf } from '../../../../internal/ingest/received/sender.js'
import { Tally } from '../../../../internal/ingest/received/tally.js'
import { createLog } from '../../../../internal/telemetry/log.js'
import { RECEIVED } from '../../../../streams/buckets.js'
import { type Buckets, launchBuckets } from '../../../support/buckets.js'

const NOON = Date.UTC(2026, 10, 21, 12)
const HOUR_MS = 3_600_000

let buckets: Buckets
let isBrokerUp = true
let nowMs = NOON
const opened: ReceivedCounts[] = []

beforeAll(async () => {
  buckets = await launchBuckets()
})
afterAll(async () => {
  for (const counts of opened) await counts.close()
  await buckets.close()
})

/** The counts of one gateway. */
async function open() {
  const bucket = await (await buckets.connect()).bucket(RECEIVED)
  const log = createLog('test', 'silent')
  const counts = countReceived({ bucket, isBrokerUp: () => isBrokerUp, clock: () => nowMs, log })
  opened.push(counts)
  const agents = (tenantId: string, count: number, scope = 'app', layer = 'application', atMs = nowMs): void => {
    const tally = new Tally(senderOf(scope, '', '', layer))
    for (let i = 0; i < count; i++) tally.passOver('agent')
    counts.onReceived.add({ tenantId, principal: 'key_1' }, 'otlp', [tally], atMs)
  }
  return { ...counts, agents, passedOver: async (id: string) => passedOverTelemetry(await counts.read(id, nowMs)) }
}

test('the counts of several gateways that store at the same time are added, per tenant, layer and reason', async () => {
  const gateways = await Promise.all([open(), open(), open()])
  for (const [index, { agents }] of gateways.entries()) {
    agents('tnt_1', 2, `app-${index}`)
    agents('tnt_1', 1, 'kong', 'gateway', NOON + index)
    agents('tnt_2', 5)
  }

  await Promise.all(gateways.map(({ flush }) => flush()))
  await gateways[0]?.flush()

  for (const { passedOver } of gateways) {
    expect(await passedOver('tnt_1')).toEqual([
      { layer: 'application', kind: 'agent', count: 6, lastAtMs: NOON },
      { layer: 'gateway', kind: 'agent', count: 3, lastAtMs: NOON + 2 },
    ])
    expect(await passedOver('tnt_2')).toMatchObject([{ count: 15 }])
    expect(await passedOver('tnt_3')).toEqual([])
  }
})

test('an hour counts until it is a day old', async () => {
  const { agents, flush, passedOver } = await open()
  agents('tnt_day', 1)
  await flush()
  nowMs = NOON + 2 * HOUR_MS
  agents('tnt_day', 10)
  await flush()

  nowMs = NOON + 24 * HOUR_MS
  expect(await passedOver('tnt_day')).toMatchObject([{ count: 11 }])
  nowMs = NOON + 25 * HOUR_MS
  expect(await passedOver('tnt_day')).toMatchObject([{ count: 10 }])
  nowMs = NOON
})

test('what is counted while the broker is away is stored once it is back, and known here meanwhile', async () => {
  const { agents, flush, passedOver } = await open()
  const other = await open()
  isBrokerUp = false
  agents('tnt_away', 3)
  await flush()
  isBrokerUp = true
  agents('tnt_away', 4)

  expect(await passedOver('tnt_away')).toMatchObject([{ count: 7 }])
  expect(await other.passedOver('tnt_away')).toEqual([])
  await flush()
  expect(await other.passedOver('tnt_away')).toMatchObject([{ count: 7 }])
})

test('a read while counts are stored misses none and has none twice', async () => {
  const { agents, flush, passedOver } = await open()
  for (let count = 1; count <= 20; count++) {
    agents('tnt_read', 1)
    const flushed = flush()
    expect(await passedOver('tnt_read')).toMatchObject([{ count }])
    await flushed
  }
})

test('a read waits for the flush that is under way, and not for more on a slow broker', async () => {
  vi.useFakeTimers()
  onTestFinished(() => void vi.useRealTimers())
  let flushes = 0
  let answer = (): void => undefined
  const slow = {
    get: async () => null,
    create: () =>
      new Promise<void>((resolve) => {
        flushes++
        answer = resolve
      }),
  }
  const log = createLog('test', 'silent')
  const bucket = slow as unknown as KV
  const counts = countReceived({ bucket, isBrokerUp: () => true, clock: () => NOON, log })
  const count = (): void => counts.onReceived.refused({ tenantId: 'tnt_1', principal: 'key_1' }, '', 'NO_SCOPE', NOON)
  count()
  await vi.advanceTimersByTimeAsync(60_000)
  count()

  let isRead = false
  const reading = counts.read('tnt_1', NOON).then(() => {
    isRead = true
  })
  for (let answers = 1; answers <= 12 && !isRead; answers++) {
    answer()
    count()
    await vi.advanceTimersByTimeAsync(1)
  }
  await reading

  expect(flushes).toBe(1)
  const closing = counts.close()
  await vi.advanceTimersByTimeAsync(1)
  answer()
  await closing
})
