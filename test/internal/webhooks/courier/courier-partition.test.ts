import type { KV } from '@nats-io/kv'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { StoredEntry } from '../../../../internal/broker/log.js'
import { createLog } from '../../../../internal/telemetry/log.js'
import { Partition, type PartitionDeps } from '../../../../internal/webhooks/courier/courier-partition.js'
import { EndpointQueues } from '../../../../internal/webhooks/courier/endpoint-queues.js'
import type { Outcome } from '../../../../internal/webhooks/courier/outcomes.js'
import { DeliveryWindow, type WindowProgress } from '../../../../internal/webhooks/courier/window.js'
import { type Delivery, newDelivery } from '../../../../internal/webhooks/delivery.js'
import { encodeGroup } from '../../../../internal/webhooks/delivery-group.js'
import { NO_HEALTH } from '../../../../internal/webhooks/endpoint-health.js'
import { DELIVERIES, deliveriesCheckpoint } from '../../../../streams/deliveries.js'

const PARTITION = 0

let stop: () => Promise<void> = async () => undefined
afterEach(() => stop())

const deliveryTo = (endpointId: string, sequence: number, tenantId = 'tnt_one'): Delivery =>
  newDelivery({
    id: `dlv_${endpointId}_${sequence}`,
    tenantId,
    endpointId,
    eventId: `evt_${sequence}`,
    type: 'apikey.rotated',
    sequence,
    isReplayed: false,
    body: Buffer.from('{}'),
  })

const acknowledged = (delivery: Delivery): Outcome => ({
  kind: 'acknowledged',
  record: {
    delivery,
    attempt: 1,
    attemptedAtMs: 0,
    latencyMs: 1,
    status: 200,
    outcome: 'acknowledged',
    reason: null,
    nextAttemptAtMs: null,
  },
})

interface Given {
  readonly messages: readonly (readonly Delivery[])[]
  readonly deliver: PartitionDeps['deliver']
  /** Endpoints with a failing health record. */
  readonly failing?: readonly string[]
  readonly inFlightPerEndpoint?: number
}

interface Started {
  readonly park: readonly Delivery[]
  /** Resolves once exactly these deliveries are unsettled in the checkpoint. */
  unsettled(ids: readonly string[]): Promise<void>
  /** Appends a message, and wakes the reader. */
  append(group: readonly Delivery[]): void
  /** Writes of the checkpoint by which the owner confirms its ownership. */
  readonly writes: () => number
}

