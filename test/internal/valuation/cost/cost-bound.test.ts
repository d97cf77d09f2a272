import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { rowEligibility } from '../../../../internal/attribution/changes/row-eligibility.js'
import { DEFAULT_SETTINGS } from '../../../../internal/auth/tenant.js'
import type { Invocation } from '../../../../internal/invocations/invocation.js'
import { formatQuantity } from '../../../../internal/units/quantity.js'
import { consumptionRules } from '../../../../internal/valuation/consumption.js'
import { costBoundOf } from '../../../../internal/valuation/cost/cost-bound.js'
import { explainCost } from '../../../../internal/valuation/cost/explain-cost.js'
import { type PriceRow, priceBook } from '../../../../internal/valuation/cost/price-book.js'
import { priceInvocation } from '../../../../internal/valuation/cost/price-invocation.js'
import { call } from '../../../support/attribution-events.js'
import { admitted } from '../../../support/invocations.js'
import { bookOf, priceRow } from '../../../support/price-books.js'
import { finishedRow } from '../../../support/rows.js'

const bookWith = (rates: Partial<PriceRow>, input = '2') => priceBook(bookOf([priceRow('gpt-4o', input, '8', rates)]))
const priced = (event: Partial<Invocation>, rates: Partial<PriceRow> = {}, input?: string) =>
  priceInvocation(call(event), bookWith(rates, input))
const boundOf = (...of: Parameters<typeof priced>) => costBoundOf(priced(...of).details)

const CACHED = { inputTokens: 1_000, outputTokens: 10, cachedInputTokens: 800 }
const SENTENCE = 'No rate for cache reads is known. Cached tokens at the input rate: an upper bound.'

describe('a cost is an upper bound', () => {
  test.each<[string, Partial<Invocation>, Partial<PriceRow>]>([
    ['without a rate for cached text', CACHED, {}],
    ['without one of the service tier', { ...CACHED, serviceTier: 'flex' }, { flex: { input: '1', output: '4' } }],
    ['without one for audio', { inputTokens: 90, cachedInputTokens: 90, audioInputTokens: 90 }, { audio_input: '9' }],
    ['without one for images', { inputTokens: 70, cachedInputTokens: 70, imageInputTokens: 70 }, {}],
  ])('%s, and the card says so', (_, event, rates) => {
    const { details } = priced(event, rates)
    expect(costBoundOf(details)).toBe('upper')
    expect(explainCost(details, call(event)).assumptions).toContain(SENTENCE)
    expect(details.price?.confidence).toBeLessThanOrEqual(0.7)
  })

  test.each<[string, Partial<Invocation>, Partial<PriceRow>, string?]>([
    ['whose cache has a rate', CACHED, { cache_read: '0.2' }],
    ['whose cached audio has that of cached text', { ...CACHED, audioInputTokens: 900 }, { cache_read: '0.2' }],
    ['that reads no cache', { ...CACHED, cachedInputTokens: 0 }, {}],
    ['whose input costs nothing', CACHED, {}, '0'],
    ['of which a stated cost counts', { ...CACHED, estimatedCostUsd: '0.002' }, {}],
    ['that the own cache answered', { ...CACHED, servedFromCache: true }, {}],
    ['that nobody is billed for', { ...CACHED, isCostNotional: true }, {}],
  ])('not of a call %s', (_, event, rates, input) => {
    expect(boundOf(event, rates, input)).toBeUndefined()
  })

  test('where a stated cost is not trusted, since the price counts', () => {
    const event = call({ ...CACHED, estimatedCostUsd: '0.002' })
    expect(costBoundOf(priceInvocation(event, bookWith({}), undefined, { isTrusted: false }).details)).toBe('upper')
  })
})

test('cached audio without a rate costs what uncached audio does, not what cached text does', () => {
  const event = { inputTokens: 1_000, outputTokens: 0, cachedInputTokens: 800, audioInputTokens: 800 }
  const stated = { ...event, cachedAudioInputTokens: 800 }
  const { details, costUsd } = priced(stated, { audio_input: '40', cache_read: '0.2' })

  expect(formatQuantity(costUsd)).toBe('0.0324')
  expect(costBoundOf(details)).toBe('upper')
  expect(explainCost(details, call(stated)).totalUsd).toBe(costUsd)
  // Where audio costs what text does, its cache does, too.
  const alike = priced(stated, { audio_input: '2.0', cache_read: '0.2' })
  expect(formatQuantity(alike.costUsd)).toBe('0.00056')
  expect(costBoundOf(alike.details)).toBeUndefined()
})

