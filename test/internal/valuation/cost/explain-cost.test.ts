import { expect, test } from 'vitest'
import { formatQuantity, parseQuantity, plus, zero } from '../../../../internal/units/quantity.js'
import { explainCost } from '../../../../internal/valuation/cost/explain-cost.js'
import { loadPriceBook } from '../../../../internal/valuation/cost/price-book.js'
import { priceInvocation } from '../../../../internal/valuation/cost/price-invocation.js'
import { call } from '../../../support/attribution-events.js'

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
    statedUsd: undefined,
    lines: [],
    units: [],
    unpricedUnits: [],
    fees: [],
    assumptions: [],
    pricedUsd: undefined,
    estimateDifferenceUsd: undefined,
    scope: 'tokens',
  })
})

test('a fee line is calls times the fee of one, no multiplier applies to it, and the total includes it', () => {
  const event = call({ requestedModel: 'gpt-5.6-terra', region: 'eu', webSearchCalls: 3, fileSearchCalls: 2 })
  const { details, costUsd } = priceInvocation(event, book)

  const explanation = explainCost(details, event)

  expect(explanation.fees).toEqual([
    { tool: 'web_search', calls: 3, usdPerCall: '0.01', amountUsd: '0.03' },
    { tool: 'file_search', calls: 2, usdPerCall: '0.0025', amountUsd: '0.005' },
  ])
  expect(explanation.scope).toBe('tokens_and_fees')
  expect(explanation.totalUsd).toBe(costUsd)
  const ofTokens = priceInvocation(call({ requestedModel: 'gpt-5.6-terra', region: 'eu' }), book).costUsd
  expect(formatQuantity(costUsd)).toBe(formatQuantity(plus(ofTokens, parseQuantity<'USD'>('0.035') ?? zero())))
})

test('the explanation says in sentences what the price assumes', () => {
  const event = call({ serviceTier: 'scale', webSearchCalls: 1 })

  expect(explainCost(priceInvocation(event, book).details, event).assumptions).toEqual([
    'No rates are listed for the service tier scale. Those of standard were used.',
  ])
})
