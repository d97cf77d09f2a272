import { describe, expect, test } from 'vitest'
import {
  daysOf,
  intervalsOf,
  periodOf,
  spanLabel,
  tickLabel,
  timeShown,
} from '../../../../internal/console/figures/period.js'

const NOW = Date.parse('2026-11-24T16:35:10Z')
const iso = (ms: number): string => new Date(ms).toISOString()
const edges = (text: string, zone: string, nowMs = NOW): string[] => {
  const { fromMs, toMs } = periodOf(text, zone, nowMs)
  return [iso(fromMs), iso(toMs)]
}

describe('a period', () => {
  test('that includes now ends with the quarter of an hour', () => {
    expect(edges('24h', 'UTC')).toEqual(['2026-11-23T16:45:00.000Z', '2026-11-24T16:45:00.000Z'])
    expect(edges('today', 'Asia/Kolkata')).toEqual(['2026-11-23T18:30:00.000Z', '2026-11-24T16:45:00.000Z'])
    expect(edges('month', 'Europe/Berlin')).toEqual(['2026-10-31T23:00:00.000Z', '2026-11-24T16:45:00.000Z'])
  })

  test('of days begins and ends where they do in the zone, across a change of clocks', () => {
    expect(edges('2026-10-24..2026-10-25', 'Europe/Berlin')).toEqual([
      '2026-10-23T22:00:00.000Z',
      '2026-10-25T23:00:00.000Z',
    ])
    expect(edges('last-month', 'Asia/Kolkata')).toEqual(['2026-09-30T18:30:00.000Z', '2026-10-31T18:30:00.000Z'])
  })

  test('of days to come is not empty, and a text that is no period is the default one', () => {
    expect(edges('2027-01-01..2027-01-02', 'UTC')).toEqual(['2027-01-01T00:00:00.000Z', '2027-01-01T00:15:00.000Z'])
    expect(edges('toString', 'UTC')).toEqual(edges('30d', 'UTC'))
    expect(daysOf('2026-11-23..2026-11-01')).toBeUndefined()
    expect(daysOf('2026-02-31..2026-99-01')).toBeUndefined()
  })
})

describe('intervals', () => {
  test('a day of 25 hours has 25 of them, and a month all its days', () => {
    const day = periodOf('2026-10-25..2026-10-25', 'Europe/Berlin', NOW)
    expect(day.interval).toBe('hour')
    expect(intervalsOf(day, 'Europe/Berlin')).toHaveLength(25)
    expect(intervalsOf(periodOf('last-month', 'Europe/Berlin', NOW), 'Europe/Berlin')).toHaveLength(31)
  })

  test('hours of Kolkata begin on the half hour of UTC, after the cut first one', () => {
    const starts = intervalsOf(periodOf('24h', 'Asia/Kolkata', NOW), 'Asia/Kolkata').map(iso)
    expect(starts.slice(0, 3)).toEqual([
      '2026-11-23T16:45:00.000Z',
      '2026-11-23T17:30:00.000Z',
      '2026-11-23T18:30:00.000Z',
    ])
  })

  test('weeks begin on Monday and months on the first', () => {
    const weeks = intervalsOf(periodOf('2026-05-06..2026-10-31', 'UTC', NOW), 'UTC').map(iso)
    expect(weeks.slice(0, 2)).toEqual(['2026-05-06T00:00:00.000Z', '2026-05-11T00:00:00.000Z'])
    const months = intervalsOf(periodOf('12m', 'UTC', NOW), 'UTC').map(iso)
    expect(months).toHaveLength(12)
    expect(months.at(-1)).toBe('2026-11-01T00:00:00.000Z')
  })
})

describe('an instant', () => {
  test('shows its year where that is not the present one in the zone', () => {
    const turn = Date.parse('2026-01-01T04:30:00Z')

    expect(timeShown(Date.parse('2026-11-24T04:00:00Z'), 'Asia/Kolkata', { nowMs: NOW })).toBe('Nov 24, 09:30')
    expect(timeShown(Date.parse('2027-11-24T04:00:00Z'), 'Asia/Kolkata', { nowMs: NOW })).toBe('Nov 24, 2027, 09:30')
    expect(timeShown(turn + 7_000, 'UTC', { nowMs: NOW, hasSeconds: true })).toBe('Jan 1, 04:30:07')
    expect(timeShown(turn, 'Asia/Kolkata', { nowMs: NOW })).toBe('Jan 1, 10:00')
    expect(timeShown(turn, 'America/Los_Angeles', { nowMs: NOW })).toBe('Dec 31, 2025, 20:30')
  })

  test('and so does a span of days', () => {
    const day = (text: string): number => Date.parse(`${text}T00:00:00Z`)

    expect(spanLabel(day('2026-11-01'), day('2026-11-24'), 'UTC', NOW)).toMatch(/^Nov 1\s–\s23$/)
    expect(spanLabel(day('2025-03-01'), day('2025-03-06'), 'UTC', NOW)).toMatch(/^Mar 1\s–\s5, 2025$/)
  })
})

test('below a bar is the time of day, or the day where one begins in the zone', () => {
  const at = Date.parse('2026-11-23T18:30:00Z')

  expect(tickLabel(at, '15m', 'UTC')).toBe('18:30')
  expect(tickLabel(at, '15m', 'Asia/Kolkata')).toBe('Nov 24')
  expect(tickLabel(at + 15 * 60_000, '15m', 'Asia/Kolkata')).toBe('00:15')
  expect(tickLabel(at, 'day', 'Asia/Kolkata')).toBe('Nov 24')
})
