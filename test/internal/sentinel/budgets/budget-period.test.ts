import fc from 'fast-check'
import { expect, test } from 'vitest'
import { PERIODS, periodOf } from '../../../../internal/sentinel/budgets/budget-period.js'

const HOUR_MS = 3_600_000
const period = (kind: (typeof PERIODS)[number], zone: string, at: string) => {
  const { fromMs, toMs, name } = periodOf(kind, zone, Date.parse(at))
  return { from: new Date(fromMs).toISOString(), to: new Date(toMs).toISOString(), name }
}

test.each([
  ['day', 'UTC', '2026-11-24T10:00:00Z', '2026-11-24T00:00:00.000Z', '2026-11-25T00:00:00.000Z', '2026-11-24'],
  ['week', 'UTC', '2026-11-24T10:00:00Z', '2026-11-23T00:00:00.000Z', '2026-11-30T00:00:00.000Z', '2026-W48'],
  ['month', 'UTC', '2026-11-24T10:00:00Z', '2026-11-01T00:00:00.000Z', '2026-12-01T00:00:00.000Z', '2026-11'],
  ['quarter', 'UTC', '2026-11-24T10:00:00Z', '2026-10-01T00:00:00.000Z', '2027-01-01T00:00:00.000Z', '2026-Q4'],
  // A year may have 53 weeks, and its first days may lie in the last week of the year before.
  ['week', 'UTC', '2027-01-01T00:00:00Z', '2026-12-28T00:00:00.000Z', '2027-01-04T00:00:00.000Z', '2026-W53'],
  ['week', 'UTC', '2024-12-31T00:00:00Z', '2024-12-30T00:00:00.000Z', '2025-01-06T00:00:00.000Z', '2025-W01'],
  // 23 and 25 hours: daylight saving time starts and ends.
  [
    'day',
    'Europe/Berlin',
    '2026-03-29T10:00:00Z',
    '2026-03-28T23:00:00.000Z',
    '2026-03-29T22:00:00.000Z',
    '2026-03-29',
  ],
  [
    'day',
    'Europe/Berlin',
    '2026-10-25T10:00:00Z',
    '2026-10-24T22:00:00.000Z',
    '2026-10-25T23:00:00.000Z',
    '2026-10-25',
  ],
  ['month', 'Europe/Berlin', '2026-10-31T23:30:00Z', '2026-10-31T23:00:00.000Z', '2026-11-30T23:00:00.000Z', '2026-11'],
  [
    'quarter',
    'America/New_York',
    '2026-04-01T03:59:59Z',
    '2026-01-01T05:00:00.000Z',
    '2026-04-01T04:00:00.000Z',
    '2026-Q1',
  ],
  ['day', 'Asia/Kolkata', '2026-11-24T18:29:59Z', '2026-11-23T18:30:00.000Z', '2026-11-24T18:30:00.000Z', '2026-11-24'],
] as const)('the %s in %s of %s lasts from %s to %s and is called %s', (kind, zone, at, from, to, name) => {
  expect(period(kind, zone, at)).toEqual({ from, to, name })
})

test('periods follow each other without a gap in every zone, each with a name of its own', () => {
  const zone = fc.constantFrom('UTC', ...Intl.supportedValuesOf('timeZone'))
  const at = fc.integer({ min: Date.UTC(2015, 0), max: Date.UTC(2035, 0) })
  fc.assert(
    fc.property(zone, at, fc.constantFrom(...PERIODS), (name, ms, kind) => {
      const one = periodOf(kind, name, ms)
      const next = periodOf(kind, name, one.toMs)

      expect(one.fromMs).toBeLessThanOrEqual(ms)
      expect(one.toMs).toBeGreaterThan(ms)
      expect(one.toMs - one.fromMs).toBeGreaterThanOrEqual(22 * HOUR_MS)
      expect(next.fromMs).toBe(one.toMs)
      expect(periodOf(kind, name, one.fromMs)).toEqual(one)
      expect(periodOf(kind, name, one.toMs - 1)).toEqual(one)
      expect(next.name > one.name).toBe(true)
    }),
  )
})
