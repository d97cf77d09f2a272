import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Invocation } from '../../../../internal/invocations/invocation.js'
import { parseQuantity, zero } from '../../../../internal/units/quantity.js'
import { loadPriceBook } from '../../../../internal/valuation/cost/price-book.js'
import { priceInvocation } from '../../../../internal/valuation/cost/price-invocation.js'
import { BILLED_TOOLS, RATE_PARTS } from '../../../../internal/valuation/cost/rate-sheet.js'
import { tokenParts } from '../../../../internal/valuation/cost/token-parts.js'
import { callsOf } from '../../../../internal/valuation/cost/tool-fees.js'
import { unitPricesIn } from '../../../../internal/valuation/cost/unit-prices.js'
import { call } from '../../../support/attribution-events.js'

const book = loadPriceBook()
const pricesOf = (stated: Partial<Invocation>) => unitPricesIn(priceInvocation(call(stated), book).detailsJson)

test('token parts and tool calls times the unit prices are exactly the cost', () => {
  const count = fc.nat({ max: 300_000 })
  const events = fc
    .record({
      model: fc.constantFrom(['openai', 'gpt-4o'], ['openai', 'gpt-5.6-terra'], ['anthropic', 'claude-opus-5']),
      region: fc.constantFrom(undefined, 'eu', 'us'),
      serviceTier: fc.constantFrom(undefined, 'batch', 'scale'),
      cachedInputTokens: count,
      cacheWrite5mTokens: count,
      cacheWrite1hTokens: count,
      imageInputTokens: count,
      webSearchCalls: fc.constantFrom(undefined, 0, 3),
    })
    .map(({ model: [provider = '', requestedModel = ''], ...stated }) => {
      const { cachedInputTokens, cacheWrite5mTokens, cacheWrite1hTokens, imageInputTokens } = stated
      const inputTokens = cachedInputTokens + cacheWrite5mTokens + cacheWrite1hTokens + imageInputTokens
      return call({ provider, requestedModel, inputTokens, ...stated } as Partial<Invocation>)
    })
  let compared = 0
  fc.assert(
    fc.property(events, (event) => {
      const { costUsd, basis, detailsJson } = priceInvocation(event, book)
      const prices = unitPricesIn(detailsJson)
      if (basis !== 'price_book' || prices === undefined) return prices === undefined
      compared += 1
      const parts = tokenParts(event, event.inputTokens ?? 0, event.outputTokens ?? 0)
      const steps = (text: string) => parseQuantity<'USD'>(text) ?? zero<'USD'>()
      const units = [
        ...RATE_PARTS.map((part) => [part, parts?.[part] ?? 0] as const),
        ...BILLED_TOOLS.map((tool) => [tool, callsOf(event, tool)] as const),
      ]
      return units.reduce((sum, [name, n]) => sum + BigInt(n) * steps(prices.usdPerUnit[name]), 0n) === costUsd
    }),
  )
  expect(compared).toBeGreaterThan(0)
})

test('the name of a price is permanent: parts and fees that a price does not state do not change it', () => {
  expect(pricesOf({})?.price).toBe('standard-ed02c94330')
  expect(pricesOf({ serviceTier: 'batch' })?.price).toBe('batch-1d88dc08d8')
  expect(pricesOf({ provider: 'anthropic', requestedModel: 'claude-opus-5' })?.price).toBe('standard-abdfc47198')
  expect(pricesOf({ webSearchCalls: 0 })?.price).toBe('standard-ed02c94330')
})

test('a price with a fee has a name of its own', () => {
  const prices = pricesOf({ webSearchCalls: 2 })

  expect(prices?.usdPerUnit).toMatchObject({ web_search: '0.01', file_search: '0', input: '0.0000025' })
  expect(prices?.price).not.toBe(pricesOf({})?.price)
})
