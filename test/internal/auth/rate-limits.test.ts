import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { Budget, budgetsCache, rateLimitsOf } from '../../../internal/auth/rate-limits.js'

const START_MS = 1_000_000

describe('a budget', () => {
  test('gives its burst at once, then what its rate brings', () => {
    const budget = new Budget({ perSecond: 10, burst: 5 })

    const atOnce = Array.from({ length: 6 }, () => budget.take(1, START_MS))

    expect(atOnce.slice(0, 5)).toEqual([0, 0, 0, 0, 0])
    expect(atOnce[5]).toBeCloseTo(100)
    expect(budget.take(1, START_MS + 99)).toBeGreaterThan(0)
    expect(budget.take(1, START_MS + 100)).toBe(0)
    expect(budget.take(1, START_MS + 100)).toBeGreaterThan(0)
  })

  test('takes a cost whole or not at all', () => {
    const budget = new Budget({ perSecond: 10, burst: 5 })
    budget.take(3, START_MS)

    expect(budget.take(3, START_MS)).toBeCloseTo(100)
    expect(budget.remaining(START_MS)).toBe(2)
    expect(budget.take(2, START_MS)).toBe(0)
  })

  test('says never to what is more than its burst', () => {
    const budget = new Budget({ perSecond: 10, burst: 5 })

    expect(budget.take(5, START_MS)).toBe(0)
    expect(budget.take(6, START_MS + 60_000)).toBe(Number.POSITIVE_INFINITY)
  })

  test('over any stretch of time grants at most its burst and what its rate brings, and never less than it says', () => {
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

  test('shows its limit, what remains and when it is whole, in whole numbers', () => {
    const budget = new Budget({ perSecond: 10, burst: 50 })
    budget.take(11, START_MS)

    expect(budget.headerLines(START_MS)).toBe(
      '\r\nRateLimit-Limit: 50\r\nRateLimit-Remaining: 39\r\nRateLimit-Reset: 2',
    )
    expect(budget.headerLines(START_MS + 1_100)).toContain('RateLimit-Reset: 0')
  })
})

test('each principal and each class has a budget of its own, and keeps it', () => {
  const budgetsOf = budgetsCache(rateLimitsOf({ ingest: 1, read: 1, report: 1, control: 1, token: 1 }))

  budgetsOf('tnt_a', 'key_1').read.take(4, START_MS)

  expect(budgetsOf('tnt_a', 'key_1').read.remaining(START_MS)).toBe(0)
  expect(budgetsOf('tnt_a', 'key_1').report.remaining(START_MS)).toBe(5)
  expect(budgetsOf('tnt_a', 'key_2').read.remaining(START_MS)).toBe(4)
  expect(budgetsOf('tnt_b', 'key_1').read.remaining(START_MS)).toBe(4)
})
