import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Invocation } from '../../../../internal/invocations/invocation.js'
import { SERVICE_TIERS } from '../../../../internal/text/call-words.js'
import { formatQuantity, parseQuantity, plus, zero } from '../../../../internal/units/quantity.js'
import { explainCost } from '../../../../internal/valuation/cost/explain-cost.js'
import { loadPriceBook } from '../../../../internal/valuation/cost/price-book.js'
import { priceInvocation } from '../../../../internal/valuation/cost/price-invocation.js'
import { call } from '../../../support/attribution-events.js'
import { book, cost } from '../../../support/priced-calls.js'
import { drawn } from '../../../support/run/rings.js'
import { readVectors } from '../../../support/vectors/read-vectors.js'

/** Costs beside those of second implementations, and what holds of the cost of any call. */

interface CostVector {
  readonly why: string
  readonly event: Partial<Invocation>
  readonly cost_usd: string
}

// Second implementation: Python's decimal module (test/support/vectors/cost-vectors.py).
test('more than a thousand costs equal those of a second implementation, to the last digit', () => {
  const vectors = readVectors<CostVector>('cost')
  const wrong = vectors.filter(({ event, cost_usd }) => cost(event) !== `price_book ${cost_usd}`)

  expect(vectors.length).toBeGreaterThan(1000)
  expect(wrong.map((vector) => ({ ...vector, got: cost(vector.event) }))).toEqual([])
})

// Second implementation: the npm package @pydantic/genai-prices (test/support/vectors/genai-prices-vectors.mjs).
test('costs agree with genai-prices to 12 digits wherever the two books agree', () => {
  const vectors = readVectors<{ readonly event: Partial<Invocation>; readonly cost_usd: number }>('genai-prices')
  const wrong = vectors.filter(({ event, cost_usd }) => {
    const own = Number(formatQuantity(priceInvocation(call(event), book).costUsd))
    return Math.abs(own - cost_usd) > 1e-12 * cost_usd
  })

  expect(vectors.length).toBeGreaterThan(200)
  expect(wrong).toEqual([])
})

describe('cost properties', () => {
  const models = fc.constantFrom(
    ['openai', 'gpt-4o'],
    ['openai', 'gpt-5.6-terra'],
    ['anthropic', 'claude-opus-5'],
    ['gemini', 'gemini-2.5-pro'],
    ['dashscope', 'qwen-plus-2025-07-28'],
    ['deepseek', 'deepseek-v4-flash'],
    ['xai', 'grok-4.6'],
  )
  const events = fc
    .record({
      model: models,
      parts: fc.tuple(...Array.from({ length: 8 }, () => fc.nat({ max: 400_000 }))),
      calls: fc.tuple(...Array.from({ length: 3 }, () => fc.constantFrom(undefined, 0, 1, 17))),
      serviceTier: fc.constantFrom(undefined, ...SERVICE_TIERS),
      region: fc.constantFrom(undefined, 'eu', 'us'),
      speed: fc.constantFrom(undefined, 'standard' as const, 'fast' as const),
      ttl: fc.constantFrom(undefined, 300, 3600),
      eventTimeMs: fc.integer({ min: Date.UTC(2025, 0), max: Date.UTC(2027, 5) }),
    })
    .map(
      ({
        model: [provider = '', requestedModel = ''],
        parts: [uncached = 0, read = 0, write = 0, output = 0, thoughts = 0, hour = 0, imagesIn = 0, imagesOut = 0],
        calls: [webSearchCalls, fileSearchCalls, codeExecutionCalls],
        ttl,
        ...rest
      }) =>
        call({
          provider,
          requestedModel,
          inputTokens: uncached + read + write + hour,
          cachedInputTokens: read,
          cacheWriteTokens: write + hour,
          cacheWriteTtlSeconds: ttl,
          cacheWrite1hTokens: hour,
          outputTokens: output + thoughts + imagesOut,
          reasoningTokens: thoughts,
          imageInputTokens: Math.min(imagesIn, uncached + read),
          imageOutputTokens: imagesOut,
          webSearchCalls,
          fileSearchCalls,
          codeExecutionCalls,
          ...rest,
        } as Partial<Invocation>),
    )

  test('the explanation recomputes the stored cost from the stored details and the event', () => {
    fc.assert(
      fc.property(events, (event) => {
        const { costUsd, detailsJson } = priceInvocation(event, book)
        return explainCost(JSON.parse(detailsJson), event).totalUsd === costUsd
      }),
    )
  })

  test('the lines times the multipliers, plus the fees, add up to the cost', () => {
    const steps = (text: string) => parseQuantity<'USD'>(text) ?? zero<'USD'>()
    let compared = 0
    fc.assert(
      fc.property(events, (event) => {
        const { costUsd, details } = priceInvocation(event, book)
        const { lines, fees } = explainCost(details, event)
        if (details.price === undefined) return lines.length === 0 && fees.length === 0
        compared += fees.length
        const factors = (details.price.multipliers ?? []).map(({ factor }) => factor)
        const scale = 10n ** 6n
        const factor = factors.reduce((product, each) => (product * (steps(each) / 10n ** 12n)) / scale, scale)
        const ofLines = lines.reduce((total, { amountUsd }) => total + steps(amountUsd), 0n)
        const ofFees = fees.reduce((total, { amountUsd }) => total + steps(amountUsd), 0n)
        return ofLines * factor === (costUsd - ofFees) * scale
      }),
      // Of eight calls one has fees.
      { numRuns: drawn(1_000) },
    )
    expect(compared).toBeGreaterThan(0)
  })

  test('pricing is deterministic', () => {
    const secondBook = loadPriceBook()
    fc.assert(
      fc.property(events, (event) => {
        expect(priceInvocation(event, book)).toEqual(priceInvocation(event, secondBook))
      }),
    )
  })

  test('two halves of the output cost as much as the whole', () => {
    fc.assert(
      fc.property(
        fc.nat({ max: 100_000 }),
        fc.nat({ max: 100_000 }),
        fc.nat({ max: 1000 }),
        (left, right, inputTokens) => {
          const of = (outputTokens: number, input: number) =>
            priceInvocation(call({ outputTokens, inputTokens: input }), book).costUsd
          return plus(of(left, inputTokens), of(right, 0)) === of(left + right, inputTokens)
        },
      ),
    )
  })
})
