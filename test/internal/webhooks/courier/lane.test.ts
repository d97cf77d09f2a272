import { expect, test, vi } from 'vitest'
import {
  Lane,
  type LaneTask,
  TenantLanes,
  WAITED_MS_MAX_SLOW,
  WAITING_MAX_SLOW,
} from '../../../../internal/webhooks/courier/lane.js'
import { NO_HEALTH } from '../../../../internal/webhooks/health.js'

const OWNER = {}
const task = (): LaneTask => ({
  owner: OWNER,
  readAt: performance.now(),
  mayStart: () => true,
  run: () => undefined,
  putOff: () => undefined,
})
const laneWith = (count: number): Lane => {
  const lane = new Lane(8, NO_HEALTH, new TenantLanes('tnt_one'))
  for (let i = 0; i < count; i++) lane.add(task())
  return lane
}
const startAll = (lane: Lane): (() => void)[] => {
  const ends: (() => void)[] = []
  for (let next = lane.take(); next !== undefined; next = lane.take()) ends.push(next.end)
  return ends
}

test('an endpoint of which nothing is known gets two at a time, more with each success, and never more than eight', () => {
  const lane = laneWith(100)

  const atOnce = [startAll(lane).length]
  for (let i = 0; i < 10; i++) {
    lane.succeeded(0)
    atOnce.push(atOnce.at(-1) === undefined ? 0 : lane.inFlight + startAll(lane).length)
  }

  expect(atOnce[0]).toBe(2)
  expect(lane.inFlight).toBe(8)
})

test('one that fails gets one at a time, until it succeeds', () => {
  const lane = laneWith(100)
  for (let i = 0; i < 3; i++) lane.failed({ reason: 'timeout', status: null }, 0)

  expect(startAll(lane).length).toBe(1)
  lane.succeeded(0)
  expect(lane.inFlight + startAll(lane).length).toBe(3)
})

test('what waits for one that fails is bounded tightly, for one that answers not at all', () => {
  const healthy = laneWith(20_000)
  const failing = laneWith(100)
  for (let i = 0; i < 2; i++) failing.failed({ reason: 'status', status: 500 }, 0)

  expect(healthy.add(task())).toBe(true)
  expect(failing.excess()).toHaveLength(100 - WAITING_MAX_SLOW)
  expect(failing.add(task())).toBe(false)
  expect(healthy.excess()).toEqual([])
})

test('nothing waits for long for one that fails, however little it is', () => {
  vi.useFakeTimers({ toFake: ['performance'] })
  try {
    const lane = laneWith(2)
    for (let i = 0; i < 3; i++) lane.failed({ reason: 'timeout', status: null }, 0)
    const [end] = startAll(lane)
    vi.advanceTimersByTime(WAITED_MS_MAX_SLOW)
    const inTime = lane.excess()
    lane.add(task())
    vi.advanceTimersByTime(1)

    expect(inTime).toEqual([])
    expect(lane.excess()).toHaveLength(1)
    end?.()
    expect(startAll(lane)).toHaveLength(1)
  } finally {
    vi.useRealTimers()
  }
})

test('a task that may not start now holds back those behind it', () => {
  const lane = new Lane(8, NO_HEALTH, new TenantLanes('tnt_one'))
  let isSure = false
  lane.add({ ...task(), mayStart: () => isSure })
  lane.add(task())

  expect(lane.take()).toBeUndefined()
  isSure = true
  expect(startAll(lane)).toHaveLength(2)
})

test('its health is that of its last attempts, and a change of status is told until it is written', () => {
  const lane = laneWith(1)
  lane.failed({ reason: 'status', status: 503 }, 1_000)
  lane.failed({ reason: 'timeout', status: null }, 2_000)
  const failing = lane.health
  lane.succeeded(3_000)
  lane.succeeded(4_000)

  expect(failing).toMatchObject({ consecutive_failures: 2, last_success_at: null })
  expect(lane.health).toEqual({
    consecutive_failures: 0,
    last_success_at: '1970-01-01T00:00:04.000Z',
    last_failure_at: '1970-01-01T00:00:02.000Z',
    last_failure: { reason: 'timeout', response_status: null },
  })
  expect(lane.unwritten).toBe('status')
  lane.unwritten = 'nothing'
  lane.succeeded(5_000)
  expect(lane.unwritten).toBe('detail')
})
