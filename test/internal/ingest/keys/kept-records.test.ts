import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { type Broker, connectBroker, ensureStreams } from '../../../../internal/broker/connect.js'
import { keptRecords } from '../../../../internal/ingest/keys/kept-records.js'
import { createLog } from '../../../../internal/telemetry/log.js'
import { IDEMPOTENCY } from '../../../../streams/buckets.js'
import { launchBroker } from '../../../support/broker.js'
import { linkTo, type SilentLink } from '../../../support/silent-link.js'

interface Kept {
  readonly fingerprint: string
}

let link: SilentLink
const brokers: Broker[] = []
let open: (isBrokerUp?: () => boolean) => ReturnType<typeof keptRecords<Kept>>
/** By a way that can fall silent. */
let openLinked: typeof open

beforeAll(async () => {
  const { url, port } = await launchBroker()
  link = await linkTo(port)
  const log = createLog('test', 'silent')
  const [direct, linked] = await Promise.all(
    [url, link.url].map(async (address) => {
      const broker = await connectBroker({ url: address, user: '', password: '', name: 'kept-records' })
      brokers.push(broker)
      await ensureStreams(broker, { replicas: 1, invocationsBytesMax: 2 ** 20, observationsBytesMax: 2 ** 20 })
      const bucket = await broker.bucket(IDEMPOTENCY)
      return (isBrokerUp: () => boolean = () => true) =>
        keptRecords<Kept>(bucket, 'kind', { isBrokerUp, clock: Date.now, log })
    }),
  )
  if (direct === undefined || linked === undefined) throw new Error('there is no bucket')
  open = direct
  openLinked = linked
})
afterAll(() => Promise.all(brokers.map((broker) => broker.close())))

const one: Kept = { fingerprint: '1' }
const two: Kept = { fingerprint: '2' }

test('a record kept during an outage of the broker is found here at once, and everywhere once it is back', async () => {
  let isUp = false
  const here = open(() => isUp)
  const elsewhere = open()
  const key = randomUUID()

  await here.records.keepRecord(key, one)
  const meanwhile = [await here.records.findRecord(key), await elsewhere.records.findRecord(key)]
  isUp = true

  expect(meanwhile).toEqual([one, undefined])
  await vi.waitFor(async () => expect(await elsewhere.records.findRecord(key)).toEqual(one), { timeout: 10_000 })
  expect(await here.records.findRecord(key)).toEqual(one)
  await here.close()
  await elsewhere.close()
})

test('an unresponsive broker counts as unavailable', async () => {
  const here = openLinked()
  const elsewhere = open()
  const [before, meanwhile] = [randomUUID(), randomUUID()]
  await here.records.keepRecord(before, one)
  link.fallSilent()

  await here.records.keepRecord(meanwhile, two)
  const found = [await here.records.findRecord(before), await here.records.findRecord(meanwhile)]
  link.cut()

  expect(found).toEqual([one, two])
  await vi.waitFor(async () => expect(await elsewhere.records.findRecord(meanwhile)).toEqual(two), { timeout: 20_000 })
  await here.close()
  await elsewhere.close()
})

test('a record written before the broker became unavailable is found here', async () => {
  let isUp = true
  const here = open(() => isUp)
  const key = randomUUID()
  await here.records.keepRecord(key, one)
  isUp = false

  expect(await here.records.findRecord(key)).toEqual(one)
  expect(await here.records.findRecord(randomUUID())).toBeUndefined()
  await here.close()
})

test('the one in the bucket counts, and one who closes writes the rest', async () => {
  let isUp = false
  const here = open(() => isUp)
  const elsewhere = open()
  const [taken, free] = [randomUUID(), randomUUID()]
  await elsewhere.records.keepRecord(taken, two)
  for (const key of [taken, free]) await here.records.keepRecord(key, one)
  isUp = true

  await here.close()

  expect(await here.records.findRecord(taken)).toEqual(two)
  expect(await elsewhere.records.findRecord(free)).toEqual(one)
  await elsewhere.close()
})
