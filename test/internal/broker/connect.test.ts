import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Broker, ensureStreams } from '../../../internal/broker/connect.js'
import { MEMBERS, TENANTS } from '../../../streams/buckets.js'
import { type Buckets, launchBuckets } from '../../support/buckets.js'

let buckets: Buckets
let broker: Broker

beforeAll(async () => {
  buckets = await launchBuckets()
  broker = await buckets.connect()
})
afterAll(() => buckets.close())

test('a bucket that an earlier version made gets the declared age of its entries', async () => {
  const { manager } = broker
  await manager.streams.update(`KV_${MEMBERS.name}`, { max_age: 5_000_000_000, duplicate_window: 5_000_000_000 })

  await ensureStreams(broker, { replicas: 1, invocationsBytesMax: 2 ** 20, observationsBytesMax: 2 ** 20 })

  expect((await manager.streams.info(`KV_${MEMBERS.name}`)).config.max_age).toBe(MEMBERS.ttlMs * 1_000_000)
})

test('a watch is held in the memory of the broker, and a broker of one server seldom says that it lives', async () => {
  const watch = await (await broker.bucket(TENANTS)).watch()

  const [consumer] = await broker.manager.consumers.list(`KV_${TENANTS.name}`).next()
  expect(consumer?.config).toMatchObject({ mem_storage: true, idle_heartbeat: 300_000_000_000 })
  watch.stop()
})

test('the leader of a bucket answers its reads, never a follower that may be behind', async () => {
  const bucket = await broker.bucket(TENANTS)
  await bucket.put('tnt_one', '{}')
  const asked: string[] = []
  const listening = broker.connection.subscribe('$JS.API.>', { callback: (_, { subject }) => void asked.push(subject) })

  await bucket.get('tnt_one')
  await broker.connection.flush()

  expect(asked).toEqual([`$JS.API.STREAM.MSG.GET.KV_${TENANTS.name}`])
  listening.unsubscribe()
})
