import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, expect, test, vi } from 'vitest'
import { type Broker, connectBroker, ensureStreams } from '../../../internal/broker/connect.js'
import { mirrorBucket } from '../../../internal/broker/mirror.js'
import { followMirrorLag } from '../../../internal/broker/mirror-lag.js'
import { createLog } from '../../../internal/telemetry/log.js'
import { DIRECTORY } from '../../../streams/buckets.js'
import { launchBroker } from '../../support/broker.js'
import { linkTo } from '../../support/silent-link.js'

const log = createLog('test', 'silent')
const SIX_MINUTES_MS = 360_000
let stopping = new AbortController()
const brokers: Broker[] = []
const connect = async (url: string): Promise<Broker> => {
  const broker = await connectBroker({ url, user: '', password: '', name: 'test' })
  brokers.push(broker)
  return broker
}
afterEach(async () => {
  stopping.abort()
  stopping = new AbortController()
  await Promise.all(brokers.splice(0).map((broker) => broker.connection.close()))
})

async function until(isSo: () => boolean): Promise<void> {
  for (const end = Date.now() + 60_000; !isSo(); ) {
    expect(Date.now()).toBeLessThan(end)
    await sleep(5)
  }
}

test('a mirror that has reached its bucket’s revision has no lag; the lag of any other grows', async () => {
  const { url } = await launchBroker()
  const broker = await connect(url)
  await ensureStreams(broker, { replicas: 1, invocationsBytesMax: 2 ** 20, observationsBytesMax: 2 ** 20 })
  const bucket = await broker.bucket(DIRECTORY)
  const copy = await mirrorBucket(bucket, () => undefined)
  let now = 0
  const deps = { clock: () => now, log, staleMs: 0 }
  const ofCopy = await followMirrorLag(bucket, copy, deps, stopping.signal)
  // A silent watch stays at the first revision.
  const ofSilent = await followMirrorLag(bucket, { revision: () => 1 }, deps, stopping.signal)

  await copy.reached(await bucket.put('tnt.services.a', '{"size":1}'))
  await copy.reached(await bucket.put('tnt.services.a', '{"size":2}'))
  const leftAt = now
  for (let round = 1; round <= 3; round++) {
    now = leftAt + round * SIX_MINUTES_MS
    await until(() => ofCopy.lagMs() === 0)
  }

  expect(ofSilent.lagMs()).toBe(3 * SIX_MINUTES_MS)
})

test('the lag of a mirror grows while the broker does not reply, and ends when it replies again', async () => {
  const { port, url } = await launchBroker()
  const link = await linkTo(port)
  const near = await connect(url)
  await ensureStreams(near, { replicas: 1, invocationsBytesMax: 2 ** 20, observationsBytesMax: 2 ** 20 })
  const bucket = await (await connect(link.url)).bucket(DIRECTORY)
  const copy = await mirrorBucket(bucket, () => undefined)
  let now = 0
  const currency = await followMirrorLag(bucket, copy, { clock: () => now, log, staleMs: 0 }, stopping.signal)
  expect(currency.lagMs()).toBe(0)

  // Requests get no reply until the client notices the lost connection and reconnects.
  link.fallSilent()
  now = SIX_MINUTES_MS
  expect(currency.lagMs()).toBe(SIX_MINUTES_MS)

  await until(() => currency.lagMs() === 0)
})

test('a bucket is asked three times within the lag from which its mirror is stale', async () => {
  const { url } = await launchBroker()
  const broker = await connect(url)
  await ensureStreams(broker, { replicas: 1, invocationsBytesMax: 2 ** 20, observationsBytesMax: 2 ** 20 })
  const bucket = await broker.bucket(DIRECTORY)
  const copy = await mirrorBucket(bucket, () => undefined)
  const asks = vi.spyOn(bucket, 'status')

  const startedAt = performance.now()
  await followMirrorLag(bucket, copy, { clock: Date.now, log, staleMs: 3_000 }, stopping.signal)
  await expect.poll(() => asks.mock.calls.length, { timeout: 10_000 }).toBe(3)

  expect(performance.now() - startedAt).toBeGreaterThan(1_900)
})
