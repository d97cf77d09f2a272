import fc from 'fast-check'
import { expect, test } from 'vitest'
import { DEFAULT_SETTINGS } from '../../../../internal/auth/tenant.js'
import { parseQuantity, type Quantity, quantityOfSteps } from '../../../../internal/units/quantity.js'
import { costLimits, isImplausible } from '../../../../internal/valuation/cost/plausible-cost.js'

const usd = (text: string): Quantity<'USD'> => {
  const amount = parseQuantity<'USD'>(text)
  if (amount === undefined) throw new Error(text)
  return amount
}
const limits = costLimits(DEFAULT_SETTINGS)
const of = (stated: string, priced?: string) =>
  isImplausible(usd(stated), priced === undefined ? undefined : usd(priced), limits)

test.each([
  ['2', '0.1', false],
  ['2.000000000000000001', '0.1', true],
  ['0.005', '0.1', false],
  ['0.004999999999999999', '0.1', true],
  ['0', '0.1', true],
  // The gateway rounded to five decimals.
  ['0.00001', '0.0000000001', false],
  ['0', '0.00001', false],
  // A free model has no price to be compared with.
  ['5', '0', false],
])('%s beside a price of %s: implausible is %s', (stated, priced, expected) => {
  expect(of(stated, priced)).toBe(expected)
})

test('the ceiling applies with and without a price', () => {
  expect([of('1000'), of('1000.000000000000000001'), of('1001', '1000')]).toEqual([false, true, true])
})

test('neither side of a difference is treated differently', () => {
  const amounts = fc.bigInt(1n, 10n ** 20n).map((steps) => quantityOfSteps<'USD'>(steps))
  fc.assert(
    fc.property(amounts, amounts, (one, other) => {
      expect(isImplausible(one, other, limits)).toBe(isImplausible(other, one, limits))
    }),
  )
})
