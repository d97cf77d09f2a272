import fc from 'fast-check'
import { expect, test } from 'vitest'
import { withoutDoubleNoise } from '../../../internal/text/double-digits.js'
import { JsonSelector } from '../../../internal/text/select-json.js'

test.each([
  // Costs that LiteLLM 1.108.7 stated.
  ['0.00021779999999999998', 0.0002178],
  ['0.0016231499999999999', 0.00162315],
  ['0.004936500000000001', 0.0049365],
  ['2.3749999999999998e-05', 0.00002375],
  ['8.999999999999999e-05', 0.00009],
  ['-0.30000000000000004', -0.3],
  ['1999.9999999999998', 2000],
])('%s is %d', (digits, exact) => {
  expect(withoutDoubleNoise(digits)).not.toBe(digits)
  expect(Number(withoutDoubleNoise(digits))).toBe(exact)
})

test.each(['0', '0.003555', '123456789012.345', '0.000000000123456789012345', '1.50000000000000000000'])(
  '%s has no more digits than a double holds and stays',
  (digits) => expect(withoutDoubleNoise(digits)).toBe(digits),
)

test.each(['0.123456789012345678', '12.345678901234567890'])(
  '%s has more digits than the name of a double and stays',
  (digits) => expect(withoutDoubleNoise(digits)).toBe(digits),
)

test('sums of prices in doubles are the exact sums', () => {
  const price = fc.record({ tokens: fc.nat(2_000_000), perMillion: fc.nat(100_000) })
  fc.assert(
    fc.property(fc.array(price, { minLength: 1, maxLength: 8 }), (parts) => {
      const exact = parts.reduce((sum, { tokens, perMillion }) => sum + BigInt(tokens) * BigInt(perMillion), 0n)
      const asDoubles = parts.reduce((sum, { tokens, perMillion }) => sum + tokens * (perMillion / 1e9), 0)
      expect(Number(withoutDoubleNoise(`${asDoubles}`))).toBe(Number(`${exact}e-9`))
    }),
  )
})

test('a number is read without the noise, a text as it is', () => {
  const selector = new JsonSelector({ number: 'digits', text: 'digits' })
  const { value } = selector.select(Buffer.from('{"number":0.1000000000000001,"text":"0.1000000000000001"}')) ?? {}

  expect(value).toEqual({ number: '100000000000000e-15', text: '0.1000000000000001' })
})
