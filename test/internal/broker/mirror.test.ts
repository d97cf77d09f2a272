import { EventEmitter, on } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import type { KV } from '@nats-io/kv'
import type { NatsConnection } from '@nats-io/transport-node'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Broker, openedOver } from '../../../internal/broker/connect.js'
import { isBrokerUnavailable } from '../../../internal/broker/errors.js'
import { type Mirror, mirrorBucket } from '../../../internal/broker/mirror.js'
import {
  API_KEY_USES,
  API_KEYS,
  CLIENTS,
  CONNECTORS,
  POOLS,
  PRICE_OVERRIDES,
  REVOKED_TOKENS,
} from '../../../streams/buckets.js'
import { type Buckets, launchBuckets } from '../../support/buckets.js'

let buckets: Buckets
const mirrors: Mirror<unknown>[] = []

beforeAll(async () => {
  buckets = await launchBuckets()
})
afterAll(async () => {
  for (const mirror of mirrors) mirror.stop()
  await buckets.close()
})

const onLost = (cause: unknown): never => {
  throw cause
}

test('a mirror that has reached a revision holds the value written at it, also by another process', async () => {
  const mirror = await mirrorBucket<number>(await buckets.open(API_KEYS), onLost)
  mirrors.push(mirror)
  const elsewhere = await (await buckets.connect()).bucket(API_KEYS)

  for (let value = 0; value < 20; value++) {
    await mirror.reached(await elsewhere.put('key_one', JSON.stringify(value)))
    expect(mirror.get('key_one')).toBe(value)
  }
})

test('a mirror whose KV watch died silently is updated within seconds', async () => {
  const elsewhere = await buckets.connect()
  const changes: [string, unknown][] = []
  const mirror = await mirrorBucket<number>(await buckets.open(CLIENTS), onLost, (key, value) =>
    changes.push([key, value]),
  )
  mirrors.push(mirror)
  const bucket = await elsewhere.bucket(CLIENTS)
  await mirror.reached(await bucket.put('cli_kept', '1'))
  await mirror.reached(await bucket.put('cli_gone', '1'))

  await forgetWatches(elsewhere, 'KV_clients')
  await bucket.put('cli_kept', '2')
  await bucket.delete('cli_gone')
  const revision = await bucket.put('cli_new', '3')
  await mirror.reached(revision)

  expect(Object.fromEntries(mirror.entries())).toEqual({ cli_kept: 2, cli_new: 3 })
  expect(changes.slice(2)).toEqual([
    ['cli_kept', 2],
    ['cli_gone', undefined],
    ['cli_new', 3],
  ])
  await mirror.reached(await bucket.put('cli_new', '4'))
  expect(mirror.get('cli_new')).toBe(4)
})

test('waiting for a revision that a mirror does not reach is rejected', async () => {
  const mirror = await mirrorBucket<number>(await buckets.open(API_KEYS), onLost)
  mirrors.push(mirror)

  const waited = mirror.reached(mirror.revision() + 1_000)

  await expect(waited).rejects.toSatisfy(isBrokerUnavailable)
})

test("a mirror of a bucket whose newest entries were purged reaches the bucket's revision", async () => {
  const elsewhere = await buckets.connect()
  const bucket = await elsewhere.bucket(API_KEY_USES)
  const revision = await bucket.put('key_one', '1')
  await elsewhere.manager.streams.purge('KV_api_key_uses')

  const mirror = await mirrorBucket<number>(await buckets.open(API_KEY_USES), onLost)
  mirrors.push(mirror)

  expect([mirror.revision(), [...mirror.entries()]]).toEqual([revision, []])
})

test('a mirror with a dead KV watch removes keys that were purged without a delete marker', async () => {
  const elsewhere = await buckets.connect()
  const changes: [string, unknown][] = []
  const mirror = await mirrorBucket<number>(await buckets.open(CONNECTORS), onLost, (key, value) =>
    changes.push([key, value]),
  )
  mirrors.push(mirror)
  const bucket = await elsewhere.bucket(CONNECTORS)
  await mirror.reached(await bucket.put('con_kept', '1'))
  await mirror.reached(await bucket.put('con_gone', '2'))

  await forgetWatches(elsewhere, 'KV_connectors')
  const revision = await bucket.put('con_gone', '3')
  await elsewhere.manager.streams.purge('KV_connectors', { filter: '$KV.connectors.con_gone' })
  await mirror.reached(revision)

  expect(Object.fromEntries(mirror.entries())).toEqual({ con_kept: 1 })
  expect(changes.slice(2)).toEqual([['con_gone', undefined]])
  await mirror.reached(await bucket.put('con_kept', '4'))
  expect(mirror.get('con_kept')).toBe(4)
})

/** Deletes the consumers of all watches, like the loss of their node: the watchers are not notified. */
async function forgetWatches({ manager }: Broker, stream: string): Promise<void> {
  for await (const { name } of manager.consumers.list(stream)) await manager.consumers.delete(stream, name)
}

