import fc from 'fast-check'
import { expect, test } from 'vitest'
import { endOfRunning, forecastOf } from '../../../../internal/console/figures/forecast.js'
import { parseSum } from '../../../../internal/units/quantity.js'
import { DAY_MS, startOfDay } from '../../../../internal/units/time-zone.js'

const ZONE = 'Europe/Berlin'
/** A Monday, at noon. */
const NOW_MS = Date.UTC(2026, 10, 23, 11)
const TODAY = Date.UTC(2026, 10, 23)
const END_MS = startOfDay(Date.UTC(2026, 11, 1), ZONE)

/** @param usdOf of the day so many days before today */
const history = (days: number, usdOf: (ago: number) => string): ReadonlyMap<number, string> =>
  new Map(Array.from({ length: days }, (_, i) => [startOfDay(TODAY - (i + 1) * DAY_MS, ZONE), usdOf(i + 1)]))
const isWeekend = (ago: number): boolean => [0, 6].includes(new Date(TODAY - ago * DAY_MS).getUTCDay())
const known = { soFarUsd: '100', nowMs: NOW_MS, endMs: END_MS, zone: ZONE, togetherUsd: '0' }

test('only a period that is running has an end to forecast', () => {
  const end = (stated: string): number | undefined => endOfRunning(stated, ZONE, NOW_MS)

  expect(end('month')).toBe(END_MS)
  expect(end('today')).toBe(startOfDay(TODAY + DAY_MS, ZONE))
  expect(end('2026-11-01..2026-11-30')).toBe(END_MS)
  for (const closed of ['30d', '24h', 'last-month', '2026-11-01..2026-11-22', '2026-12-01..2026-12-31']) {
    expect([closed, end(closed)]).toEqual([closed, undefined])
  }
})

test('each day that is left costs what the same weekdays cost on average, of today the part that is left', () => {
  // Half of Monday, four more working days, a weekend, and a Monday.
  const forecast = forecastOf({ ...known, history: history(28, (ago) => (isWeekend(ago) ? '1' : '10')) })

  expect(forecast).toEqual({ usd: '157', days: 28, byWeekday: true })
})

test('with less than two weeks of history all days are alike; with less than one there is no estimate', () => {
  const days = (count: number) => history(count, (ago) => (ago % 2 === 0 ? '8' : '12'))

  expect(forecastOf({ ...known, history: days(10) })).toEqual({ usd: '175', days: 10, byWeekday: false })
  expect(forecastOf({ ...known, history: days(6) })).toBeUndefined()
  expect(forecastOf({ ...known, history: new Map() })).toBeUndefined()
})

test('what cannot be told by day is spread over the days', () => {
  expect(forecastOf({ ...known, togetherUsd: '56', history: history(28, () => '8') })?.usd).toBe('175')
})

test('it is never less than so far, and exactly that at the end', () => {
  fc.assert(
    fc.property(fc.array(fc.nat(1_000), { minLength: 7, maxLength: 28 }), fc.nat(7 * 24), (usd, hours) => {
      const nowMs = Math.min(END_MS, NOW_MS + hours * 60 * 60 * 1000)
      const days = history(usd.length, (ago) => String(usd[ago - 1]))
      const forecast = forecastOf({ ...known, nowMs: Math.min(nowMs, END_MS), history: days })

      if (forecast !== undefined) expect(parseSum(forecast.usd) >= parseSum('100')).toBe(true)
      if (forecast !== undefined && nowMs === END_MS) expect(forecast.usd).toBe('100')
    }),
  )
})