/** A partition whose log has these messages, with an in-memory broker. */
function start({ messages, deliver, failing = [], inFlightPerEndpoint = 8 }: Given): Started {
  const entryOf = (group: readonly Delivery[], i: number): StoredEntry => ({
    sequence: i + 1,
    subject: '',
    messageId: '',
    storedAt: '',
    data: encodeGroup(group),
  })
  const entries = messages.map(entryOf)
  const waiting = new Set<() => void>()
  let wakeups = 0
  let writes = 0
  const checkpoints = new Map<string, string>()
  const checks = new Set<() => void>()
  const park: Delivery[] = []
  let revision = 0
  const queues = new EndpointQueues({
    inFlightPerEndpoint,
    healthOf: (id) => (failing.includes(id) ? { ...NO_HEALTH, consecutive_failures: 3 } : undefined),
    writeHealth: async () => undefined,
  })
  const kept = {
    get: async () => null,
    create: async (key: string, text: string) => {
      checkpoints.set(key, text)
      return ++revision
    },
  }
  const partition = new Partition(PARTITION, {
    self: 'one',
    checkpoints: kept as unknown as KV,
    updateCheckpoint: async (key, text) => {
      checkpoints.set(key, text)
      if (key === deliveriesCheckpoint(PARTITION)) writes++
      for (const check of checks) check()
      return ++revision
    },
    readLog: async ({ stream, from, messagesMax }) =>
      stream === DELIVERIES.name ? entries.slice(from - 1, from - 1 + messagesMax) : [],
    isOwner: () => true,
    liveMembers: () => ['one'],
    wakeups: {
      count: () => wakeups,
      wait: (_, seen, signal) =>
        new Promise((resolve) => {
          if (wakeups !== seen) return resolve()
          waiting.add(resolve)
          signal.addEventListener('abort', () => resolve())
        }),
    },
    queues,
    deliver,
    park: (delivery) => {
      park.push(delivery)
      return { kind: 'again', delivery, atMs: 0 }
    },
    publish: async () => ({ kind: 'stored', sequence: 1, duplicate: false }),
    publishTogether: async () => ({ kind: 'stored', sequence: 1, duplicate: false }),
    logAttempts: async () => undefined,
    log: createLog('courier', 'silent'),
  })
  const stopping = new AbortController()
  const running = partition.run(stopping.signal)
  stop = async () => {
    stopping.abort()
    await running
    await queues.close()
  }
  const leftOf = (progress: WindowProgress): string[] => {
    const window = new DeliveryWindow(progress)
    return messages.slice(window.next - 1).flatMap((group, i) => {
      const first = window.read(progress.done + i + 1, group.length)
      return group.filter((_, at) => !window.isSettled(first + at)).map(({ id }) => id)
    })
  }
  return {
    park,
    append(group) {
      entries.push(entryOf(group, entries.length))
      wakeups++
      for (const wake of waiting) wake()
    },
    writes: () => writes,
    unsettled: (ids) =>
      new Promise((resolve) => {
        const check = (): void => {
          const text = checkpoints.get(deliveriesCheckpoint(PARTITION))
          if (text === undefined || leftOf(JSON.parse(text)).join() !== ids.join()) return
          checks.delete(check)
          resolve()
        }
        checks.add(check)
        check()
      }),
  }
}

test('while an endpoint hangs, the others of its partition get deliveries; one of its own is in flight', async () => {
  const toHanging = Array.from({ length: 30 }, (_, i) => deliveryTo('whk_hanging', i + 1))
  const toOthers = Array.from({ length: 300 }, (_, i) =>
    Array.from({ length: 100 }, (_, at) => deliveryTo(`whk_${at}`, 100 + i)),
  )
  const arrived = new Set<string>()
  const hanging: (() => void)[] = []
  const { park, unsettled } = start({
    messages: [toHanging, ...toOthers],
    failing: ['whk_hanging'],
    deliver(delivery, made) {
      if (delivery.endpointId === 'whk_hanging') {
        hanging.push(() => made(acknowledged(delivery)))
        return
      }
      arrived.add(delivery.id)
      queueMicrotask(() => made(acknowledged(delivery)))
    },
  })

  await unsettled([toHanging[0]?.id ?? ''])
  const inFlight = hanging.length
  for (const answer of hanging) answer()

  expect(arrived.size).toBe(30_000)
  expect(inFlight).toBe(1)
  expect(park.map(({ id }) => id).sort()).toEqual(
    toHanging
      .slice(1)
      .map(({ id }) => id)
      .sort(),
  )
})

test('an owner without deliveries writes nothing, and proves its ownership again before the next attempt', async () => {
  vi.useFakeTimers({ toFake: ['performance'] })
  let onDelivered = (): void => undefined
  const delivered = () =>
    new Promise<void>((resolve) => {
      onDelivered = resolve
    })
  const writesAtAttempts: number[] = []
  const first = delivered()
  const { append, writes, unsettled } = start({
    messages: [[deliveryTo('whk_one', 1)]],
    deliver(delivery, made) {
      writesAtAttempts.push(writes())
      queueMicrotask(() => made(acknowledged(delivery)))
      onDelivered()
    },
  })
  await first
  await unsettled([])
  const settled = writes()
  await new Promise(setImmediate)

  // Longer than an owner may go without confirmation; it looks once per second whether it has to leave.
  vi.advanceTimersByTime(3_000)
  const second = delivered()
  await new Promise((resolve) => setTimeout(resolve, 1_100))
  const whileIdle = writes()
  append([deliveryTo('whk_one', 2)])
  await second
  await unsettled([])
  vi.useRealTimers()

  expect(whileIdle).toBe(settled)
  expect(writesAtAttempts[1]).toBe(settled + 1)
})

