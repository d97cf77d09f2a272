import { expect, test } from 'vitest'
import { otherRates } from '../../../../internal/console/figures/prices.js'

test('rates beside those of input and output are shown in words, also of tiers and above thresholds', () => {
  const rates = {
    input_tokens: '2',
    output_tokens: '8',
    cache_read_tokens: '0.5',
    reasoning_tokens: null,
    batch: { input_tokens: '1', output_tokens: '4', cache_read_tokens: null },
    thresholds: [{ above_input_tokens: 200_000, input_tokens: '4' }],
  }

  expect(otherRates(rates)).toEqual([
    'cached input 0.5',
    'batch: input 1, output 4',
    'above 200,000 input tokens: input 4',
  ])
})
