import { expect, test } from 'vitest'
import { costOfTokens, otherRates } from '../../../../internal/console/figures/prices.js'

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

test('tokens cost what the rates of a million say, exactly', () => {
  expect(costOfTokens([1_234_567, 890], ['2.50', '10'])).toBe('3.0953175')
  expect(costOfTokens([0, 0], ['2.5', '10'])).toBe('0')
  expect(costOfTokens([null, 890], ['2.5', '10'])).toBeUndefined()
  expect(costOfTokens([1, 1], ['2.5', ''])).toBeUndefined()
})
