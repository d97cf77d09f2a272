import { expect, test } from 'vitest'
import { Lane } from '../../../../internal/ingest/admission/lane.js'

const LANE = 2
const STEP_MS = 200

/** A lane on a clock of its own. Each `step` lets tenants send some bytes each and moves the clock by 0.2 s. */
function laneOfTwo() {
  const lag = [0, 0, 0]
  let nowMs = 0
  let done = 0
  const lines: unknown[] = []
  const log = { warn: (fields: unknown) => lines.push(fields), info: (fields: unknown) => lines.push(fields) }
  const lane = new Lane({
    lane: LANE,
    lagMs: (partition) => lag[partition] ?? 0,
    progress: () => done,
    isCostly: (tenantId) => tenantId === 'costly',
    clock: () => nowMs,
    log: log as never,
  })
  const step = (steps: number, sent: Readonly<Record<string, number>>, isRead = true): void => {
    for (let i = 0; i < steps; i++) {
      nowMs += STEP_MS
      if (isRead) done++
      for (const [tenantId, bytes] of Object.entries(sent)) {
        lane.partitionFor(tenantId, 0)
        lane.count(tenantId, bytes)
      }
    }
  }
  const isIn = (tenantId: string): boolean => lane.partitionFor(tenantId, 1) === LANE
  return { lag, step, isIn, lines }
}

const FLOOD = { flood: 1_000_000, steady: 2_000, small: 1_000 }

test('a tenant whose events cost much has the lane at all times', () => {
  const { step, isIn } = laneOfTwo()
  step(1, FLOOD)
  expect(['costly', 'flood'].map(isIn)).toEqual([true, false])
})

test('while events wait, the tenant that sends most gets the lane, the others keep their partitions', () => {
  const { lag, step, isIn, lines } = laneOfTwo()
  step(20, FLOOD)
  expect(isIn('flood')).toBe(false)

  lag[1] = 2_500
  step(5, FLOOD)
  expect(isIn('flood')).toBe(false) // a second of lag may be the end of a restart
  step(10, FLOOD)

  expect(['flood', 'steady', 'small', 'new'].map(isIn)).toEqual([true, false, false, false])
  expect(lines).toEqual([expect.objectContaining({ tenants: ['flood'], lane: LANE })])
})

test('a second tenant gets the lane, too, if it floods the rest once the backlog of the first is gone', () => {
  const { lag, step, isIn } = laneOfTwo()
  lag[0] = 3_000
  step(15, FLOOD)
  for (let i = 0; i < 40; i++) {
    // Still the backlog from before the lane was opened.
    lag[0] = (lag[0] ?? 0) + STEP_MS
    step(1, { flood: 1_000_000, steady: 2_000, small: 1_000 })
  }
  expect(['flood', 'steady', 'small'].map(isIn)).toEqual([true, false, false])

  lag[0] = 2_500
  step(15, { flood: 1_000_000, second: 500_000, steady: 2_000 })
  expect(['flood', 'second', 'steady'].map(isIn)).toEqual([true, true, false])
})

test('the lane is given up when it has had no backlog for five seconds', () => {
  const { lag, step, isIn } = laneOfTwo()
  lag[0] = 3_000
  step(15, FLOOD)
  lag[0] = 0
  lag[LANE] = 9_000
  step(50, FLOOD)
  expect(isIn('flood')).toBe(true)

  lag[LANE] = 300
  step(24, { flood: 5_000, steady: 2_000 })
  expect(isIn('flood')).toBe(true)
  step(3, { flood: 5_000, steady: 2_000 })
  expect(isIn('flood')).toBe(false)
})

test('nobody gets the lane while nobody reads the log, who is alone, or when all send equally much', () => {
  const unread = laneOfTwo()
  unread.lag[0] = 60_000
  unread.step(100, FLOOD, false)
  const alone = laneOfTwo()
  alone.lag[0] = 60_000
  alone.step(100, { flood: 1_000_000 })
  const equal = laneOfTwo()
  equal.lag[0] = 60_000
  equal.step(100, { flood: 50_000, other: 50_000, third: 50_000 })

  expect([unread, alone, equal].map(({ isIn }) => isIn('flood'))).toEqual([false, false, false])
})
