import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { RETRY_MAXIMA_MS, RETRY_STOP_MS } from '../../../internal/config/webhook-retries.js'
import {
  nextAttemptAt,
  nextUnparkAt,
  parkedUntil,
  retryAfterMs,
  VERIFICATION_RULES,
} from '../../../internal/webhooks/retry-schedule.js'

const RULES = { maximaMs: RETRY_MAXIMA_MS, stopMs: RETRY_STOP_MS }
const START_MS = Date.parse('2026-11-21T09:30:00Z')
const HOUR_MS = 3_600_000

test('the longest retry wait comes four times, and no attempt starts more than 24 hours after the first', () => {
  const text = RETRY_MAXIMA_MS.map((ms) =>
    ms < 60_000 ? `${ms / 1_000}s` : ms < HOUR_MS ? `${ms / 60_000}m` : `${ms / HOUR_MS}h`,
  )

  expect(text.join(' ')).toBe('10s 1m 5m 15m 30m 1h 2h 4h 4h 6h 6h 8h 8h 8h 8h 8h 8h')
  expect(RETRY_STOP_MS).toBe(24 * HOUR_MS)
})

test('a challenge is sent five times within ten minutes, whatever the jitter', () => {
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
  test('comes within the maximum of its retry, uniformly distributed', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: RETRY_MAXIMA_MS.length }),
        fc.double({ min: 0, max: 1, noNaN: true }),
        (attempts, random) => {
          const at = nextAttemptAt({ attempts, startedAtMs: START_MS }, RULES, START_MS, random)

          expect(at).toBe(START_MS + Math.round(random * (RETRY_MAXIMA_MS[attempts - 1] ?? 0)))
        },
      ),
    )
  })

  test('does not follow the last retry', () => {
    const attempts = RETRY_MAXIMA_MS.length + 1

    expect(nextAttemptAt({ attempts, startedAtMs: START_MS }, RULES, START_MS, 0)).toBeUndefined()
  })

  test('comes a minute before the end of the retry period at the latest, and none follows', () => {
    const lastMs = START_MS + RETRY_STOP_MS - 60_000
    const nextAt = (nowMs: number, retryAfterMs = 0) =>
      nextAttemptAt({ attempts: 9, startedAtMs: START_MS, retryAfterMs }, RULES, nowMs, 0.5)

    expect(nextAt(lastMs - HOUR_MS)).toBe(lastMs)
    expect(nextAt(lastMs - 1_000, HOUR_MS)).toBe(lastMs)
    expect(nextAt(lastMs)).toBeUndefined()
    expect(nextAt(lastMs + 60_000)).toBeUndefined()
  })

  test('comes a twentieth of a short retry period before its end', () => {
    const rules = { maximaMs: [60_000, 60_000], stopMs: 8_000 }

    expect(nextAttemptAt({ attempts: 1, startedAtMs: START_MS }, rules, START_MS, 1)).toBe(START_MS + 7_600)
  })

  test('honours Retry-After up to an hour', () => {
    const askedFor = (askedMs: number) =>
      nextAttemptAt({ attempts: 1, startedAtMs: START_MS, retryAfterMs: askedMs }, RULES, START_MS, 0)

    expect(askedFor(90_000)).toBe(START_MS + 90_000)
    expect(askedFor(50 * HOUR_MS)).toBe(START_MS + HOUR_MS)
  })

  test('always ends: every chain of attempts ends within the retry period', () => {
    fc.assert(
      fc.property(fc.array(fc.double({ min: 0, max: 1, noNaN: true })), (dice) => {
        const chain = attemptsAt((i) => dice[i] ?? 0)

        expect(chain.at(-1)).toBeLessThan(RETRY_STOP_MS)
        expect(chain.length).toBeLessThanOrEqual(RETRY_MAXIMA_MS.length + 1)
      }),
    )
  })

  test('continues for about a day: nineteen of twenty chains use the whole retry period', () => {
    // A deterministic random source.
    let seed = 1
    const die = () => {
      seed = (seed * 48_271) % 2_147_483_647
      return seed / 2_147_483_647
    }
    const ends = Array.from({ length: 4_000 }, () => attemptsAt(die).at(-1) ?? 0)

    const early = ends.filter((ms) => ms < 23.9 * HOUR_MS)
    expect(early.length).toBeLessThan(ends.length / 20)
    expect(early.filter((ms) => ms < 20 * HOUR_MS).length).toBeLessThan(ends.length / 100)
  })
})

/** The attempts at a receiver that never responds, in milliseconds after the first. */
function attemptsAt(die: (attempt: number) => number): number[] {
  const chain: number[] = []
  for (let at: number | undefined = START_MS; at !== undefined && chain.length < 100; ) {
    chain.push(at - START_MS)
    at = nextAttemptAt({ attempts: chain.length, startedAtMs: START_MS }, RULES, at, die(chain.length - 1))
  }
  return chain
}

test('a parked delivery is due again within minutes, at growing intervals', () => {
  expect([0, 1, 2, 3, 50].map((parks) => nextUnparkAt(parks, RULES, 0, 1))).toEqual([
    10_000, 60_000, 300_000, 300_000, 300_000,
  ])
  expect(nextUnparkAt(2, RULES, 0, 0)).toBe(150_000)
})

test('a parked delivery without attempts is kept for three days', () => {
  expect(parkedUntil(START_MS, RULES)).toBe(START_MS + 72 * HOUR_MS)
})

test('Retry-After is seconds or a date, and anything else is ignored', () => {
  expect(retryAfterMs('120', START_MS)).toBe(120_000)
  expect(retryAfterMs(new Date(START_MS + 5_000).toUTCString(), START_MS)).toBe(5_000)
  expect(retryAfterMs(new Date(START_MS - 5_000).toUTCString(), START_MS)).toBe(0)
  expect([retryAfterMs(undefined, 0), retryAfterMs('soon', 0), retryAfterMs('-1', 0)].slice(0, 2)).toEqual([
    undefined,
    undefined,
  ])
})
