import fc from 'fast-check'
import { expect, test } from 'vitest'
import { reachedThresholds, THRESHOLDS } from '../../../../internal/sentinel/budgets/budget.js'
import { parseQuantity, type Quantity, quantityOfSteps } from '../../../../internal/units/quantity.js'

const usd = (text: string): Quantity<'USD'> => parseQuantity<'USD'>(text) as Quantity<'USD'>

test.each([
  ['7.499999999999999999', []],
  ['7.5', [75]],
  ['9.999999999999999999', [75]],
  ['10', [75, 100]],
  ['15', [75, 100, 150]],
  ['0', []],
])('spend of %s reaches the thresholds %j of a ceiling of 10', (spent, reached) => {
  expect(reachedThresholds(usd(spent), usd('10'))).toEqual(reached)
})

test('the thresholds reached by more spend start with those reached by less', () => {
  const amount = fc.bigInt({ min: 0n, max: 10n ** 30n })
  fc.assert(
    fc.property(amount, amount, fc.bigInt({ min: 1n, max: 10n ** 30n }), (one, more, ceiling) => {
      const less = reachedThresholds(quantityOfSteps<'USD'>(one), quantityOfSteps<'USD'>(ceiling))
      const all = reachedThresholds(quantityOfSteps<'USD'>(one + more), quantityOfSteps<'USD'>(ceiling))
      expect(all.slice(0, less.length)).toEqual(less)
      expect(THRESHOLDS.slice(0, all.length)).toEqual(all)
    }),
  )
})
