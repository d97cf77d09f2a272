import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Invocation } from '../../../../internal/invocations/invocation.js'
import { BILLED_UNITS, type BilledUnit } from '../../../../internal/text/call-words.js'
import { formatQuantity } from '../../../../internal/units/quantity.js'
import { explainCost } from '../../../../internal/valuation/cost/explain-cost.js'
import { loadPriceBookFile, type PriceRow, priceBook } from '../../../../internal/valuation/cost/price-book.js'
import { priceInvocation } from '../../../../internal/valuation/cost/price-invocation.js'
import { type TenantPriceOverride, tenantPrices } from '../../../../internal/valuation/cost/tenant-prices.js'
import { call } from '../../../support/attribution-events.js'

const TOKENS = { mode: 'chat', input: '2', output: '8' }
const MODELS: readonly PriceRow[] = [
  { provider: 'openai', model: 'listens', units: { seconds: '0.0001' } },
  { provider: 'openai', model: 'draws', ...TOKENS, units: { images: '0.04', requests: '0.001' } },
  { provider: 'openai', model: 'talks', ...TOKENS, batch: { input: '1', output: '4' } },
]
const book = priceBook({ ...loadPriceBookFile(), models: MODELS, history: [] })

type Stated = Partial<Invocation>
const NO_TOKENS = { inputTokens: undefined, outputTokens: undefined }
const stated = (model: string, fields: Stated): Invocation =>
  call({ provider: 'openai', requestedModel: model, servedModel: undefined, ...NO_TOKENS, ...fields } as Stated)

function pricesOf(rates: TenantPriceOverride['rates'], model: string) {
  const result = tenantPrices([{ provider: 'openai', model, from: '2020-01-01', rates }])
  if (result.kind !== 'prices') throw new Error(result.problem)
  return result.prices
}

/** `basis cost reason units`, as far as there are any. */
function cost(model: string, fields: Stated, tenant?: ReturnType<typeof pricesOf>): string {
  const { basis, costUsd, details } = priceInvocation(stated(model, fields), book, tenant)
  return [basis, formatQuantity(costUsd), details.reason, ...(details.unpriced_units ?? [])].join(' ').trimEnd()
}

describe('what is billed besides tokens', () => {
  test('is added to the tokens', () => {
    const tokens = { inputTokens: 1000, outputTokens: 100 }
    expect(cost('draws', tokens)).toBe('price_book 0.0028')
    expect(cost('draws', { ...tokens, billedUnits: { images: '2', requests: '1' } })).toBe('price_book 0.0838')
  })

  test('needs no tokens, and 0 and 0 say no more than none', () => {
    expect(cost('listens', { billedUnits: { seconds: '12.5' } })).toBe('price_book 0.00125')
    expect(cost('draws', { billedUnits: { images: '1' } })).toBe('price_book 0.04')
    expect(cost('draws', { inputTokens: 0, outputTokens: 0, billedUnits: { images: '1' } })).toBe('price_book 0.04')
  })

  test('is all that a model without rates of tokens costs; without it, its calls have no price', () => {
    const tokens = { inputTokens: 300, outputTokens: 9 }
    expect(cost('listens', { ...tokens, billedUnits: { seconds: '12' } })).toBe('price_book 0.0012')
    expect(cost('listens', tokens)).toBe('unpriced 0 incomplete_price')
    expect(cost('listens', { ...tokens, billedUnits: { seconds: '0' } })).toBe('unpriced 0 incomplete_price')
  })

  test('counts to a millionth', () => {
    expect(cost('listens', { billedUnits: { seconds: '3.4700000286102295' } })).toBe('price_book 0.000347')
    expect(cost('listens', { billedUnits: { seconds: '0.0000005' } })).toBe('price_book 0.0000000001')
    expect(cost('listens', { billedUnits: { seconds: '0.0000004' } })).toBe('unpriced 0 no_tokens')
  })

  test('is named where it has no price, and everything else is priced', () => {
    expect(cost('talks', { inputTokens: 1000, outputTokens: 100, billedUnits: { pages: '3' } })).toBe(
      'unpriced 0.0028 no_unit_price pages',
    )
    expect(cost('draws', { billedUnits: { images: '1', pages: '3' } })).toBe('unpriced 0.04 no_unit_price pages')
    expect(cost('draws', { billedUnits: { documents: '1', pages: '3' } })).toBe(
      'unpriced 0 no_unit_price pages documents',
    )
  })

  test('is what an unknown model lacks the price of, beside that of its tokens', () => {
    expect(cost('reads', { billedUnits: { pages: '3' } })).toBe('unpriced 0 no_unit_price pages')
    expect(cost('reads', { inputTokens: 5, outputTokens: 5, billedUnits: { pages: '3' } })).toBe(
      'unpriced 0 unknown_model pages',
    )
  })

  test('may be beside a cost that the caller states', () => {
    const { basis, costUsd } = priceInvocation(
      stated('reads', { billedUnits: { pages: '3' }, estimatedCostUsd: '0.003' }),
      book,
    )
    expect([basis, formatQuantity(costUsd)]).toEqual(['client_estimate', '0.003'])
  })

  test('has one price for all service tiers', () => {
    const images = { billedUnits: { images: '1' }, serviceTier: 'batch' } as const
    expect(cost('draws', images)).toBe('price_book 0.04')
    expect(priceInvocation(stated('draws', images), book).details.price?.flags).toEqual(['unit_price_of_standard_tier'])
  })
})

