import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type LitellmRow, litellmRows, litellmUsd } from '../../../bench/prices/litellm-map.js'
import { VECTORS, type Vector, type VectorName } from '../../../bench/prices/vectors.js'

const FRIDAY_NOON = Date.parse('2026-11-27T12:00:00Z')
const usd = (row: LitellmRow, name: VectorName, atMs = FRIDAY_NOON): number | undefined =>
  litellmUsd(row, VECTORS.find((each) => each.name === name) as Vector, atMs)

test('a part of the input has its own rate, or the map states none', () => {
  const row = {
    input_cost_per_token: 3e-6,
    output_cost_per_token: 15e-6,
    cache_read_input_token_cost: 0.3e-6,
    cache_creation_input_token_cost: 3.75e-6,
    input_cost_per_audio_token: 40e-6,
  }

  expect(usd(row, 'input')).toBeCloseTo(0.3, 12)
  expect(usd(row, 'cache read')).toBeCloseTo(0.03, 12)
  expect(usd(row, 'write 5 m')).toBeCloseTo(0.375, 12)
  expect(usd(row, 'write 1 h')).toBeUndefined()
  expect(usd(row, 'audio in')).toBeCloseTo(0.4, 12)
  expect(usd(row, 'audio out')).toBeUndefined()
})

test('a tier is stated by both of its rates', () => {
  const row = { input_cost_per_token: 2e-6, output_cost_per_token: 8e-6, input_cost_per_token_batches: 1e-6 }

  expect(usd(row, 'batch')).toBeUndefined()
  expect(usd({ ...row, output_cost_per_token_batches: 4e-6 }, 'batch')).toBeCloseTo(0.14, 12)
  expect(usd(row, 'flex')).toBeUndefined()
})

test('above the highest threshold passed the whole request has its rates, others keep theirs', () => {
  const row = {
    input_cost_per_token: 1e-6,
    input_cost_per_token_above_128k_tokens: 2e-6,
    input_cost_per_token_above_200k_tokens: 3e-6,
    input_cost_per_token_above_512k_tokens: 9e-6,
    input_cost_per_token_above_200k_tokens_priority: 7e-6,
    output_cost_per_token: 10e-6,
  }

  expect(usd(row, 'input')).toBeCloseTo(0.1, 12)
  expect(usd(row, '300,000')).toBeCloseTo(0.9 + 0.1, 12)
})

test('a row without output is an embedding; one without input, or free, states no price', () => {
  expect(usd({ input_cost_per_token: 1e-7 }, 'input')).toBeCloseTo(0.01, 12)
  expect(usd({ input_cost_per_token: 1e-7 }, 'output')).toBeUndefined()
  expect(usd({ output_cost_per_token: 1e-7 }, 'output')).toBeUndefined()
  expect(usd({ input_cost_per_token: 0, output_cost_per_token: 0 }, 'input')).toBeUndefined()
})

test.each([
  ['2026-11-27T09:59:00Z', 3],
  ['2026-11-27T10:00:00Z', 1],
  ['2026-11-27T23:59:00Z', 1],
  ['2026-11-29T03:00:00Z', 1],
])('at %s a row with cheap hours costs %d', (at, expected) => {
  const row = {
    input_cost_per_token: 3e-5,
    off_peak_pricing: {
      input_cost_per_token: 1e-5,
      windows: [
        { hours_utc: ['00:00-01:00', '10:00-00:00'], weekdays: [1, 2, 3, 4, 5] },
        { hours_utc: '00:00-00:00', weekdays: [6, 7] },
      ],
    },
  }

  expect(usd(row, 'input', Date.parse(at))).toBeCloseTo(expected, 9)
})

test('the vectors are linear in the rates', () => {
  const rate = fc.double({ min: 1e-9, max: 1e-3, noNaN: true })

  fc.assert(
    fc.property(rate, rate, rate, (input, output, read) => {
      const row = {
        input_cost_per_token: input,
        output_cost_per_token: output,
        cache_read_input_token_cost: read,
      }
      const long = usd(row, '300,000') as number
      expect(long).toBeCloseTo(3 * (usd(row, 'input') as number) + (usd(row, 'output') as number), 6)
      expect(usd(row, 'cache read')).toBeCloseTo(100_000 * read, 9)
    }),
  )
})

test('rows are found whatever the case of their keys', () => {
  const row = { input_cost_per_token: 1 }

  expect(litellmRows({ 'together_ai/Qwen/Qwen3': row }).get('together_ai/qwen/qwen3')).toBe(row)
})
