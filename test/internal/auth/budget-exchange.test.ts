import { connect, type NatsConnection } from '@nats-io/transport-node'
import { beforeAll, describe, expect, test } from 'vitest'
import { type BudgetExchange, createBudgetExchange } from '../../../internal/auth/budget-exchange.js'
import { type BudgetsCache, budgetsCache, type RateClass, rateLimitsOf } from '../../../internal/auth/rate-limits.js'
import { createLog } from '../../../internal/telemetry/log.js'
import { RATES_OF_ALL } from '../../../streams/gateways.js'
import { launchBroker } from '../../support/broker.js'
import { atEnd } from '../../support/run/at-end.js'

const RATES = rateLimitsOf({ ingest: 20_000, read: 200, report: 10, control: 10, token: 5 })
const START_MS = 1_700_000_000_000

let url: string
beforeAll(async () => {
  url = (await launchBroker()).url
})

/** One gateway's copy of the budgets, with its own connection. */
interface Gateway {
  readonly name: string
  readonly connection: NatsConnection
  readonly exchange: BudgetExchange
  readonly budgetsOf: BudgetsCache
}

/** Gateways that share budgets, with one clock that only the test advances. */
class Gateways {
  nowMs = START_MS
  readonly all: Gateway[] = []
  private readonly listeners: (() => void)[] = []

  async add(name: string): Promise<Gateway> {
    const connection = await connect({ servers: url })
    atEnd(() => connection.close())
    const exchange = createBudgetExchange({
      connection,
      self: name,
      isBrokerUp: () => true,
      clock: () => this.nowMs,
      log: createLog('test', 'silent'),
    })
    const budgetsOf = budgetsCache(RATES, { sharing: exchange.sharing })
    exchange.listen(budgetsOf)
    await connection.flush()
    const gateway = { name, connection, exchange, budgetsOf }
    this.all.push(gateway)
    exchange.follow({
      live: () => this.all.map(({ name }) => name),
      onChange: (tell) => this.listeners.push(tell),
    })
    for (const onChange of this.listeners) onChange()
    await this.settle()
    return gateway
  }

  /** Every gateway publishes its usage and receives that of the others. */
  async settle(): Promise<void> {
    for (const { exchange } of this.all) exchange.flush()
    // The first flush sends the messages to the broker, the second one receives them.
    for (const { connection } of this.all) await connection.flush()
    for (const { connection } of this.all) await connection.flush()
  }

  close(): void {
    for (const { exchange } of this.all) exchange.stop()
  }
}

interface Load {
  readonly rateClass: RateClass
  readonly seconds: number
  /** Requests per gateway and second. */
  readonly askedPerSecond: readonly number[]
  readonly cost?: number
}

/** @returns how many requests each gateway allowed, and how many were refused in total */
async function load(gateways: Gateways, { rateClass, seconds, askedPerSecond, cost = 1 }: Load) {
  let refused = 0
  const given = gateways.all.map(() => 0)
  const owed = gateways.all.map(() => 0)
  for (let ms = 0; ms < seconds * 1_000; ms += 10) {
    gateways.nowMs += 10
    for (const [i, { budgetsOf }] of gateways.all.entries()) {
      owed[i] = (owed[i] ?? 0) + (askedPerSecond[i] ?? 0) / 100
      while ((owed[i] ?? 0) >= cost) {
        owed[i] = (owed[i] ?? 0) - cost
        const waitMs = budgetsOf('tnt_one', 'key_one')[rateClass].take(cost, gateways.nowMs)
        if (waitMs === 0) given[i] = (given[i] ?? 0) + cost
        else refused++
      }
    }
    if (ms % 100 === 0) await gateways.settle()
  }
  return { given, refused }
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, number) => total + number, 0)

