import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  Budget,
  budgetsCache,
  type RateLimitSettings,
  rateLimitOverrides,
  rateLimitsOf,
} from '../../../internal/auth/rate-limits.js'

const START_MS = 1_000_000

describe('a budget of requests', () => {
  test('allows its burst at once, then its rate', () => {
    const budget = new Budget({ perSecond: 10, burst: 5 })

    const atOnce = Array.from({ length: 6 }, () => budget.take(1, START_MS))

    expect(atOnce.slice(0, 5)).toEqual([0, 0, 0, 0, 0])
    expect(atOnce[5]).toBeCloseTo(100)
    expect(budget.take(1, START_MS + 99)).toBeGreaterThan(0)
    expect(budget.take(1, START_MS + 100)).toBe(0)
    expect(budget.take(1, START_MS + 100)).toBeGreaterThan(0)
  })

  test('takes a cost in full or not at all', () => {
    const budget = new Budget({ perSecond: 10, burst: 5 })
    budget.take(3, START_MS)

    expect(budget.take(3, START_MS)).toBeCloseTo(100)
    expect(budget.remaining(START_MS)).toBe(2)
    expect(budget.take(2, START_MS)).toBe(0)
  })

  test('lets a cost above its burst become a debt, during which nothing is taken', () => {
    const budget = new Budget({ perSecond: 2_000, burst: 4_000 })

    expect(budget.takeOrOwe(8_192, START_MS)).toBe(0)
    expect(budget.takeOrOwe(1, START_MS)).toBeCloseTo(2_096)
    expect(budget.take(1, START_MS + 2_096)).toBeGreaterThan(0)
    expect(budget.takeOrOwe(8_192, START_MS + 2_097)).toBe(0)
  })

  test('returns Infinity for a cost above its burst', () => {
    const budget = new Budget({ perSecond: 10, burst: 5 })

    expect(budget.take(5, START_MS)).toBe(0)
    expect(budget.take(6, START_MS + 60_000)).toBe(Number.POSITIVE_INFINITY)
  })

  test('allows over any period at most its burst plus its rate, and never less than it reports', () => {
    const step = fc.record({ waitMs: fc.integer({ min: 0, max: 500 }), cost: fc.integer({ min: 1, max: 8 }) })
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
        const budget = new Budget({ perSecond: 20, burst: 10 })
        let now = START_MS
        let granted = 0
        for (const { waitMs, cost } of steps) {
          now += waitMs
          const remaining = budget.remaining(now)
          const isTaken = budget.take(cost, now) === 0
          if (isTaken) granted += cost
          expect(isTaken).toBe(cost <= remaining)
        }
        expect(granted).toBeLessThanOrEqual(10 + ((now - START_MS) * 20) / 1_000 + 1e-6)
      }),
    )
  })

  test('reports limit, remaining requests and reset in whole numbers', () => {
    const budget = new Budget({ perSecond: 10, burst: 50 })
    budget.take(11, START_MS)

    expect(budget.headerLines(START_MS)).toBe(
      '\r\nRateLimit-Limit: 50\r\nRateLimit-Remaining: 39\r\nRateLimit-Reset: 1',
    )
    expect(budget.headerLines(START_MS + 1_100)).toContain('RateLimit-Reset: 0')
  })

  test('allows one more request after the reported reset, and not a second earlier', () => {
    const used = fc.record({
      perSecond: fc.constantFrom(0.01, 0.3, 1, 10, 20_000),
      burst: fc.integer({ min: 1, max: 100 }),
      cost: fc.integer({ min: 1, max: 100 }),
      afterMs: fc.integer({ min: 0, max: 300_000 }),
    })
    fc.assert(
      fc.property(used, ({ perSecond, burst, cost, afterMs }) => {
        const budget = new Budget({ perSecond, burst })
        budget.charge(cost, START_MS)
        const now = START_MS + afterMs
        const [remaining, resetSeconds] = [budget.remaining(now), budget.resetSeconds(now)]

        expect(resetSeconds === 0).toBe(remaining === burst)
        if (remaining === burst) return
        expect(budget.remaining(now + resetSeconds * 1_000)).toBeGreaterThan(remaining)
        expect(budget.remaining(now + (resetSeconds - 1) * 1_000)).toBe(remaining)
      }),
    )
  })
})

