import fc from 'fast-check'
import { expect, test } from 'vitest'
import { figuresOf, forecastOf } from '../../../../internal/sentinel/budgets/budget-figures.js'
import { parseQuantity, type Quantity, quantityOfSteps } from '../../../../internal/units/quantity.js'

const usd = (text: string): Quantity<'USD'> => parseQuantity<'USD'>(text) as Quantity<'USD'>
const HOUR_MS = 3_600_000
/** A month of 30 days. */
const NOVEMBER = { fromMs: Date.UTC(2026, 10), toMs: Date.UTC(2026, 11), name: '2026-11' }

test.each([
  ['a third of the month gone', '100', 240, '300', '30.00'],
  ['a quarter of the month gone', '0.1', 180, '0.4', '0.04'],
  ['a seventh of a cent, rounded to six decimals', '0.00001', 504, '0.000014', '0.00'],
  ['nothing spent', '0', 240, '0', '0.00'],
])('the forecast is the run rate: %s', (_, spent, hours, forecast, percent) => {
  const figures = figuresOf(usd(spent), usd('1000'), NOVEMBER, NOVEMBER.fromMs + hours * HOUR_MS)

  expect(figures).toMatchObject({ spent_usd: spent, forecast_usd: forecast, forecast_percent: percent })
})

test('there is no forecast before a twenty-fourth of the period has passed', () => {
  const at = (ms: number) => figuresOf(usd('10'), usd('1000'), NOVEMBER, NOVEMBER.fromMs + ms)

  expect(at(0)).toEqual({ spent_usd: '10', percent: '1.00', forecast_usd: null, forecast_percent: null })
  expect(at(30 * HOUR_MS - 1).forecast_usd).toBe(null)
  expect(at(30 * HOUR_MS)).toEqual({ spent_usd: '10', percent: '1.00', forecast_usd: '240', forecast_percent: '24.00' })
})

test('the forecast of a period that is over is what was spent, to the last digit', () => {
  expect(forecastOf(usd('1.000000000000000001'), NOVEMBER, NOVEMBER.toMs)).toBe(usd('1.000000000000000001'))
})

test.each([
  ['999.999999999999999999', '1000', '99.99'],
  ['1000', '1000', '100.00'],
  ['0', '1000', '0.00'],
  ['0.05', '1000', '0.00'],
  ['99999999999999999999', '0.000000000000000001', '9999999999999999999900000000000000000000.00'],
])('%s of %s is %s percent: cut, so that a ceiling is not shown as reached before it is', (spent, ceiling, percent) => {
  expect(figuresOf(usd(spent), usd(ceiling), NOVEMBER, NOVEMBER.fromMs).percent).toBe(percent)
})

test('a forecast never lies below what was spent, but for its rounding, and rises with it', () => {
  const amount = fc.bigInt({ min: 0n, max: 10n ** 30n }).map((steps) => quantityOfSteps<'USD'>(steps))
  const elapsedMs = fc.integer({ min: 30 * HOUR_MS, max: NOVEMBER.toMs - NOVEMBER.fromMs })
  fc.assert(
    fc.property(amount, amount, elapsedMs, (one, more, ms) => {
      const forecast = forecastOf(one, NOVEMBER, NOVEMBER.fromMs + ms) ?? 0n
      const higher = forecastOf(quantityOfSteps<'USD'>(one + more), NOVEMBER, NOVEMBER.fromMs + ms) ?? 0n

      expect(forecast >= one - 10n ** 12n).toBe(true)
      expect(higher >= forecast).toBe(true)
    }),
  )
})