test('a mirror has what was written since the broker was killed and started again, without being asked', async () => {
  const bucket = await buckets.open(PRICE_OVERRIDES)
  let changed: (value: number) => void = () => undefined
  const mirror = await mirrorBucket<number>(bucket, onLost, (_, value) => changed(value ?? Number.NaN))
  mirrors.push(mirror)
  await mirror.reached(await bucket.put('price', '1'))
  const next = new Promise<number>((resolve) => {
    changed = resolve
  })

  await buckets.restart()
  await expect.poll(() => bucket.put('price', '2').catch(() => 0), { timeout: 20_000 }).toBeGreaterThan(0)

  // The client notices a lost watch by itself after a minute.
  expect(await Promise.race([next, sleep(15_000)])).toBe(2)
  expect(mirror.get('price')).toBe(2)
}, 40_000)

interface ToldEntry {
  readonly key: string
  readonly revision: number
  readonly value?: number
  readonly delta?: number
}

/** A bucket whose leader says what it holds, and whose watches report what a test tells them, in order. */
function toldBucket(leader: { readonly newest: number; readonly lastSequence: number }) {
  const watches: EventEmitter[] = []
  const connection = { status: () => [], isClosed: () => true } as unknown as NatsConnection
  const bucket = {
    status: async () => ({ bucket: 'told', streamInfo: { state: { last_seq: leader.lastSequence } } }),
    async watch() {
      const reports = new EventEmitter()
      watches.push(reports)
      const entries = on(reports, 'entry', { close: ['end'] })
      return Object.assign(
        (async function* () {
          for await (const [entry] of entries) yield entry
        })(),
        { stop: () => reports.emit('end') },
      )
    },
  }
  const tell = (watch: number, { key, revision, value, delta = 0 }: ToldEntry): void => {
    const operation = value === undefined ? 'DEL' : 'PUT'
    watches[watch]?.emit('entry', { key, revision, operation, delta, json: () => value })
  }
  return { watches, tell, bucket: openedOver(connection, bucket as unknown as KV, async () => leader.newest) }
}

test('a copy from a replica that lags behind the leader is complete once it has the newest entry', async () => {
  const { bucket, watches, tell } = toldBucket({ newest: 11, lastSequence: 12 })
  const opening = mirrorBucket<number>(bucket, onLost)
  await expect.poll(() => watches.length).toBe(1)

  tell(0, { key: 'one', revision: 3, value: 3 })
  expect(await Promise.race([opening, sleep(200, 'incomplete')])).toBe('incomplete')
  tell(0, { key: 'one', revision: 11, value: 11 })
  const mirror = await opening
  mirrors.push(mirror)

  expect([mirror.revision(), ...mirror.entries()]).toEqual([12, ['one', 11]])
})

test('a later watch from a replica that lags removes no key that it does not know yet', async () => {
  const leader = { newest: 7, lastSequence: 7 }
  const { bucket, watches, tell } = toldBucket(leader)
  const removed: string[] = []
  const opening = mirrorBucket<number>(bucket, onLost, (key, value) => {
    if (value === undefined) removed.push(key)
  })
  await expect.poll(() => watches.length).toBe(1)
  tell(0, { key: 'gone', revision: 2, value: 2, delta: 2 })
  tell(0, { key: 'kept', revision: 5, value: 5, delta: 1 })
  tell(0, { key: 'new', revision: 7, value: 7 })
  const mirror = await opening
  mirrors.push(mirror)

  // The leader has changed: the new one has not heard of the last entry either.
  Object.assign(leader, { newest: 5, lastSequence: 5 })
  const waiting = mirror.reached(9)
  await expect.poll(() => watches.length, { timeout: 3_000 }).toBe(2)
  tell(1, { key: 'kept', revision: 5, value: 5 })
  await expect.poll(() => removed).toEqual(['gone'])
  tell(1, { key: 'new', revision: 9, value: 9 })
  await waiting

  expect([removed, Object.fromEntries(mirror.entries())]).toEqual([['gone'], { kept: 5, new: 9 }])
})

test('a watch of a bucket leaves no file of its own', async () => {
  const bucket = await buckets.open(POOLS)
  mirrors.push(await mirrorBucket<number>(bucket, onLost))
  const { manager } = await buckets.connect()

  for await (const { config } of manager.consumers.list(`KV_${POOLS.name}`)) expect(config.mem_storage).toBe(true)
  expect((await manager.streams.info(`KV_${POOLS.name}`)).state.consumer_count).toBe(1)
})

test('a mirror removes keys that have expired in the bucket', async () => {
  const bucket = await buckets.open(REVOKED_TOKENS)
  let expired: (key: string) => void = () => undefined
  const expiry = new Promise<string>((resolve) => {
    expired = resolve
  })
  const mirror = await mirrorBucket<object>(bucket, onLost, (key, value) => {
    if (value === undefined) expired(key)
  })
  mirrors.push(mirror)

  await mirror.reached(await bucket.create('jti', '{}', '1s'))
  expect(mirror.get('jti')).toEqual({})

  expect(await expiry).toBe('jti')
  expect(mirror.get('jti')).toBeUndefined()
})
