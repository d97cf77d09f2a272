import fc from 'fast-check'
import { expect, test } from 'vitest'
import { anomalyOf, HOUR_MS, WEEK_MS } from '../../../internal/sentinel/anomaly.js'
import { parseQuantity, type Quantity } from '../../../internal/units/quantity.js'

const HOUR = Date.UTC(2026, 10, 21, 9)
const usd = (text: string): Quantity<'USD'> => parseQuantity<'USD'>(text) as Quantity<'USD'>
/** The same hour of the weeks before, newest first, and the hour itself. */
const weekly = (now: string, before: readonly string[]) =>
  new Map([[HOUR, usd(now)], ...before.map((amount, i) => [HOUR - (i + 1) * WEEK_MS, usd(amount)] as const)])

test('spend far above that of the same hour of the week is an anomaly', () => {
  const spent = weekly('90', ['10', '11', '9', '10', '12', '10', '8', '10'])

  expect(anomalyOf(spent, HOUR - 8 * WEEK_MS, HOUR)).toMatchObject({ observed: usd('90'), expected: usd('10') })
})

test('spend that is usual at this hour of the week is none, however quiet the hours before were', () => {
  const spent = weekly('92', ['90', '95', '88', '91'])

  expect(anomalyOf(spent, HOUR - 4 * WEEK_MS, HOUR)).toBeUndefined()
})

test('without four weeks the hours before are the baseline', () => {
  const hours = Array.from({ length: 48 }, (_, i) => [HOUR - (i + 1) * HOUR_MS, usd(i % 2 === 0 ? '4' : '5')] as const)

  expect(anomalyOf(new Map([[HOUR, usd('50')], ...hours]), HOUR - 48 * HOUR_MS, HOUR)?.expected).toBe(usd('4'))
  expect(anomalyOf(new Map([[HOUR, usd('6')], ...hours]), HOUR - 48 * HOUR_MS, HOUR)).toBeUndefined()
})

test('with hardly any past nothing is said', () => {
  expect(anomalyOf(new Map([[HOUR, usd('1000')]]), HOUR - 23 * HOUR_MS, HOUR)).toBeUndefined()
})

test('small amounts are none, however many times the usual they are', () => {
  expect(anomalyOf(weekly('4.99', ['0.01', '0.01', '0.01', '0.01']), HOUR - 4 * WEEK_MS, HOUR)).toBeUndefined()
})

test('more spend never makes an anomaly less of one', () => {
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