describe('an endpoint that answers', () => {
  // Durations depend on the test and not on the machine.
  beforeEach(() => void vi.useFakeTimers({ toFake: ['performance'] }))
  afterEach(() => void vi.useRealTimers())

  const messages = Array.from({ length: 200 }, (_, i) =>
    Array.from({ length: 100 }, (_, at) => deliveryTo('whk_busy', 100 * i + at)),
  )
  const all = messages.flat().map(({ sequence }) => sequence)
  const sequencesTo = (id: string, some: readonly Delivery[]): number[] =>
    some.filter(({ endpointId }) => endpointId === id).map(({ sequence }) => sequence)
  const ascending = (sequences: readonly number[]): number[] => [...sequences].sort((one, next) => one - next)

  test('gets all deliveries in order, however many wait', async () => {
    const arrived: number[] = []
    const { park, unsettled } = start({
      messages,
      inFlightPerEndpoint: 1,
      deliver(delivery, made) {
        arrived.push(delivery.sequence)
        setImmediate(() => made(acknowledged(delivery)))
      },
    })

    await unsettled([])

    expect(park).toEqual([])
    expect(arrived).toEqual(all)
  })

  test('but has stalled others for long has its newest deliveries parked, and the others get theirs', async () => {
    const arrived: Delivery[] = []
    const { park, unsettled } = start({
      messages: [...messages, [deliveryTo('whk_other', 20_000)]],
      inFlightPerEndpoint: 1,
      deliver(delivery, made) {
        arrived.push(delivery)
        vi.advanceTimersByTime(5)
        setImmediate(() => made(acknowledged(delivery)))
      },
    })

    await unsettled([])

    const other = arrived.findIndex(({ endpointId }) => endpointId === 'whk_other')
    const busy = sequencesTo('whk_busy', arrived)
    expect(busy).toEqual(ascending(busy))
    expect(other).toBeLessThan(arrived.length - 1)
    expect(new Set(park.map(({ endpointId }) => endpointId))).toEqual(new Set(['whk_busy']))
    expect(ascending([...busy, ...park.map(({ sequence }) => sequence)])).toEqual(all)
  })

  test('shares the parking with its tenant’s other endpoints when they stall other tenants together', async () => {
    const endpoints = ['whk_a', 'whk_b', 'whk_c']
    const ofEvents = Array.from({ length: 3_000 }, (_, i) => endpoints.map((id) => deliveryTo(id, i)))
    const arrived: Delivery[] = []
    const { park, unsettled } = start({
      messages: [...ofEvents, [deliveryTo('whk_other', 3_000, 'tnt_two')]],
      inFlightPerEndpoint: 1,
      deliver(delivery, made) {
        arrived.push(delivery)
        vi.advanceTimersByTime(50)
        setImmediate(() => made(acknowledged(delivery)))
      },
    })

    await unsettled([])

    // Its delivery is read after 1,000 others are settled at the latest, since up to 8,000 may be unsettled.
    expect(arrived.findIndex(({ tenantId }) => tenantId === 'tnt_two')).toBeLessThan(500)
    for (const id of endpoints) {
      const [got, later] = [sequencesTo(id, arrived), sequencesTo(id, park)]
      expect(got).toEqual(ascending(got))
      expect(got.length).toBeGreaterThan(1_000)
      expect(ascending([...got, ...later])).toEqual(Array.from({ length: 3_000 }, (_, i) => i))
    }
    expect(park.some(({ tenantId }) => tenantId === 'tnt_two')).toBe(false)
  })
})