test('a cost is a lower bound if it lacks what has no price: a unit, or all of it', () => {
  const units = { units: { pages: '0.002' } }
  expect(boundOf({ billedUnits: { pages: '3', documents: '1' } }, units)).toBe('lower')
  expect(boundOf({ billedUnits: { seconds: '2' } }, units)).toBe('lower')
  expect(boundOf({ billedUnits: { pages: '3' } }, units)).toBeUndefined()
  expect(boundOf({ requestedModel: 'unheard-of' })).toBe('lower')
  expect(boundOf({ inputTokens: undefined })).toBe('lower')
  expect(boundOf({ requestedModel: 'unheard-of', estimatedCostUsd: '1' })).toBeUndefined()
})

test('a cost that lacks a part and has its cached tokens at the input rate is neither', () => {
  expect(boundOf({ ...CACHED, billedUnits: { seconds: '2' } })).toBeUndefined()
})

const valued = (event: Partial<Invocation>, charges: boolean) =>
  consumptionRules(
    () => bookWith({}),
    () => undefined,
    () => ({ ...DEFAULT_SETTINGS, charge_upper_bounds: charges }),
  )(admitted({ invocation: event }))

describe('an upper bound', () => {
  const eligibility = (event: Partial<Invocation>, charges: boolean) =>
    rowEligibility({ ...finishedRow(), ...valued(event, charges) })

  test('is charged back only by a tenant that says so', () => {
    expect(eligibility(CACHED, false)).toBe('cost_upper_bound')
    expect(eligibility(CACHED, true)).toBe('eligible')
    expect(valued(CACHED, true)).toMatchObject({ costBound: 'upper', costUsd: valued(CACHED, false).costUsd })
    expect(eligibility({ ...CACHED, cachedInputTokens: 0 }, false)).toBe('eligible')
  })

  test('leaves the details of every other call as they are', () => {
    const other = { ...CACHED, cachedInputTokens: 0 }
    expect(valued(other, true).costDetails).toBe(valued(other, false).costDetails)
  })
})

const count = (max: number) => fc.integer({ min: 0, max })
const rate = fc.constantFrom('0', '0.5', '2', '9')
const drawn = fc.record({
  cached: count(500),
  uncached: count(500),
  audio: count(300),
  stated: fc.constantFrom(undefined, '0.001'),
  unit: fc.constantFrom(undefined, 'pages', 'seconds'),
  input: rate,
  rates: fc.record({ audio_input: rate, units: fc.constant({ pages: '0.002' }) }, { requiredKeys: [] }),
})

test('whatever is called and priced: no rate for the cache up to that of input makes an upper bound cost more', () => {
  fc.assert(
    fc.property(drawn, fc.constantFrom(0, 1, 3, 4), (of, quarters) => {
      const event = {
        inputTokens: of.cached + of.uncached,
        outputTokens: 5,
        cachedInputTokens: of.cached,
        audioInputTokens: Math.min(of.audio, of.cached + of.uncached),
        ...(of.stated !== undefined && { estimatedCostUsd: of.stated }),
        ...(of.unit !== undefined && { billedUnits: { [of.unit]: '2' } }),
      }
      const { details, costUsd, basis } = priced(event, of.rates, of.input)
      const bound = costBoundOf(details)
      const part = (uncached: string) => String((Number(uncached) * quarters) / 4)
      const cached = { cache_read: part(of.input), audio_cache_read: part(of.rates.audio_input ?? of.input) }
      const known = priced(event, { ...of.rates, ...cached }, of.input)
      const atInput = explainCost(details, call(event)).lines.some(
        ({ part, amountUsd }) => part.endsWith('cache_read') && amountUsd !== '0',
      )

      expect(bound === 'upper').toBe(atInput && basis === 'price_book')
      expect(bound === 'lower').toBe(!atInput && basis === 'unpriced')
      if (bound === 'upper') {
        expect(known.costUsd <= costUsd, `${formatQuantity(known.costUsd)} of ${formatQuantity(costUsd)}`).toBe(true)
        expect(costBoundOf(known.details)).toBeUndefined()
      } else if (basis !== 'unpriced') {
        expect(known.costUsd).toBe(costUsd)
      }
    }),
  )
})