describe('a budget that other gateways share', () => {
  test('is in debt after their use beyond the burst, and allows nothing before the debt is repaid', () => {
    const budget = new Budget({ perSecond: 10, burst: 5 })
    budget.take(5, START_MS)
    budget.charge(10, START_MS)

    expect(budget.remaining(START_MS)).toBe(0)
    expect(budget.take(1, START_MS)).toBeCloseTo(1_100)
    expect(budget.take(1, START_MS + 1_100)).toBe(0)
  })

  test('is charged from the current time when it has refilled, not from the time when it refilled', () => {
    const budget = new Budget({ perSecond: 10, burst: 5 })
    budget.charge(2, START_MS + 60_000)

    expect(budget.remaining(START_MS + 60_000)).toBe(3)
  })

  test('adopts the usage of another gateway, unless its own is higher', () => {
    const budget = new Budget({ perSecond: 10, burst: 5 })
    budget.raise(3, START_MS)
    budget.raise(2, START_MS)

    expect(budget.used(START_MS)).toBeCloseTo(3)
    expect(budget.remaining(START_MS)).toBe(2)
  })

  test('reports usage only while it is shared', () => {
    const told: number[] = []
    const sharing = { isShared: false, onTaken: (_: Budget, cost: number) => void told.push(cost) }
    const budget = new Budget({ perSecond: 10, burst: 5 }, sharing)
    budget.take(1, START_MS)
    sharing.isShared = true
    budget.take(2, START_MS)
    budget.take(5, START_MS)

    expect(told).toEqual([2])
  })
})

describe('a tenant’s own limits', () => {
  const LIMITS = rateLimitsOf({ ingest: 10, read: 10, report: 10, control: 10, token: 10 })

  test('apply to its own principals only, with the default burst unless it has one', () => {
    const settings = new Map<string, RateLimitSettings>([
      ['tnt_a', { read: { per_second: 2 }, report: { per_second: 1, burst: 3 } }],
    ])
    const budgetsOf = budgetsCache(LIMITS, { overridesOf: (tenantId) => rateLimitOverrides(settings.get(tenantId)) })
    const limits = (tenantId: string) => {
      const { read, report, control } = budgetsOf(tenantId, 'key_1')
      return [read, report, control].map(({ perSecond, limit }) => [perSecond, limit])
    }

    expect(limits('tnt_a')).toEqual([
      [2, 8],
      [1, 3],
      [10, 50],
    ])
    expect(limits('tnt_b')).toEqual([
      [10, 40],
      [10, 50],
      [10, 50],
    ])
  })

  test('apply to budgets in use, which keep their usage', () => {
    let settings: RateLimitSettings = {}
    const budgetsOf = budgetsCache(LIMITS, { overridesOf: () => rateLimitOverrides(settings) })
    const { read } = budgetsOf('tnt_a', 'key_1')
    const other = budgetsOf('tnt_b', 'key_1').read
    read.take(30, START_MS)
    expect(read.headerLines(START_MS)).toContain('RateLimit-Limit: 40')
    settings = { read: { per_second: 100, burst: 100 } }
    budgetsOf.retune('tnt_a', START_MS)

    expect([read.limit, read.remaining(START_MS), read.remaining(START_MS + 100)]).toEqual([100, 70, 80])
    expect(read.headerLines(START_MS)).toContain('RateLimit-Limit: 100\r\nRateLimit-Remaining: 70')
    expect(other.limit).toBe(40)
    settings = {}
    budgetsOf.retune('tnt_a', START_MS + 100)
    expect([read.limit, read.remaining(START_MS + 100)]).toEqual([40, 20])
  })
})

test('each principal has its own, lasting budget for each class', () => {
  const budgetsOf = budgetsCache(rateLimitsOf({ ingest: 1, read: 1, report: 1, control: 1, token: 1 }))

  budgetsOf('tnt_a', 'key_1').read.take(4, START_MS)

  expect(budgetsOf('tnt_a', 'key_1').read.remaining(START_MS)).toBe(0)
  expect(budgetsOf('tnt_a', 'key_1').report.remaining(START_MS)).toBe(5)
  expect(budgetsOf('tnt_a', 'key_2').read.remaining(START_MS)).toBe(4)
  expect(budgetsOf('tnt_b', 'key_1').read.remaining(START_MS)).toBe(4)
})