describe.each([2, 3])('%i gateways', (count) => {
  const run = async (
    wanted: Omit<Load, 'askedPerSecond'> & { readonly askedPerSecond: (gateway: number) => number },
  ) => {
    const gateways = new Gateways()
    for (let i = 0; i < count; i++) await gateways.add(`${count}-${crypto.randomUUID()}`)
    const { given, refused } = await load(gateways, {
      ...wanted,
      askedPerSecond: Array.from({ length: count }, (_, i) => wanted.askedPerSecond(i)),
    })
    gateways.close()
    const { perSecond, burst } = RATES[wanted.rateClass]
    return { share: sum(given) / (perSecond * wanted.seconds + burst), given, refused }
  }

  test('allow the burst and the sustained rate once in total, within a tenth, under any load', async () => {
    const { share } = await run({ rateClass: 'read', seconds: 10, askedPerSecond: () => 1_000 })

    expect(share).toBeGreaterThan(0.9)
    expect(share).toBeLessThan(1.1)
  })

  test('allow one gateway the whole budget when only it is used', async () => {
    const { share, given } = await run({
      rateClass: 'read',
      seconds: 5,
      askedPerSecond: (gateway) => (gateway === 0 ? 1_000 : 0),
    })

    expect(share).toBeGreaterThan(0.99)
    expect(share).toBeLessThan(1.01)
    expect(given.slice(1)).toEqual(given.slice(1).map(() => 0))
  })

  test('refuse nothing below the rate', async () => {
    const { refused } = await run({ rateClass: 'read', seconds: 10, askedPerSecond: () => 195 / count })

    expect(refused).toBe(0)
  })

  test('keep to the rate with bulk requests of some thousand events', async () => {
    const { share } = await run({ rateClass: 'ingest', seconds: 10, cost: 5_000, askedPerSecond: () => 100_000 })

    expect(share).toBeGreaterThan(0.9)
    expect(share).toBeLessThan(1.1)
  })
})

test('a burst on one gateway reaches the other before the next periodic message', async () => {
  const gateways = new Gateways()
  const [one, other] = [await gateways.add('early-one'), await gateways.add('early-other')]
  const heard = new Promise<void>((resolve) => {
    other.connection.subscribe(RATES_OF_ALL, { callback: () => resolve() })
  })
  await other.connection.flush()
  const startedAt = performance.now()
  for (let i = 0; i < 800; i++) one.budgetsOf('tnt_one', 'key_one').read.take(1, gateways.nowMs)
  await heard
  const heardAfterMs = performance.now() - startedAt
  // The budget exchange subscribed first, so that it has received the message too.
  await other.connection.flush()

  expect(heardAfterMs).toBeLessThan(80)
  expect(other.budgetsOf('tnt_one', 'key_one').read.remaining(gateways.nowMs)).toBe(0)
  gateways.close()
})

test('a gateway that joins learns the usage of the others', async () => {
  const gateways = new Gateways()
  const first = await gateways.add('first')
  first.budgetsOf('tnt_one', 'key_one').read.take(300, gateways.nowMs)
  const newcomer = await gateways.add('newcomer')

  expect(newcomer.budgetsOf('tnt_one', 'key_one').read.remaining(gateways.nowMs)).toBe(500)
  gateways.close()
})

test('an exhausted budget affects no other tenant or principal', async () => {
  const gateways = new Gateways()
  const [one, other] = [await gateways.add('alone-one'), await gateways.add('alone-other')]
  one.budgetsOf('tnt_one', 'key_one').read.take(800, gateways.nowMs)
  await gateways.settle()

  expect(other.budgetsOf('tnt_one', 'key_one').read.remaining(gateways.nowMs)).toBe(0)
  expect(other.budgetsOf('tnt_one', 'key_two').read.remaining(gateways.nowMs)).toBe(800)
  expect(other.budgetsOf('tnt_two', 'key_one').read.remaining(gateways.nowMs)).toBe(800)
  expect(other.budgetsOf('tnt_one', 'key_one').report.remaining(gateways.nowMs)).toBe(50)
  gateways.close()
})

test('a single gateway counts and publishes nothing', async () => {
  const gateways = new Gateways()
  const alone = await gateways.add('alone')
  const heard: string[] = []
  const listener = await connect({ servers: url })
  listener.subscribe(RATES_OF_ALL, { callback: (_, { subject }) => void heard.push(subject) })
  await listener.flush()

  const { read } = alone.budgetsOf('tnt_one', 'key_one')
  for (let i = 0; i < 800; i++) read.take(1, gateways.nowMs)
  await gateways.settle()
  await listener.flush()

  expect(read.unpublished).toBe(0)
  expect(heard).toEqual([])
  gateways.close()
  await listener.close()
})

test('an unreadable budget message changes nothing', async () => {
  const gateways = new Gateways()
  const [one, other] = [await gateways.add('garbled-one'), await gateways.add('garbled-other')]
  for (const text of [
    '',
    'x',
    '{}',
    '{"kind":"given","budgets":[["tnt_one","key_one",1,-5],["tnt_one","key_one",9,5]]}',
  ]) {
    other.connection.publish('gateways.somebody.rates', text)
  }
  await gateways.settle()

  expect(one.budgetsOf('tnt_one', 'key_one').read.remaining(gateways.nowMs)).toBe(800)
  gateways.close()
})
