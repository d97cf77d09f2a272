import fc from 'fast-check'
import { expect, test } from 'vitest'
import { divideHalfEven } from '../../../internal/units/half-even.js'

test('a tie goes to the even neighbour, all else to the nearest', () => {
  const halves = [0n, 1n, 2n, 3n, 4n, 5n, 6n, 7n].map((numerator) => divideHalfEven(numerator, 2n))

  expect(halves).toEqual([0n, 0n, 1n, 2n, 2n, 2n, 3n, 4n])
  expect([divideHalfEven(249n, 100n), divideHalfEven(251n, 100n)]).toEqual([2n, 3n])
})

test('the result is never further than half a step from the exact quotient', () => {
  const amounts = fc.bigInt({ min: 0n, max: 10n ** 60n })
  const denominators = fc.bigInt({ min: 1n, max: 10n ** 40n })
  fc.assert(
    fc.property(amounts, denominators, (numerator, denominator) => {
      const off = divideHalfEven(numerator, denominator) * denominator - numerator
      return (off < 0n ? -off : off) * 2n <= denominator
    }),
  )
})