describe('a negotiated price of a unit', () => {
  test('replaces that of the book, unit by unit', () => {
    const tenant = pricesOf({ input: '1', output: '4', units: { images: '0.03' } }, 'draws')
    expect(cost('draws', { billedUnits: { images: '1' } }, tenant)).toBe('tenant_price 0.03')
    const both = stated('draws', { billedUnits: { images: '1', requests: '2' } })
    const { costUsd, details } = priceInvocation(both, book, tenant)
    expect(formatQuantity(costUsd)).toBe('0.032')
    expect(details.price).toMatchObject({
      units: { images: '0.03', requests: '0.001' },
      flags: ['unit_price_of_book'],
      confidence: 0.9,
    })
  })

  test('makes a model known', () => {
    const tenant = pricesOf({ input: '0', output: '0', units: { pages: '0.002' } }, 'reads')
    expect(cost('reads', { billedUnits: { pages: '3' } }, tenant)).toBe('tenant_price 0.006')
    expect(cost('reads', { billedUnits: { seconds: '3' } }, tenant)).toBe('unpriced 0 no_unit_price seconds')
  })
})

describe('the sum', () => {
  const decimals = (digits: number, places: number) =>
    fc
      .tuple(fc.nat({ max: 10 ** digits - 1 }), fc.nat({ max: 10 ** places - 1 }))
      .map(([whole, part]) => ({ whole, part, text: `${whole}.${String(part).padStart(places, '0')}` }))
  const unit = fc.record({ quantity: decimals(5, 6), price: decimals(2, 9) })
  const units = fc.dictionary(fc.constantFrom(...BILLED_UNITS), unit, { minKeys: 1 })
  const file = loadPriceBookFile()
  const tokens = fc.option(fc.record({ inputTokens: fc.nat({ max: 10 ** 6 }), outputTokens: fc.nat({ max: 10 ** 6 }) }))

  test('of quantities times prices and of tokens is exact, and its lines add up to it', () => {
    fc.assert(
      fc.property(units, tokens, (drawn, counted) => {
        const names = Object.keys(drawn) as BilledUnit[]
        const each = <T>(of: (one: (typeof drawn)[string]) => T) =>
          Object.fromEntries(names.map((name) => [name, of(drawn[name] as (typeof drawn)[string])]))
        const row = { provider: 'openai', model: 'all', ...TOKENS, units: each(({ price }) => price.text) } as PriceRow
        const fields = { ...counted, billedUnits: each(({ quantity }) => quantity.text) }
        const event = stated('all', fields)
        const { costUsd, details } = priceInvocation(event, priceBook({ ...file, models: [row] }))

        // Millionths of a unit times billionths of a dollar, and rates of a million tokens: steps of 1e-18.
        const ofUnits = Object.values(drawn).map(({ quantity, price }) => {
          const millionths = BigInt(quantity.whole) * 1_000_000n + BigInt(quantity.part)
          return millionths * (BigInt(price.whole) * 1_000_000_000n + BigInt(price.part)) * 1_000n
        })
        const ofTokens = BigInt(counted?.inputTokens ?? 0) * 2n + BigInt(counted?.outputTokens ?? 0) * 8n
        const isAnything =
          ofTokens > 0n || Object.values(drawn).some(({ quantity: { whole, part } }) => whole + part > 0)
        const expected = ofUnits.reduce((sum, steps) => sum + steps, ofTokens * 1_000_000_000_000n)
        if (isAnything) expect(costUsd).toBe(expected)
        const { totalUsd, units: shown } = explainCost(details, event)
        expect(totalUsd).toBe(costUsd)
        if (isAnything) expect(shown).toHaveLength(ofUnits.filter((_, i) => isBilled(Object.values(drawn)[i])).length)
      }),
    )
  })

  const isBilled = (one: { quantity: { whole: number; part: number } } | undefined): boolean =>
    one !== undefined && one.quantity.whole + one.quantity.part > 0
})

test('the explanation has a line per unit, and says what it lacks', () => {
  const event = stated('draws', { inputTokens: 1000, outputTokens: 100, billedUnits: { images: '2.50', pages: '3' } })
  const { details } = priceInvocation(event, book)
  const { units, unpricedUnits, assumptions, scope, totalUsd } = explainCost(details, event)
  expect(units).toEqual([{ unit: 'images', quantity: '2.5', usdPerUnit: '0.04', amountUsd: '0.1' }])
  expect(unpricedUnits).toEqual(['pages'])
  expect(assumptions).toEqual(['No price per page is known. The cost leaves this unit out.'])
  expect(scope).toBe('tokens_and_units')
  expect(formatQuantity(totalUsd)).toBe('0.1028')
})
