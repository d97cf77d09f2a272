import fc from 'fast-check'
import { expect, test } from 'vitest'
import { apportion } from '../../../internal/units/apportion.js'

test('what cutting leaves goes to those that lost most, then to the first', () => {
  expect(apportion(100n, [1n, 1n, 1n], 3n)).toEqual([34n, 33n, 33n])
  expect(apportion(10n, [1n, 2n], 3n)).toEqual([3n, 7n])
  expect(apportion(0n, [1n, 2n], 3n)).toEqual([0n, 0n])
})

test('portions that are more or less than the whole are a defect', () => {
  expect(() => apportion(1n, [1n, 1n], 3n)).toThrow(RangeError)
})

test('shares sum to the total, and each is within a step of the exact one', () => {
  const amount = fc.bigInt({ min: -(10n ** 38n), max: 10n ** 38n })
  fc.assert(
    fc.property(amount, fc.array(fc.bigInt({ min: 0n, max: 10n ** 12n }), { minLength: 1 }), (total, portions) => {
      const whole = portions.reduce((sum, portion) => sum + portion, 0n)
      fc.pre(whole > 0n)

      const shares = apportion(total, portions, whole)

      expect(shares.reduce((sum, share) => sum + share, 0n)).toBe(total)
      for (const [i, portion] of portions.entries()) {
        const off = (shares[i] ?? 0n) * whole - portion * total
        expect(off > -whole && off < whole).toBe(true)
      }
    }),
  )
})
