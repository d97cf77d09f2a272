import { expect, test } from 'vitest'
import { loadPriceBook, loadPriceBookFile } from '../../../../internal/valuation/cost/price-book.js'
import { repricingOf } from '../../../../internal/valuation/cost/reprice.js'

const HOUR_MS = 3_600_000

test('a model with prices by time of day has the same price at every hour: that outside of them', () => {
  const book = loadPriceBook()
  const withWindows = loadPriceBookFile().history.flatMap(({ provider, models, periods }) =>
    periods.flatMap(({ from, price, windows }) =>
      windows === undefined ? [] : models.map((model) => ({ provider, model, price, fromMs: Date.parse(from) })),
    ),
  )
  expect(withWindows.length).toBeGreaterThan(1)

  for (const { price, fromMs, ...model } of withWindows) {
    const rates = Array.from({ length: 24 }, (_, hour) => {
      const { input, output } = repricingOf(model, fromMs + hour * HOUR_MS, book, undefined)?.price.rates ?? {}
      return [input, output]
    })
    expect(rates).toEqual(Array(24).fill([price.input, price.output]))
  }
})
