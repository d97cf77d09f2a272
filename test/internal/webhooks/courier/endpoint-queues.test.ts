import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import {
  EndpointQueues,
  IN_FLIGHT_MAX,
  IN_FLIGHT_MAX_OF_TENANT,
} from '../../../../internal/webhooks/courier/endpoint-queues.js'
import { NO_HEALTH } from '../../../../internal/webhooks/endpoint-health.js'

const PER_ENDPOINT = 8

interface Begun {
  readonly tenantId: string
  readonly endpointId: string
  readonly number: number
  readonly end: () => void
}

let queues: EndpointQueues
/** In the order in which they started. */
let begun: Begun[]
let inFlight: Set<Begun>
/** By endpoint, the numbers of the parked attempts. */
let park: Map<string, number[]>
beforeEach(() => {
  queues = new EndpointQueues({
    inFlightPerEndpoint: PER_ENDPOINT,
    healthOf: () => NO_HEALTH,
    writeHealth: async () => undefined,
  })
  begun = []
  inFlight = new Set()
  park = new Map()
})
afterEach(() => queues.close())

const OWNER = {}

/** Queues tasks for an endpoint with enough successes to get its full in-flight limit. */
function give(tenantId: string, endpoint: string, count: number): void {
  const to = { tenantId, endpointId: `${tenantId}.${endpoint}` }
  const queue = queues.of(to)
  for (let i = 0; i < PER_ENDPOINT; i++) queue.succeeded(0)
  for (let number = 0; number < count; number++) {
    queues.add(to, {
      owner: OWNER,
      readAt: performance.now(),
      mayStart: () => true,
      run(ended) {
        const attempt: Begun = {
          ...to,
          number,
          end() {
            inFlight.delete(attempt)
            ended()
          },
        }
        begun.push(attempt)
        inFlight.add(attempt)
      },
      park: () => park.set(to.endpointId, [...(park.get(to.endpointId) ?? []), number]),
    })
  }
}
const giveMany = (tenantId: string, endpoints: number, count: number): void => {
  for (let i = 0; i < endpoints; i++) give(tenantId, `${i}`, count)
}
const countOf = (tenantId: string): number => [...inFlight].filter((one) => one.tenantId === tenantId).length
const endFirstOf = (tenantId: string): void => [...inFlight].find((one) => one.tenantId === tenantId)?.end()

test('a tenant has at most a quarter of a process’s attempts in flight; another tenant’s start at once', () => {
  for (const tenant of ['one', 'two', 'three']) giveMany(tenant, 100, 16)
  giveMany('late', 1, 16)

  expect(['one', 'two', 'three'].map(countOf)).toEqual(Array(3).fill(IN_FLIGHT_MAX_OF_TENANT))
  expect(countOf('late')).toBe(PER_ENDPOINT)
})

test('the endpoints of a tenant at its limit share freed capacity in turn', () => {
  giveMany('one', 100, 16)
  const full = begun.length
  const first = begun.slice(0, full)

  for (const attempt of first.slice(0, 36 * PER_ENDPOINT)) attempt.end()

  // 64 endpoints are at their limit; the other 36 get the freed capacity first, in their order.
  const next = begun.slice(full)
  expect(countOf('one')).toBe(IN_FLIGHT_MAX_OF_TENANT)
  expect(next.slice(0, 36).map(({ endpointId }) => endpointId)).toEqual(
    Array.from({ length: 36 }, (_, i) => `one.${64 + i}`),
  )
})

test('capacity that the process frees goes to a waiting tenant, not to one at its limit', () => {
  for (const tenant of ['one', 'two', 'three', 'four']) giveMany(tenant, 100, 16)
  giveMany('late', 1, 1)
  expect([inFlight.size, countOf('late')]).toEqual([IN_FLIGHT_MAX, 0])

  endFirstOf('two')

  expect([countOf('late'), countOf('two')]).toEqual([1, IN_FLIGHT_MAX_OF_TENANT - 1])
  endFirstOf('late')
  expect([countOf('late'), countOf('two')]).toEqual([0, IN_FLIGHT_MAX_OF_TENANT])
})

