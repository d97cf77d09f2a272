import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  findGenaiModel,
  type GenaiModel,
  type GenaiProvider,
  genaiProviders,
  genaiUsd,
  usdOf,
} from '../../../bench/prices/genai-book.js'
import { VECTORS, type Vector, type VectorName } from '../../../bench/prices/vectors.js'

const NOON = Date.parse('2026-11-27T12:00:00Z')
const vector = (name: VectorName): Vector => VECTORS.find((each) => each.name === name) as Vector
const model = (rest: Partial<GenaiModel>): GenaiModel => ({ id: 'm', match: { equals: 'm' }, prices: {}, ...rest })

test('of conditional prices the last that holds counts, and without one that holds the first', () => {
  const dated = model({
    prices: [
      { prices: { input_mtok: 4 } },
      { constraint: { start_date: '2026-05-01' }, prices: { input_mtok: 3 } },
      { constraint: { start_date: '2027-01-01' }, prices: { input_mtok: 2 } },
    ],
  })
  const announced = model({ prices: [{ constraint: { start_date: '2027-01-01' }, prices: { input_mtok: 9 } }] })

  expect(genaiUsd(dated, vector('input'), NOON)).toBeCloseTo(0.3, 12)
  expect(genaiUsd(dated, vector('input'), Date.parse('2026-04-30T23:59:59Z'))).toBeCloseTo(0.4, 12)
  expect(genaiUsd(announced, vector('input'), NOON)).toBeCloseTo(0.9, 12)
})

test.each([
  ['22:00:00Z', '04:00:00Z', '2026-11-27T03:59:00Z', true],
  ['22:00:00Z', '04:00:00Z', '2026-11-27T04:00:00Z', false],
  ['09:00:00+08:00', '12:00:00+08:00', '2026-11-27T01:00:00Z', true],
  ['09:00:00+08:00', '12:00:00+08:00', '2026-11-27T09:30:00Z', false],
])('a price from %s to %s holds at %s: %s', (from, to, at, holds) => {
  const windowed = model({
    prices: [
      { prices: { input_mtok: 1 } },
      { constraint: { start_time: from, end_time: to }, prices: { input_mtok: 5 } },
    ],
  })

  expect(genaiUsd(windowed, vector('input'), Date.parse(at))).toBeCloseTo(holds ? 0.5 : 0.1, 12)
})

test('a variant overrides price by price, and a tier without one has no price', () => {
  const tiered = model({
    prices: { input_mtok: 4, output_mtok: 8 },
    price_variants: [
      { when: { processing: 'batch' }, prices: { input_mtok: 2 } },
      { when: { processing: 'batch' }, prices: { input_mtok: 1, output_mtok: 4 } },
      { when: { service_tier: 'flex', region: 'eu' }, prices: { input_mtok: 1 } },
      { when: { service_tier: 'priority' }, prices: { web_searches_kcount: 5 } },
    ],
  })

  expect(genaiUsd(tiered, vector('batch'), NOON)).toBeCloseTo(0.24, 12)
  expect(genaiUsd(tiered, vector('flex'), NOON)).toBeUndefined()
  expect(genaiUsd(tiered, vector('priority'), NOON)).toBeUndefined()
})

test('above a threshold the whole request has its price, at it not yet', () => {
  const long = {
    input_mtok: {
      base: 1,
      tiers: [
        { start: 200_000, price: 3 },
        { start: 100_000, price: 2 },
      ],
    },
  }

  expect(usdOf(long, { input: 100_000, output: 0 })).toBeCloseTo(0.1, 12)
  expect(usdOf(long, { input: 100_001, output: 0 })).toBeCloseTo(0.200002, 12)
  expect(usdOf(long, { input: 300_000, output: 0 })).toBeCloseTo(0.9, 12)
})

test('a part without a price of its own is not stated, and a write of one hour costs that of any', () => {
  const plain = model({ prices: { input_mtok: 4, output_mtok: 8 } })
  const cached = model({ prices: { input_mtok: 4, cache_read_mtok: 0.4, cache_write_mtok: 5 } })

  expect(genaiUsd(plain, vector('cache read'), NOON)).toBeUndefined()
  expect(genaiUsd(cached, vector('cache read'), NOON)).toBeCloseTo(0.04, 12)
  expect(genaiUsd(cached, vector('write 5 m'), NOON)).toBeCloseTo(0.5, 12)
  expect(genaiUsd(cached, vector('write 1 h'), NOON)).toBeCloseTo(0.5, 12)
})

test('whichever parts have a price, each token is billed once', () => {
  const part = fc.integer({ min: 0, max: 1_000 })
  const usage = fc.record({
    cacheRead: part,
    cacheWrite5m: part,
    cacheWrite1h: part,
    audioInput: part,
    audioOutput: part,
    textInput: part,
    textOutput: part,
  })
  const keys = fc.subarray([
    'cache_write_5m_mtok',
    'cache_write_1h_mtok',
    'cache_write_mtok',
    'cache_read_mtok',
    'input_audio_mtok',
    'output_audio_mtok',
  ])

  fc.assert(
    fc.property(usage, keys, ({ textInput, textOutput, ...parts }, priced) => {
      const input = textInput + parts.cacheRead + parts.cacheWrite5m + parts.cacheWrite1h + parts.audioInput
      const output = textOutput + parts.audioOutput
      const prices = Object.fromEntries(['input_mtok', 'output_mtok', ...priced].map((key) => [key, 1]))

      expect(usdOf(prices, { input, output, ...parts }) * 1_000_000).toBeCloseTo(input + output, 6)
    }),
  )
})

test('a name is found by the rules of its provider, of those it lends from without their tiers, and by its date', () => {
  const price_variants = [{ when: { processing: 'batch' }, prices: { input_mtok: 1 } }]
  const lender: GenaiProvider = {
    id: 'lender',
    models: [
      model({ id: 'one', match: { or: [{ equals: 'One' }, { and: [{ starts_with: 'on' }, { ends_with: 'e!' }] }] } }),
      model({ id: 'dated', match: { regex: '^two-2025-\\d\\d-\\d\\d$' }, price_variants }),
      model({ id: 'three', match: { contains: 'thr' } }),
    ],
  }
  const borrower: GenaiProvider = { id: 'borrower', models: [], fallback_model_providers: ['lender'] }
  const find = (provider: string, name: string) => findGenaiModel([borrower, lender], provider, name)

  expect(find('lender', 'ONE')?.id).toBe('one')
  expect(find('lender', 'onxe!')?.id).toBe('one')
  expect(find('lender', 'a-three')?.id).toBe('three')
  expect(find('lender', 'two-20251211')?.price_variants).toEqual(price_variants)
  expect(find('borrower', 'two-20251211')).toMatchObject({ id: 'dated', price_variants: [] })
  expect(find('lender', 'two-20251311')).toBeUndefined()
  expect(find('nobody', 'one')).toBeUndefined()
})

test('the data are a list of providers, or an object with one', () => {
  const providers: GenaiProvider[] = [{ id: 'p', models: [] }]

  expect(genaiProviders(providers)).toBe(providers)
  expect(genaiProviders({ providers })).toBe(providers)
})
