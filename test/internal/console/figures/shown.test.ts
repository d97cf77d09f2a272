import { expect, test } from 'vitest'
import {
  agoShown,
  changeShown,
  countShort,
  decimalShown,
  decimalsOf,
  measureShown,
  percentShown,
  plainShown,
  priceShown,
  shareOf,
  shareShown,
  usdShown,
} from '../../../../internal/console/figures/shown.js'

test('decimals are exact however long, rounded half to even, with a real minus', () => {
  expect(decimalShown('12345678901234567890.125', 2)).toBe('12,345,678,901,234,567,890.12')
  expect(decimalShown('0.135', 2)).toBe('0.14')
  expect(decimalShown('-1234.5', 1)).toBe('−1,234.5')
})

test('amounts of an axis have the decimals that they have, so that no two are alike', () => {
  expect(['2400', '2', '1.5', '0.00002', '-0.5', '0'].map(plainShown)).toEqual([
    '2,400',
    '2',
    '1.5',
    '0.00002',
    '−0.5',
    '0',
  ])
})

test('what is more than nothing is not shown as nothing', () => {
  expect(decimalShown('0.0004', 2)).toBe('< 0.01')
  expect(decimalShown('-0.0004', 2)).toBe('> −0.01')
  expect(decimalShown('0.4', 0)).toBe('< 1')
  expect(decimalShown('0', 2)).toBe('0.00')
  expect(shareShown('0.0004')).toBe('< 0.1 %')
  expect(shareShown('0.000000')).toBe('0.0 %')
  expect(shareShown('0.0000000001')).toBe('< 0.1 %')
  expect(shareShown('-0.0001')).toBe('> −0.1 %')
  expect(changeShown('0.0004')).toBe('< 0.1 %')
  expect(changeShown('-0.000001')).toBe('> −0.1 %')
  expect(changeShown('0')).toBe('0.0 %')
  expect(percentShown('0.00', '0.02')).toBe('< 0.01 %')
  expect(percentShown('0.00', '0')).toBe('0.00 %')
  expect(percentShown('1234.56', '7')).toBe('1,234.56 %')
})

test('a share that is less than everything is not shown as everything', () => {
  expect(shareShown('0.9997')).toBe('> 99.9 %')
  expect(shareShown('0.996', 0)).toBe('> 99 %')
  expect(shareShown('-0.9997')).toBe('< −99.9 %')
  expect(shareShown('0.9994')).toBe('99.9 %')
  expect(shareShown('1.000000')).toBe('100.0 %')
  expect(shareShown('1', 0)).toBe('100 %')
  expect(shareShown('1.0004')).toBe('100.0 %')
  expect(shareOf(0.999_97)).toBe('> 99.9 %')
  expect(shareOf(1 - 1e-12)).toBe('> 99.9 %')
  expect(shareOf(1e-12)).toBe('< 0.1 %')
  expect(shareOf(1)).toBe('100.0 %')
})

test('a fall by less than everything is not one by everything, and a rise has no everything', () => {
  expect(changeShown('-0.9999')).toBe('< −99.9 %')
  expect(changeShown('-1')).toBe('−100.0 %')
  expect(changeShown('0.9999')).toBe('+100.0 %')
})

test('a column has two decimals, or as many as show two digits of its largest sum', () => {
  expect(decimalsOf(['12.5', '0.001'])).toBe(2)
  expect(decimalsOf(['0.05', '0.0012'])).toBe(3)
  expect(decimalsOf(['0.000000000000000001'])).toBe(18)
  expect(decimalsOf(['0', '-3'])).toBe(2)
  expect(usdShown('0.0031')).toBe('0.0031')
  expect(usdShown('48213.0666')).toBe('48,213.07')
})

test('shares, changes, prices and counts read as people write them', () => {
  expect(shareShown('0.309')).toBe('30.9 %')
  expect(changeShown('0.1244')).toBe('+12.4 %')
  expect(changeShown('-0.0305')).toBe('−3.0 %')
  expect(priceShown('0.00310449')).toBe('0.003104')
  expect(countShort(2_645)).toBe('2,645')
  expect(countShort(9_412_345)).toBe('9.41 M')
})

test('energy and carbon are in the largest unit of which there is at least one', () => {
  expect(measureShown('999.5', 'energy')).toBe('999.5 Wh')
  expect(measureShown('1204000', 'energy')).toBe('1.204 MWh')
  expect(measureShown('391000.4', 'carbon')).toBe('391 kgCO₂e')
})

test.each([
  [3_400, '3 s ago'],
  [-20, '0 s ago'],
  [61_000, '1 min ago'],
  [7_300_000, '2 h ago'],
  [400_000_000, '4 days ago'],
])('%i ms is %s', (ms, words) => {
  expect(agoShown(ms)).toBe(words)
})