test('a tenant with too many waiting attempts keeps the oldest, divided evenly among its endpoints', () => {
  give('one', 'busy', PER_ENDPOINT + 60)
  give('one', 'quiet', PER_ENDPOINT + 5)
  give('one', 'busier', PER_ENDPOINT + 90)
  give('two', 'alone', PER_ENDPOINT + 70)
  give('three', 'alone', PER_ENDPOINT + 20)
  give('three', 'other', PER_ENDPOINT + 30)

  queues.parkBeyond(OWNER, 50)

  const range = (from: number, count: number): number[] => Array.from({ length: count }, (_, i) => from + i)
  expect([...park].sort()).toEqual([
    ['one.busier', range(PER_ENDPOINT + 23, 67)],
    ['one.busy', range(PER_ENDPOINT + 22, 38)],
    ['two.alone', range(PER_ENDPOINT + 50, 20)],
  ])
})

describe('a queue whose tasks were removed', () => {
  const emptyQueue = (tenantId: string, endpoint: string): void => {
    const queue = queues.of({ tenantId, endpointId: `${tenantId}.${endpoint}` })
    queues.park(OWNER, (one) => (one === queue ? one.takeBeyond(0) : []))
  }

  test('while its tenant was at its limit does not block the queues behind it', () => {
    giveMany('one', 66, 8)
    emptyQueue('one', '64')

    endFirstOf('one')

    expect(begun.at(-1)).toMatchObject({ endpointId: 'one.65', number: 0 })
    expect(countOf('one')).toBe(IN_FLIGHT_MAX_OF_TENANT)
  })

  test('while it waited for capacity of the process does not block the queues behind it', () => {
    giveMany('one', 66, 8)
    for (const tenant of ['two', 'three', 'four']) giveMany(tenant, 64, 8)
    giveMany('late', 1, 1)
    endFirstOf('one')
    emptyQueue('one', '64')

    endFirstOf('late')

    expect(begun.at(-1)).toMatchObject({ endpointId: 'one.65', number: 0 })
    expect(countOf('one')).toBe(IN_FLIGHT_MAX_OF_TENANT)
  })
})

test('in any order of completion, no limit is exceeded and each endpoint gets all its deliveries in order', () => {
  const endpoints = 90
  const each = 25
  const tenants = ['one', 'two', 'three', 'four', 'five', 'six']
  for (const tenant of tenants) giveMany(tenant, endpoints, each)
  // A deterministic generator, so that a failure is reproducible.
  let state = 1
  const below = (limit: number): number => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0
    return Math.floor((state / 2 ** 32) * limit)
  }

  const most = new Map<string, number>()
  while (inFlight.size > 0) {
    expect(inFlight.size).toBeLessThanOrEqual(IN_FLIGHT_MAX)
    for (const tenant of tenants) most.set(tenant, Math.max(most.get(tenant) ?? 0, countOf(tenant)))
    const some = [...inFlight].filter(() => below(3) === 0)
    for (const attempt of some.length === 0 ? inFlight : some) attempt.end()
  }

  for (const tenant of tenants) expect(most.get(tenant)).toBeLessThanOrEqual(IN_FLIGHT_MAX_OF_TENANT)
  const ofEndpoint = new Map<string, Begun[]>()
  for (const one of begun) ofEndpoint.set(one.endpointId, [...(ofEndpoint.get(one.endpointId) ?? []), one])
  expect(ofEndpoint.size).toBe(tenants.length * endpoints)
  for (const tasks of ofEndpoint.values()) {
    expect(tasks.map(({ number }) => number)).toEqual(Array.from({ length: each }, (_, i) => i))
  }
})

test('an endpoint has one write of its health under way: a slow broker gets the newest one next', async () => {
  vi.useFakeTimers()
  onTestFinished(() => void vi.useRealTimers())
  const written: number[] = []
  let answer = (): void => undefined
  const slow = new EndpointQueues({
    inFlightPerEndpoint: PER_ENDPOINT,
    healthOf: () => NO_HEALTH,
    writeHealth: (_, { consecutive_failures: failures }) => {
      written.push(failures)
      return new Promise((resolve) => {
        answer = resolve
      })
    },
  })
  const queue = slow.of({ tenantId: 'one', endpointId: 'one.flaps' })
  for (let flaps = 0; flaps < 20; flaps++) {
    queue.succeeded(0)
    queue.failed({ reason: 'timeout', status: null }, 0)
    await vi.advanceTimersByTimeAsync(1_000)
  }
  queue.failed({ reason: 'timeout', status: null }, 0)
  expect(written).toEqual([1])

  answer()
  await vi.advanceTimersByTimeAsync(1_000)

  expect(written).toEqual([1, 2])
  answer()
  await slow.close()
})
