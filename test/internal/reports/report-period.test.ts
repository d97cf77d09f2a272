import fc from 'fast-check'
import { expect, test } from 'vitest'
import { readEdge } from '../../../internal/reports/report-period.js'

const DAY_MS = 24 * 3_600_000
const ZONES = ['UTC', ...Intl.supportedValuesOf('timeZone')]
const anyZone = fc.constantFrom(...ZONES)

const dayOf = (ms: number): string => new Date(ms).toISOString().slice(0, 10)
const clocks = new Map<string, Intl.DateTimeFormat>()
function localDate(zone: string, ms: number): string {
  const clock = clocks.get(zone) ?? new Intl.DateTimeFormat('en-CA', { timeZone: zone, dateStyle: 'short' })
  clocks.set(zone, clock)
  return clock.format(ms)
}
const startOf = (day: string, zone: string): number => readEdge(day, zone) ?? Number.NaN

test.each([
  ['that starts when clocks go forward at midnight', 'America/Santiago', '2026-09-06', '2026-09-06T04:00:00.000Z'],
  [
    'that starts when clocks go forward at midnight further east',
    'Atlantic/Azores',
    '2026-03-29',
    '2026-03-29T01:00:00.000Z',
  ],
  ['that starts when clocks go back to midnight', 'America/Havana', '2026-11-01', '2026-11-01T04:00:00.000Z'],
  ['that starts when clocks go back across midnight', 'America/Santiago', '2026-04-05', '2026-04-05T04:00:00.000Z'],
  ['that a time zone skips', 'Pacific/Apia', '2011-12-30', '2011-12-30T10:00:00.000Z'],
  ['after one that a time zone skips', 'Pacific/Apia', '2011-12-31', '2011-12-30T10:00:00.000Z'],
  ['without a clock change', 'Europe/Berlin', '2026-03-29', '2026-03-28T23:00:00.000Z'],
])('the first instant of a day is found for a day %s: %s, %s', (_, zone, day, at) => {
  expect(new Date(startOf(day, zone)).toISOString()).toBe(at)
})

test('a day starts at the first instant with its date, in all time zones', () => {
  const anyDay = fc.integer({ min: Date.UTC(2012, 0, 1) / DAY_MS, max: Date.UTC(2040, 0, 1) / DAY_MS })
  fc.assert(
    fc.property(anyZone, anyDay, (zone, number) => {
      const day = dayOf(number * DAY_MS)
      const ms = startOf(day, zone)
      expect([localDate(zone, ms), localDate(zone, ms - 1)]).toEqual([day, dayOf((number - 1) * DAY_MS)])
    }),
    {
      numRuns: 3_000,
      examples: [
        ['America/Santiago', Date.UTC(2026, 8, 6) / DAY_MS],
        ['America/Asuncion', Date.UTC(2023, 9, 1) / DAY_MS],
        ['Asia/Beirut', Date.UTC(2026, 2, 29) / DAY_MS],
      ],
    },
  )
})
