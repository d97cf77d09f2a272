import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { loadPriceBookFile } from '../../../../internal/valuation/cost/price-book.js'
import {
  boundsOf,
  factorsOutOfBounds,
  isWithinBounds,
  type RateClass,
  ratesOutOfBounds,
} from '../../../../internal/valuation/cost/rate-bounds.js'
import type { RateSheet } from '../../../../internal/valuation/cost/rate-sheet.js'

/** In millionths, so that no fraction is drawn. */
const decimal = (millionths: bigint): string =>
  `${millionths / 1_000_000n}.${String(millionths % 1_000_000n).padStart(6, '0')}`
const millionths = (text: string): bigint => {
  const [whole = '0', fraction = ''] = text.split('.')
  return BigInt(whole) * 1_000_000n + BigInt(fraction.padEnd(6, '0'))
}
const reference = fc.bigInt({ min: 1n, max: 100_000_000n })
/** In hundredths of the reference. */
const ratio = fc.bigInt({ min: 1n, max: 12_000n })

/** A price list in which one rate has the ratio to its reference, all others are in the middle of their bounds. */
const SHEETS: readonly (readonly [RateClass, (rate: string, reference: string) => RateSheet])[] = [
  ['cache_read', (rate, input) => ({ input, cache_read: rate })],
  ['cache_write', (rate, input) => ({ input, cache_write: rate })],
  ['cache_write_1h', (rate, input) => ({ input, cache_write_1h: rate })],
  ['audio_input', (rate, input) => ({ input, audio_input: rate })],
  ['audio_output', (rate, output) => ({ output, audio_output: rate })],
  ['audio_cache_read', (rate, input) => ({ input, audio_cache_read: rate })],
  ['image_input', (rate, input) => ({ input, image_input: rate })],
  ['image_output', (rate, output) => ({ output, image_output: rate })],
  ['reasoning', (rate, output) => ({ output, reasoning: rate })],
  ['batch', (rate, input) => ({ input, batch: { input: rate } })],
  ['flex', (rate, output) => ({ output, flex: { output: rate } })],
  ['priority', (rate, input) => ({ input, tiers: [{ above: 9, priority: { input: rate } }] })],
  ['threshold', (rate, output) => ({ output, bands: [{ over: 0, up_to: 9, output: rate }] })],
]

describe('a rate outside the bounds of its class', () => {
  test.each(SHEETS)('is found, and one inside is not: %s', (of, sheet) => {
    const { least, most } = boundsOf(of)
    fc.assert(
      fc.property(reference, ratio, (base, hundredths) => {
        const isInside = hundredths * 10_000n >= millionths(least) && hundredths * 10_000n <= millionths(most)
        const rate = decimal(base * hundredths)
        const found = ratesOutOfBounds(sheet(rate, decimal(base * 100n)))

        expect(found.map((each) => each.class)).toEqual(isInside ? [] : [of])
        expect(isWithinBounds(of, rate, decimal(base * 100n))).toBe(isInside)
      }),
    )
  })

  test('may be either bound itself', () => {
    for (const [of] of SHEETS) {
      const { least, most } = boundsOf(of)
      expect([isWithinBounds(of, least, '1'), isWithinBounds(of, most, '1')]).toEqual([true, true])
    }
  })

  test('is no cache write of 0, which states that there is no surcharge', () => {
    expect(ratesOutOfBounds({ input: '1', cache_write: '0', cache_write_1h: '0.0' })).toEqual([])
    expect(ratesOutOfBounds({ input: '1', cache_write: '0.1' })).toMatchObject([{ class: 'cache_write' }])
  })

  test('is compared with the rates of its own service tier, or with those beyond its threshold', () => {
    const batch = { input: '0.5', output: '1', cache_write_1h: '2' }

    expect(ratesOutOfBounds({ input: '1', output: '2', batch })).toMatchObject([
      { class: 'cache_write_1h', reference: '0.5' },
    ])
    expect(
      ratesOutOfBounds({ input: '1', cache_read: '0.5', tiers: [{ above: 9, input: '2', cache_read: '1.5' }] }),
    ).toEqual([])
  })

  test('may be a factor on all tokens', () => {
    expect(factorsOutOfBounds({ eu: '1.1', fast: '6' })).toEqual([])
    expect(factorsOutOfBounds({ eu: '6', us: '0.9', fast: '7' })).toEqual(['eu', 'us', 'fast'])
  })
})

test('no rate of the built-in book is outside the bounds of its class: rows, tiers, bands, periods, windows, factors', () => {
  const { models, history } = loadPriceBookFile()
  const rows = models.map((row) => [`${row.provider}/${row.model}@${row.region ?? ''}`, row] as const)
  const periods = history.flatMap((each) =>
    each.periods.flatMap(({ from, price, windows = [] }) =>
      [price, ...windows.map((window) => window.price)].map((sheet) => [`${each.models[0]} ${from}`, sheet] as const),
    ),
  )
  const factors = models.flatMap(({ model, multipliers, residency_multiplier }) =>
    factorsOutOfBounds({ ...multipliers, ...residency_multiplier }).map((factor) => `${model} ${factor}`),
  )

  expect(
    [...rows, ...periods].flatMap(([name, sheet]) => ratesOutOfBounds(sheet).map((rate) => ({ name, ...rate }))),
  ).toEqual([])
  expect(factors).toEqual([])
})
