import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { type CredentialsWatch, watchCredentials } from '../../../internal/access/credentials-watch.js'
import { type Broker, connectBroker, ensureStreams } from '../../../internal/broker/connect.js'
import { type Mirror, mirrorBucket } from '../../../internal/broker/mirror.js'
import { createLog } from '../../../internal/telemetry/log.js'
import { API_KEYS } from '../../../streams/buckets.js'
import { launchBroker } from '../../support/broker.js'
import { linkTo } from '../../support/silent-link.js'

const log = createLog('test', 'silent')
const onLost = (cause: unknown): never => {
  throw cause
}
const brokers: Broker[] = []
const watches: CredentialsWatch[] = []
let port: number
let elsewhere: Broker

const connect = async (url: string): Promise<Broker> => {
  const broker = await connectBroker({ url, user: '', password: '', name: 'test' })
  brokers.push(broker)
  return broker
}
beforeAll(async () => {
  const running = await launchBroker()
  port = running.port
  elsewhere = await connect(running.url)
  await ensureStreams(elsewhere, { replicas: 1, invocationsBytesMax: 2 ** 20, observationsBytesMax: 2 ** 20 })
})
afterEach(() => {
  for (const watch of watches.splice(0)) watch.stop()
})
afterAll(() => Promise.all(brokers.map((broker) => broker.connection.close())))

const watching = (broker: Broker, now: () => number): CredentialsWatch => {
  const watch = watchCredentials({ connection: broker.connection, clock: Date.now, log, now })
  watches.push(watch)
  return watch
}

async function until(isSo: () => boolean): Promise<void> {
  for (const end = Date.now() + 30_000; !isSo(); ) {
    expect(Date.now()).toBeLessThan(end)
    await sleep(5)
  }
}

test('a revocation that a dead watch missed is known within seconds, without a delay for requests', async () => {
  const bucket = await elsewhere.bucket(API_KEYS)
  await bucket.put('key_one', '"active"')
  const copy = await mirrorBucket<string>(bucket, onLost)
  const watch = watching(elsewhere, () => performance.now())
  watch.add(bucket, copy)
  for await (const { name } of elsewhere.manager.consumers.list('KV_api_keys')) {
    await elsewhere.manager.consumers.delete('KV_api_keys', name)
  }

  const revokedAt = Date.now()
  await bucket.put('key_one', '"revoked"')
  await until(() => copy.get('key_one') === 'revoked')

  expect(Date.now() - revokedAt).toBeLessThan(10_000)
  copy.stop()
})

test('credentials are current while their bucket answers, and outdated 5 s after its last answer', async () => {
  const link = await linkTo(port)
  const bucket = await (await connect(link.url)).bucket(API_KEYS)
  let now = 0
  const watch = watching(brokers.at(-1) as Broker, () => now)
  let asked = 0
  watch.add(bucket, {
    async reached() {
      asked++
    },
  })
  await until(() => asked > 0)
  expect(watch.awayMs()).toBe(0)

  link.fallSilent()
  now += 5_000
  expect([watch.awayMs(), watch.current().status]).toEqual([0, 'up'])
  // Longer than the pause that is tolerated in a suspended process.
  now += 5_001
  expect(watch.awayMs()).toBeGreaterThan(0)
  expect(watch.current().status).toBe('down')
})

test('a copy that lags behind is not current, even on an open connection', async () => {
  let now = 0
  const watch = watching(elsewhere, () => now)
  let asked = 0
  watch.add(await elsewhere.bucket(API_KEYS), {
    reached() {
      asked++
      return Promise.reject(new Error('behind'))
    },
  })

  await until(() => asked > 0)
  now += 20_000

  expect(watch.awayMs()).toBeGreaterThan(0)
})

test('after a reconnection credentials are current only once every bucket has been checked', async () => {
  const link = await linkTo(port)
  const broker = await connect(link.url)
  const bucket: Mirror<unknown>['reached'][] = []
  let isHeld = false
  const watch = watching(broker, () => 0)
  watch.add(await broker.bucket(API_KEYS), {
    reached: () => (isHeld ? new Promise((resolve) => bucket.push(async () => resolve())) : Promise.resolve()),
  })
  const types: string[] = []
  void (async () => {
    for await (const { type } of broker.connection.status()) types.push(type)
  })()

  isHeld = true
  link.cut()
  await until(() => types.includes('disconnect'))
  expect(watch.awayMs()).toBeGreaterThan(0)
  await until(() => types.includes('reconnect') && bucket.length > 0)
  expect(watch.awayMs()).toBeGreaterThan(0)

  isHeld = false
  for (const answer of bucket) void answer(0)
  await until(() => watch.awayMs() === 0)
})

test('a server that is all of its broker is asked for one bucket at a time, until one is not current', async () => {
  const watch = watching(elsewhere, () => performance.now())
  const asked: string[] = []
  let lagging: string | undefined
  for (const name of ['one', 'two', 'three']) {
    watch.add(await elsewhere.bucket(API_KEYS), {
      reached() {
        asked.push(name)
        return name === lagging ? Promise.reject(new Error('behind')) : Promise.resolve()
      },
    })
  }

  await until(() => asked.length === 3)
  expect(asked).toEqual(['one', 'two', 'three'])
  lagging = 'one'
  await until(() => asked.length === 7)
  expect(asked.slice(3, 4)).toEqual(['one'])
  expect([...asked.slice(4, 7)].sort()).toEqual(['one', 'three', 'two'])
})
