import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  formatDifference,
  formatQuantity,
  parseQuantity,
  parseSum,
  plus,
  type Quantity,
  quantityOfSteps,
  sum,
  zero,
} from '../../../internal/units/quantity.js'

const usd = (text: string): Quantity<'USD'> => {
  const quantity = parseQuantity<'USD'>(text)
  if (quantity === undefined) throw new Error(`not a quantity: ${text}`)
  return quantity
}

const quantities = fc.bigInt({ min: 0n, max: 10n ** 38n - 1n }).map((steps) => quantityOfSteps<'USD'>(steps))

test('the wire grammar is plain decimals of at most 20 and 18 digits', () => {
  const good = ['0', '0.0', '00.5', '1', '99999999999999999999.999999999999999999', '0.000000000000000001']
  const bad = [
    '',
    '-1',
    '+1',
    '1.',
    '.5',
    '1e3',
    '1,5',
    ' 1',
    '1 ',
    '0x1',
    'NaN',
    '100000000000000000000',
    '0.0000000000000000001',
  ]

  expect(good.map((text) => parseQuantity(text) !== undefined)).toEqual(good.map(() => true))
  expect(bad.map((text) => parseQuantity(text))).toEqual(bad.map(() => undefined))
})

test('the written form is canonical: no exponent, no trailing zeros, "0" for nothing', () => {
  expect(formatQuantity(usd('0.000'))).toBe('0')
  expect(formatQuantity(usd('0012.3400'))).toBe('12.34')
  expect(formatQuantity(usd('1000000'))).toBe('1000000')
  expect(formatQuantity(usd('0.000000000000000001'))).toBe('0.000000000000000001')
})

test('a difference keeps its sign', () => {
  expect(formatDifference(usd('1'), usd('2.5'))).toBe('-1.5')
  expect(formatDifference(usd('2.5'), usd('1'))).toBe('1.5')
})

test('a tenth and two tenths are three tenths', () => {
  expect(formatQuantity(plus(usd('0.1'), usd('0.2')))).toBe('0.3')
})

test('a sum has as many digits as it takes, and a sign where it ran over; what is none is never 0', () => {
  const texts = ['0', '120000000000000000000', '999999999999999999999.000000000000000001', '-40282366920938463463.5']

  expect(texts.map((text) => formatQuantity(parseSum(text)))).toEqual(texts)
  for (const bad of ['', '-', '+1', '1.', '.5', '1e21', 'nan', ' 1', '0.0000000000000000001']) {
    expect(() => parseSum(bad)).toThrow(RangeError)
  }
})

test('steps below zero are a defect', () => {
  expect(() => quantityOfSteps(-1n)).toThrow(RangeError)
})

test('reading what was written gives the same quantity', () => {
  fc.assert(fc.property(quantities, (quantity) => parseQuantity(formatQuantity(quantity)) === quantity))
})

test('zeros at either end change nothing', () => {
  fc.assert(
    fc.property(fc.nat(), fc.stringMatching(/^[0-9]{1,9}$/), (whole, fraction) => {
      return formatQuantity(usd(`0${whole}.${fraction}000`)) === formatQuantity(usd(`${whole}.${fraction}`))
    }),
  )
})

test('the order and grouping of a sum do not matter', () => {
  fc.assert(
    fc.property(quantities, quantities, quantities, (a, b, c) => {
      const left = plus(plus(a, b), c)
      return left === plus(a, plus(b, c)) && left === sum([c, a, b]) && plus(a, zero()) === a
    }),
  )
})
