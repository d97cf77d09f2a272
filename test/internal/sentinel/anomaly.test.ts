import fc from 'fast-check'
import { expect, test } from 'vitest'
import { anomalyOf, HOUR_MS, WEEK_MS } from '../../../internal/sentinel/anomaly.js'
import { parseQuantity, type Quantity } from '../../../internal/units/quantity.js'

const HOUR = Date.UTC(2026, 10, 21, 9)
const usd = (text: string): Quantity<'USD'> => parseQuantity<'USD'>(text) as Quantity<'USD'>
/** The same hour in previous weeks, newest first, and the hour itself. */
const weekly = (now: string, before: readonly string[]) =>
  new Map([[HOUR, usd(now)], ...before.map((amount, i) => [HOUR - (i + 1) * WEEK_MS, usd(amount)] as const)])

test('spend far above that of the same hour in previous weeks is an anomaly', () => {
  const spent = weekly('90', ['10', '11', '9', '10', '12', '10', '8', '10'])

  expect(anomalyOf(spent, HOUR - 8 * WEEK_MS, HOUR)).toMatchObject({ observed: usd('90'), expected: usd('10') })
})

test('spend that is normal for this hour of the week is not an anomaly after quiet hours', () => {
  const spent = weekly('92', ['90', '95', '88', '91'])

  expect(anomalyOf(spent, HOUR - 4 * WEEK_MS, HOUR)).toBeUndefined()
})

test('the preceding hours are the baseline while there are fewer than four weeks of history', () => {
  const hours = Array.from({ length: 48 }, (_, i) => [HOUR - (i + 1) * HOUR_MS, usd(i % 2 === 0 ? '4' : '5')] as const)

  expect(anomalyOf(new Map([[HOUR, usd('50')], ...hours]), HOUR - 48 * HOUR_MS, HOUR)?.expected).toBe(usd('4'))
  expect(anomalyOf(new Map([[HOUR, usd('6')], ...hours]), HOUR - 48 * HOUR_MS, HOUR)).toBeUndefined()
})

test('spend without enough history is never an anomaly', () => {
  expect(anomalyOf(new Map([[HOUR, usd('1000')]]), HOUR - 23 * HOUR_MS, HOUR)).toBeUndefined()
})

test('small amounts are never an anomaly, at any multiple of the baseline', () => {
  expect(anomalyOf(weekly('4.99', ['0.01', '0.01', '0.01', '0.01']), HOUR - 4 * WEEK_MS, HOUR)).toBeUndefined()
})

test('the anomaly score never decreases with more spend', () => {
  fc.assert(
    fc.property(
      fc.array(fc.nat({ max: 200 }), { minLength: 8, maxLength: 8 }),
      fc.nat({ max: 500 }),
      fc.nat({ max: 500 }),
      (before, one, more) => {
        const past = before.map(String)
        const lower = anomalyOf(weekly(String(one), past), HOUR - 8 * WEEK_MS, HOUR)
        const higher = anomalyOf(weekly(String(one + more), past), HOUR - 8 * WEEK_MS, HOUR)
        if (lower !== undefined) expect(higher?.score).toBeGreaterThanOrEqual(lower.score)
      },
    ),
  )
})
