import { expect, test } from 'vitest'
import { explainCost } from '../../../../../internal/attribution/valuation/cost/explain-cost.js'
import { loadPriceBook } from '../../../../../internal/attribution/valuation/cost/price-book.js'
import { priceInvocation } from '../../../../../internal/attribution/valuation/cost/price-invocation.js'
import { formatQuantity } from '../../../../../internal/units/quantity.js'
import { call } from '../../../../support/attribution-events.js'

const book = loadPriceBook()

test('each line of a cost explanation is tokens times rate, and their sum times the multiplier is the total', () => {
  const event = call({ requestedModel: 'gpt-5.6-terra', region: 'eu', cachedInputTokens: 400, reasoningTokens: 50 })
  const { details, costUsd } = priceInvocation(event, book)

  const explanation = explainCost(details, event)

  expect(explanation.lines).toEqual([
    { part: 'input', tokens: 600, billedAs: 'input', rate: '2', amountUsd: '0.0012' },
    { part: 'output', tokens: 200, billedAs: 'output', rate: '12', amountUsd: '0.0024' },
    { part: 'cache_read', tokens: 400, billedAs: 'cache_read', rate: '0.2', amountUsd: '0.00008' },
    { part: 'reasoning', tokens: 50, billedAs: 'output', rate: '12', amountUsd: '0.0006' },
  ])
  expect(explanation.totalUsd).toBe(costUsd)
  expect(formatQuantity(explanation.totalUsd)).toBe('0.004708')
})

test('the explanation of an estimate shows the priced lines and the signed difference', () => {
  const event = call({ estimatedCostUsd: '0.004' })
  const explanation = explainCost(priceInvocation(event, book).details, event)

  expect(formatQuantity(explanation.totalUsd)).toBe('0.004')
  expect(explanation.pricedUsd && formatQuantity(explanation.pricedUsd)).toBe('0.005')
  expect(explanation.estimateDifferenceUsd).toBe('-0.001')
})

test('the explanation of an unpriced event has no lines and no priced amount', () => {
  const event = call({ requestedModel: 'unheard-of' })

  expect(explainCost(priceInvocation(event, book).details, event)).toEqual({
    totalUsd: 0n,
    lines: [],
    pricedUsd: undefined,
    estimateDifferenceUsd: undefined,
    scope: 'tokens',
  })
})
