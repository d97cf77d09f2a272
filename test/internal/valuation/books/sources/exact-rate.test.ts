import fc from 'fast-check'
import { expect, test } from 'vitest'
import { canonicalRate, rateOf } from '../../../../../internal/valuation/books/sources/exact-rate.js'

test('a price per token is a rate per million tokens, to the last digit', () => {
  expect(rateOf('1.5e-07', 6)).toBe('0.15')
  expect(rateOf('0.0000001', 6)).toBe('0.1')
  expect(rateOf('3e-9', 6)).toBe('0.003')
  expect(rateOf('.15')).toBe('0.15')
  expect(rateOf('2e1')).toBe('20')
})

test('what binary arithmetic left of a price is rounded away', () => {
  expect(rateOf('2.4999999999999998e-06', 6)).toBe('2.5')
  expect(rateOf('0.111', 0, 3600n)).toBe('0.000030833333')
  expect(rateOf('2', -3)).toBe('0.002')
})

test('text that is no decimal number, and a price too large for a rate, have no rate', () => {
  for (const text of ['', '-1', 'NaN', '1e999', '1e', '0x1', 'free', '1,5']) expect(rateOf(text)).toBeUndefined()
  expect(rateOf('1e10')).toBeUndefined()
})

test('any rate that the book may have is read from each spelling of it', () => {
  const steps = fc.bigInt({ min: 0n, max: 10n ** 21n - 1n })
  fc.assert(
    fc.property(steps, fc.integer({ min: -12, max: 12 }), (coefficient, shift) => {
      const digits = coefficient.toString().padStart(13, '0')
      const plain = `${digits.slice(0, -12)}.${digits.slice(-12)}`
      const spelled = `${digits}e${-12 + shift}`

      expect(rateOf(spelled, -shift)).toBe(canonicalRate(plain))
      expect(canonicalRate(canonicalRate(plain))).toBe(canonicalRate(plain))
    }),
  )
})
