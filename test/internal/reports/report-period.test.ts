import fc from 'fast-check'
import { expect, test } from 'vitest'
import { readReport } from '../../../internal/reports/question.js'
import { readEdge } from '../../../internal/reports/report-period.js'
import { drawn } from '../../support/run/rings.js'

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
      numRuns: drawn(3_000),
      examples: [
        ['America/Santiago', Date.UTC(2026, 8, 6) / DAY_MS],
        ['America/Asuncion', Date.UTC(2023, 9, 1) / DAY_MS],
        ['Asia/Beirut', Date.UTC(2026, 2, 29) / DAY_MS],
      ],
    },
  )
})

const NOW_MS = Date.UTC(2026, 10, 23, 10, 30)

const previousOf = (query: string): unknown => {
  const read = readReport('usage', `compare=previous&${query}`, NOW_MS, [])
  if (!read.ok) return read.problem.detail
  const { previous } = read.question
  return previous && [previous.fromMs, previous.toMs].map((ms) => new Date(ms).toISOString().slice(0, 16))
}

test.each([
  ['a month: the month before', 'from=2026-11-01&to=2026-12-01', '2026-10-01T00:00', '2026-11-01T00:00'],
  ['a short month: the long one', 'from=2026-03-01&to=2026-04-01', '2026-02-01T00:00', '2026-03-01T00:00'],
  ['a quarter: the quarter', 'from=2026-01-01&to=2026-04-01', '2025-10-01T00:00', '2026-01-01T00:00'],
  [
    'a month of Berlin',
    'from=2026-11-01&to=2026-12-01&time_zone=Europe/Berlin',
    '2026-09-30T22:00',
    '2026-10-31T23:00',
  ],
  ['days: as many days', 'from=2026-11-10&to=2026-11-13', '2026-11-07T00:00', '2026-11-10T00:00'],
  [
    'days across a change of clocks',
    'from=2026-10-26&to=2026-10-28&time_zone=Europe/Berlin',
    '2026-10-23T22:00',
    '2026-10-25T23:00',
  ],
  ['hours', 'from=2026-11-10T06:00:00Z&to=2026-11-10T09:15:00Z', '2026-11-10T02:45', '2026-11-10T06:00'],
  ['by month: a month earlier', 'from=2026-09-01&to=2026-12-01&interval=month', '2026-08-01T00:00', '2026-11-01T00:00'],
  ['by week', 'from=2026-11-02&to=2026-11-16&interval=week', '2026-10-26T00:00', '2026-11-09T00:00'],
  ['by day', 'from=2026-11-02&to=2026-11-16&interval=day', '2026-11-01T00:00', '2026-11-15T00:00'],
  [
    'by day across a change of clocks',
    'from=2026-10-26&to=2026-10-28&interval=day&time_zone=Europe/Berlin',
    '2026-10-24T22:00',
    '2026-10-26T23:00',
  ],
  [
    'by hour',
    'from=2026-11-02T05:00:00Z&to=2026-11-02T08:00:00Z&interval=hour',
    '2026-11-02T04:00',
    '2026-11-02T07:00',
  ],
])('the period before is of the same kind: %s', (_, query, from, to) => {
  expect(previousOf(query)).toEqual([from, to])
})

test.each([
  'from=2026-11-02&to=2026-12-01&interval=month',
  'from=2026-11-03&to=2026-11-16&interval=week',
  'from=2026-11-02T01:00:00Z&to=2026-11-16&interval=day',
  'from=2026-11-02T01:00:00Z&to=2026-11-02T05:00:00Z&interval=hour&time_zone=Asia/Kolkata',
])('a period that cuts an interval is refused, since it would compare a part with a whole: %s', (query) => {
  expect(previousOf(query)).toMatch(/where an interval starts/)
})

test('rows are sorted by a change only where there is one', () => {
  const sorted = (query: string) => readReport('usage', query, NOW_MS, [])

  expect(sorted('sort=-change.cost_usd')).toMatchObject({ ok: false })
  expect(sorted('compare=previous&sort=-change.from')).toMatchObject({ ok: false })
  expect(sorted('compare=previous&sort=-change_percent.cost_usd_per_call')).toMatchObject({
    question: {
      sort: [{ key: { kind: 'change', isPercent: true, of: { kind: 'quotient' } }, isDescending: true }, {}],
    },
  })
})
