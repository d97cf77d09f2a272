import { expect, test } from 'vitest'
import { loadPriceBook, loadPriceBookFile } from '../../../../internal/valuation/cost/price-book.js'
import { priceInvocation } from '../../../../internal/valuation/cost/price-invocation.js'
import { call } from '../../../support/attribution-events.js'

const TIERS = ['batch', 'flex', 'priority'] as const

test('an announced price ends no service tier that is priced until then', () => {
  const book = loadPriceBook()
  const announced = loadPriceBookFile().history.flatMap(({ provider, models, periods }) =>
    periods.flatMap(({ from, scheduled }) =>
      scheduled === true ? models.map((model) => ({ provider, model, from: Date.parse(from) })) : [],
    ),
  )
  const isPriced = (
    provider: string,
    requestedModel: string,
    serviceTier: (typeof TIERS)[number],
    eventTimeMs: number,
  ): boolean =>
    priceInvocation(call({ provider, requestedModel, serviceTier, eventTimeMs }), book).details.basis !== 'unpriced'

  const tried = announced.flatMap(({ provider, model, from }) =>
    TIERS.filter((tier) => isPriced(provider, model, tier, from - 1)).map((tier) => ({ provider, model, tier, from })),
  )

  expect(tried).not.toEqual([])
  expect(tried.filter(({ provider, model, tier, from }) => !isPriced(provider, model, tier, from))).toEqual([])
})
