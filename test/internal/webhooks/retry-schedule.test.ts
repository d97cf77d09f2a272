import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  nextAttemptAt,
  parkedUntil,
  RETRY_MAXIMA_MS,
  RETRY_STOP_MS,
  retryAfterMs,
  unparkedAt,
  VERIFICATION_RULES,
} from '../../../internal/webhooks/retry-schedule.js'

const RULES = { maximaMs: RETRY_MAXIMA_MS, stopMs: RETRY_STOP_MS }
const START_MS = Date.parse('2026-11-21T09:30:00Z')
const HOUR_MS = 3_600_000

test('the waits are those of the design, and no attempt begins more than 24 hours after the first', () => {
  const text = RETRY_MAXIMA_MS.map((ms) =>
    ms < 60_000 ? `${ms / 1_000}s` : ms < HOUR_MS ? `${ms / 60_000}m` : `${ms / HOUR_MS}h`,
  )

  expect(text.join(' ')).toBe('10s 1m 5m 15m 30m 1h 2h 4h 4h 6h 6h 8h 8h')
  expect(RETRY_STOP_MS).toBe(24 * HOUR_MS)
})

test('a challenge is tried five times within ten minutes, however the dice fall', () => {
  let atMs = START_MS
  let attempts = 1
  for (let next: number | undefined = atMs; next !== undefined; attempts++) {
    atMs = next
    next = nextAttemptAt({ attempts, startedAtMs: START_MS }, VERIFICATION_RULES, atMs, 1)
  }

  expect(attempts - 1).toBe(5)
  expect(atMs - START_MS).toBeLessThan(10 * 60_000)
})

describe('the next attempt', () => {
  test('comes within the maximum of its turn, evenly spread', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 13 }), fc.double({ min: 0, max: 1, noNaN: true }), (attempts, random) => {
        const at = nextAttemptAt({ attempts, startedAtMs: START_MS }, RULES, START_MS, random)

        expect(at).toBe(START_MS + Math.round(random * (RETRY_MAXIMA_MS[attempts - 1] ?? 0)))
      }),
    )
  })

  test('is none after the last one, and none that would begin after the stop', () => {
    expect(nextAttemptAt({ attempts: 14, startedAtMs: START_MS }, RULES, START_MS, 0)).toBeUndefined()
    const late = START_MS + RETRY_STOP_MS - 1_000
    expect(nextAttemptAt({ attempts: 9, startedAtMs: START_MS }, RULES, late, 0)).toBe(late)
    expect(nextAttemptAt({ attempts: 9, startedAtMs: START_MS }, RULES, late, 0.5)).toBeUndefined()
  })

  test('waits as long as the receiver asks, up to an hour', () => {
    const askedFor = (askedMs: number) =>
      nextAttemptAt({ attempts: 1, startedAtMs: START_MS, retryAfterMs: askedMs }, RULES, START_MS, 0)

    expect(askedFor(90_000)).toBe(START_MS + 90_000)
    expect(askedFor(50 * HOUR_MS)).toBe(START_MS + HOUR_MS)
  })

  test('always ends: every chain of attempts is over by the stop', () => {
    fc.assert(
      fc.property(fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { minLength: 14, maxLength: 14 }), (dice) => {
        let atMs: number | undefined = START_MS
        let attempts = 0
        for (; atMs !== undefined && attempts < 100; attempts++) {
          expect(atMs).toBeLessThanOrEqual(START_MS + RETRY_STOP_MS)
          atMs = nextAttemptAt({ attempts: attempts + 1, startedAtMs: START_MS }, RULES, atMs, dice[attempts] ?? 0)
        }
        expect(attempts).toBeLessThanOrEqual(14)
      }),
    )
  })
})

test('what was put off comes back within minutes, less often each time', () => {
  expect([0, 1, 2, 3, 50].map((parks) => unparkedAt(parks, RULES, 0, 1))).toEqual([
    10_000, 60_000, 300_000, 300_000, 300_000,
  ])
  expect(unparkedAt(2, RULES, 0, 0)).toBe(150_000)
})

test('what was never tried is kept for three days', () => {
  expect(parkedUntil(START_MS, RULES)).toBe(START_MS + 72 * HOUR_MS)
})

test('Retry-After is seconds or a date, and anything else is nothing', () => {
  expect(retryAfterMs('120', START_MS)).toBe(120_000)
  expect(retryAfterMs(new Date(START_MS + 5_000).toUTCString(), START_MS)).toBe(5_000)
  expect(retryAfterMs(new Date(START_MS - 5_000).toUTCString(), START_MS)).toBe(0)
  expect([retryAfterMs(undefined, 0), retryAfterMs('soon', 0), retryAfterMs('-1', 0)].slice(0, 2)).toEqual([
    undefined,
    undefined,
  ])
})
