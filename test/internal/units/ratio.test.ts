import fc from 'fast-check'
import { expect, test } from 'vitest'
import { add, ceiling, divide, multiply, overCommonDenominator, ratio } from '../../../internal/units/ratio.js'

test('a decimal is read exactly and reduced', () => {
  expect(ratio('0.0625')).toEqual({ numerator: 1n, denominator: 16n })
  expect(ratio('440')).toEqual({ numerator: 440n, denominator: 1n })
})

test('a text that is not a plain decimal is refused', () => {
  for (const text of ['', '-1', '1e3', '.5', '1.']) expect(() => ratio(text)).toThrow(RangeError)
  expect(() => divide(ratio('1'), ratio('0'))).toThrow(RangeError)
})

test('the ceiling is the smallest integer that is not below', () => {
  expect([ratio('13.2'), ratio('13'), ratio('0')].map(ceiling)).toEqual([14n, 13n, 0n])
})

test('numerators over one denominator still stand for the same fractions', () => {
  const ratios = [divide(ratio('1'), ratio('3')), ratio('0.25'), ratio('0')]

  expect(overCommonDenominator(ratios)).toEqual({ numerators: [4n, 3n, 0n], denominator: 12n })
})

test('multiplication distributes over addition', () => {
  const fractions = fc
    .tuple(fc.bigInt({ min: 0n, max: 10n ** 20n }), fc.bigInt({ min: 1n, max: 10n ** 20n }))
    .map(([above, below]) => divide(ratio(String(above)), ratio(String(below))))
  fc.assert(
    fc.property(fractions, fractions, fractions, (a, b, c) => {
      expect(multiply(a, add(b, c))).toEqual(add(multiply(a, b), multiply(a, c)))
    }),
  )
})
