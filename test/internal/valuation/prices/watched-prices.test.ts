import { beforeAll, describe, expect, test } from 'vitest'
import { deriveTenantIds } from '../../../../internal/ids/ids.js'
import type { Invocation } from '../../../../internal/invocations/invocation.js'
import { formatQuantity } from '../../../../internal/units/quantity.js'
import { loadPriceBook, type PriceBook } from '../../../../internal/valuation/cost/price-book.js'
import { priceInvocation } from '../../../../internal/valuation/cost/price-invocation.js'
import {
  overrideFields,
  overrideKey,
  type StoredOverride,
  storedOverride,
} from '../../../../internal/valuation/prices/override.js'
import { WatchedPrices } from '../../../../internal/valuation/prices/watched-prices.js'
import { call } from '../../../support/attribution-events.js'
import { NOW_MS } from '../../../support/invocations.js'

let book: PriceBook
beforeAll(() => {
  book = loadPriceBook()
})

const FLAT = { input_tokens: '2', output_tokens: '8' }
const override = (stated: Record<string, unknown> = {}, tenantId = 'tnt_one'): StoredOverride => {
  const fields = { provider: 'openai', model: 'gpt-4o', valid_from: '2026-01-01T00:00:00Z', usd_per_million: FLAT }
  const parsed = overrideFields.parse({ ...fields, ...stated })
  return storedOverride(parsed, tenantId, deriveTenantIds(new Uint8Array(32), tenantId), NOW_MS)
}
const watching = (...overrides: readonly StoredOverride[]): WatchedPrices => {
  const prices = new WatchedPrices((id, what) => {
    throw new Error(`${id}: ${what}`)
  })
  // As a bucket gives them back.
  for (const each of overrides) prices.apply(overrideKey(each.tenant_id, each.id), JSON.parse(JSON.stringify(each)))
  return prices
}
/** A million tokens in and none out. */
const cost = (prices: WatchedPrices, stated: Partial<Invocation> = {}, tenantId = 'tnt_one'): string => {
  const invocation = call({ inputTokens: 1_000_000, outputTokens: 0, ...stated })
  const { basis, costUsd } = priceInvocation(invocation, book, prices.of(tenantId))
  return `${basis} ${formatQuantity(costUsd)}`
}

test('a price applies to its own tenant only', () => {
  const prices = watching(override())

  expect(cost(prices)).toBe('tenant_price 2')
  expect(cost(prices, {}, 'tnt_two')).toMatch(/^price_book/)
})

test('prices that are added, replaced or deleted apply immediately', () => {
  const prices = watching()
  const first = override()
  const key = overrideKey('tnt_one', first.id)

  expect(cost(prices)).toMatch(/^price_book/)
  prices.apply(key, first)
  expect(cost(prices)).toBe('tenant_price 2')
  prices.apply(key, { ...first, usd_per_million: { ...FLAT, input_tokens: '3' } })
  expect(cost(prices)).toBe('tenant_price 3')
  prices.apply(key, undefined)
  expect(cost(prices)).toMatch(/^price_book/)
})

test('prices of a tenant are compiled once per change', () => {
  const prices = watching(override())

  expect(prices.of('tnt_one')).toBe(prices.of('tnt_one'))
})

test('the period of a price includes its start and excludes its end', () => {
  const prices = watching(override({ valid_from: '2026-03-01T00:00:00Z', valid_to: '2026-04-01T00:00:00Z' }))

  expect(cost(prices, { eventTimeMs: Date.UTC(2026, 2, 1) - 1 })).toMatch(/^price_book/)
  expect(cost(prices, { eventTimeMs: Date.UTC(2026, 2, 1) })).toBe('tenant_price 2')
  expect(cost(prices, { eventTimeMs: Date.UTC(2026, 3, 1) - 1 })).toBe('tenant_price 2')
  expect(cost(prices, { eventTimeMs: Date.UTC(2026, 3, 1) })).toMatch(/^price_book/)
})

test('among several prices in force the one for the region wins, then the latest start', () => {
  const prices = watching(
    override({ usd_per_million: { ...FLAT, input_tokens: '5' } }),
    override({ valid_from: '2026-02-01T00:00:00Z', usd_per_million: { ...FLAT, input_tokens: '6' } }),
    override({ region: 'eu-west-1', usd_per_million: { ...FLAT, input_tokens: '7' } }),
  )

  expect(cost(prices)).toBe('tenant_price 6')
  expect(cost(prices, { region: 'eu-west-1' })).toBe('tenant_price 7')
})

describe('a table of rates', () => {
  const prices = watching(
    override({
      usd_per_million: {
        ...FLAT,
        cache_read_tokens: '0.5',
        batch: { input_tokens: '1', output_tokens: '4' },
        thresholds: [
          { above_input_tokens: 800_000, input_tokens: '20' },
          { above_input_tokens: 200_000, input_tokens: '4', batch: { input_tokens: '3', output_tokens: '6' } },
        ],
      },
    }),
  )

  test.each<[string, Partial<Invocation>, string]>([
    ['the base', { inputTokens: 200_000 }, 'tenant_price 0.4'],
    ['beyond a threshold', { inputTokens: 200_001 }, 'tenant_price 0.800004'],
    ['beyond the last threshold', { inputTokens: 1_000_000 }, 'tenant_price 20'],
    ['cached', { inputTokens: 100_000, cachedInputTokens: 100_000 }, 'tenant_price 0.05'],
    ['batch', { inputTokens: 100_000, serviceTier: 'batch' }, 'tenant_price 0.1'],
    ['batch beyond a threshold', { inputTokens: 300_000, serviceTier: 'batch' }, 'tenant_price 0.9'],
    ['a tier without rates', { inputTokens: 100_000, serviceTier: 'flex' }, 'unpriced 0'],
  ])('%s', (_, stated, expected) => {
    expect(cost(prices, stated)).toBe(expected)
  })
})

test('an invalid price is ignored and reported, and the others apply', () => {
  const told: string[] = []
  const prices = new WatchedPrices((id, what) => told.push(`${id} ${what}`))
  const good = override()
  const bad = { ...override({ model: 'o3' }), id: 'prc_0', usd_per_million: { input_tokens: 'much' } }
  for (const each of [bad, good]) prices.apply(overrideKey('tnt_one', each.id), each)

  expect(cost(prices)).toBe('tenant_price 2')
  expect(told).toEqual(['prc_0 no_input_or_output_rate'])
})
