import fc from 'fast-check'
import { expect, test } from 'vitest'
import { costChangeShown, costShareShown, fractionOf } from '../../../../internal/console/figures/shares.js'
import { formatQuantity, type Quantity } from '../../../../internal/units/quantity.js'

test('a fraction is cut, and says by one more digit that there is more, so that it is rounded but once', () => {
  expect(fractionOf('1', '3')).toBe('0.3333331')
  expect(fractionOf('-1', '8')).toBe('-0.125000')
  expect(fractionOf('0', '0')).toBeUndefined()
  expect(fractionOf('0', '8')).toBe('0.000000')
  expect(fractionOf('8', '8')).toBe('1.000000')
  expect(fractionOf('0.000000000000000001', '12345')).toBe('0.0000001')
  expect(fractionOf('-1', '8000000000')).toBe('-0.0000001')
  expect(fractionOf('7999999999', '8000000000')).toBe('0.9999991')
})

test('only what is nothing or everything reads as such, however near a share is', () => {
  const amount = fc.bigInt({ min: 1n, max: 10n ** 20n })
  fc.assert(
    fc.property(amount, amount, (part, more) => {
      const whole = formatQuantity((part + more) as Quantity<'USD'>)
      const shown = costShareShown({ cost_usd: formatQuantity(part as Quantity<'USD'>) }, { total_cost_usd: whole })

      expect(shown).not.toBe('0.0 %')
      expect(shown).not.toBe('100.0 %')
    }),
  )
})

test('a share and a change that the API rounds to nothing are shown as more than nothing', () => {
  expect(costShareShown({ cost_usd: '0.000000007' }, { total_cost_usd: '48213.07' })).toBe('< 0.1 %')
  expect(costShareShown({ cost_usd: '48213.069' }, { total_cost_usd: '48213.07' })).toBe('> 99.9 %')
  expect(costShareShown({ cost_usd: '0' }, { total_cost_usd: '0' })).toBe('–')
  expect(
    costChangeShown({ compared: 'both', change: { cost_usd: '-0.00000001' }, previous: { cost_usd: '48213' } }),
  ).toBe('> −0.1 %')
  expect(costChangeShown({ compared: 'both', change: { cost_usd: '-9999.9' }, previous: { cost_usd: '10000' } })).toBe(
    '< −99.9 %',
  )
})

test('without a figure of before there is no change in percent', () => {
  expect(costChangeShown({ compared: 'new' })).toBe('new')
  expect(costChangeShown({ compared: 'both', change: { cost_usd: '1' }, previous: { cost_usd: '0' } })).toBe('–')
  expect(costChangeShown({})).toBe('–')
})
