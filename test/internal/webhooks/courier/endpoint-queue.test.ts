import { expect, test, vi } from 'vitest'
import {
  type AttemptTask,
  EndpointQueue,
  TenantQueues,
  WAITED_MS_MAX_SLOW,
  WAITING_MAX_SLOW,
} from '../../../../internal/webhooks/courier/endpoint-queue.js'
import { NO_HEALTH } from '../../../../internal/webhooks/endpoint-health.js'

const OWNER = {}
const task = (): AttemptTask => ({
  owner: OWNER,
  readAt: performance.now(),
  mayStart: () => true,
  run: () => undefined,
  park: () => undefined,
})
const queueWith = (count: number): EndpointQueue => {
  const queue = new EndpointQueue(8, NO_HEALTH, new TenantQueues('tnt_one'))
  for (let i = 0; i < count; i++) queue.add(task())
  return queue
}
const startAll = (queue: EndpointQueue): (() => void)[] => {
  const ends: (() => void)[] = []
  for (let next = queue.take(); next !== undefined; next = queue.take()) ends.push(next.end)
  return ends
}

test('an endpoint without known health gets two attempts at a time, more with each success, up to eight', () => {
  const queue = queueWith(100)

  const atOnce = [startAll(queue).length]
  for (let i = 0; i < 10; i++) {
    queue.succeeded(0)
    atOnce.push(atOnce.at(-1) === undefined ? 0 : queue.inFlight + startAll(queue).length)
  }

  expect(atOnce[0]).toBe(2)
  expect(queue.inFlight).toBe(8)
})

test('a failing endpoint gets one attempt at a time until it succeeds', () => {
  const queue = queueWith(100)
  for (let i = 0; i < 3; i++) queue.failed({ reason: 'timeout', status: null }, 0)

  expect(startAll(queue).length).toBe(1)
  queue.succeeded(0)
  expect(queue.inFlight + startAll(queue).length).toBe(3)
})

test('the queue of a failing endpoint is short, and that of an endpoint that answers is unlimited', () => {
  const healthy = queueWith(20_000)
  const failing = queueWith(100)
  for (let i = 0; i < 2; i++) failing.failed({ reason: 'status', status: 500 }, 0)

  expect(healthy.add(task())).toBe(true)
  expect(failing.excess()).toHaveLength(100 - WAITING_MAX_SLOW)
  expect(failing.add(task())).toBe(false)
  expect(healthy.excess()).toEqual([])
})

test('no attempt waits long in the queue of a failing endpoint, even a short one', () => {
  vi.useFakeTimers({ toFake: ['performance'] })
  try {
    const queue = queueWith(2)
    for (let i = 0; i < 3; i++) queue.failed({ reason: 'timeout', status: null }, 0)
    const [end] = startAll(queue)
    vi.advanceTimersByTime(WAITED_MS_MAX_SLOW)
    const inTime = queue.excess()
    queue.add(task())
    vi.advanceTimersByTime(1)

    expect(inTime).toEqual([])
    expect(queue.excess()).toHaveLength(1)
    end?.()
    expect(startAll(queue)).toHaveLength(1)
  } finally {
    vi.useRealTimers()
  }
})

test('a task that may not start yet blocks those behind it', () => {
  const queue = new EndpointQueue(8, NO_HEALTH, new TenantQueues('tnt_one'))
  let isSure = false
  queue.add({ ...task(), mayStart: () => isSure })
  queue.add(task())

  expect(queue.take()).toBeUndefined()
  isSure = true
  expect(startAll(queue)).toHaveLength(2)
})

test('an endpoint’s health reflects its latest attempts; a change of status stays marked until it is written', () => {
  const queue = queueWith(1)
  queue.failed({ reason: 'status', status: 503 }, 1_000)
  queue.failed({ reason: 'timeout', status: null }, 2_000)
  const failing = queue.health
  queue.succeeded(3_000)
  queue.succeeded(4_000)

  expect(failing).toMatchObject({ consecutive_failures: 2, last_success_at: null })
  expect(queue.health).toEqual({
    consecutive_failures: 0,
    last_success_at: '1970-01-01T00:00:04.000Z',
    last_failure_at: '1970-01-01T00:00:02.000Z',
    last_failure: { reason: 'timeout', response_status: null },
  })
  expect(queue.unwritten).toBe('status')
  queue.unwritten = 'nothing'
  queue.succeeded(5_000)
  expect(queue.unwritten).toBe('detail')
})
