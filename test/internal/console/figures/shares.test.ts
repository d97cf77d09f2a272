import { expect, test } from 'vitest'
import { costChangeShown, costShareShown, fractionOf, percentOf } from '../../../../internal/console/figures/shares.js'

test('shares and changes are exact to their last decimal, and not nothing where there is something', () => {
  expect(fractionOf('1', '3')).toBe('0.333333')
  expect(fractionOf('0', '0')).toBeUndefined()
  expect(percentOf('-1', '8')).toBe('-12.5000')
  expect(percentOf('1', '8000000000')).toBe('0.0001')
  expect(percentOf('0', '8')).toBe('0.0000')
  expect(fractionOf('0.000000000000000001', '12345')).toBe('0.000001')
  expect(fractionOf('-1', '8000000000')).toBe('-0.000001')
})

test('a share and a change that the API rounds to nothing are shown as more than nothing', () => {
  expect(costShareShown({ cost_usd: '0.000000007' }, { total_cost_usd: '48213.07' })).toBe('< 0.1 %')
  expect(costShareShown({ cost_usd: '0' }, { total_cost_usd: '0' })).toBe('–')
  expect(
    costChangeShown({ compared: 'both', change: { cost_usd: '-0.00000001' }, previous: { cost_usd: '48213' } }),
  ).toBe('> −0.1 %')
})

test('without a figure of before there is no change in percent', () => {
  expect(costChangeShown({ compared: 'new' })).toBe('new')
  expect(costChangeShown({ compared: 'both', change: { cost_usd: '1' }, previous: { cost_usd: '0' } })).toBe('–')
  expect(costChangeShown({})).toBe('–')
})
