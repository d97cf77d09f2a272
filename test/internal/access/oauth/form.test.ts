import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { isFormType, readParameters } from '../../../../internal/access/oauth/form.js'

const read = (text: string) => {
  const parameters = readParameters(text)
  return parameters && Object.fromEntries(parameters)
}

describe('parameters of an OAuth request', () => {
  test.each([
    ['', {}],
    ['a=1&b=2', { a: '1', b: '2' }],
    ['a=x+y%20z%2B', { a: 'x y z+' }],
    ['a=1=2', { a: '1=2' }],
    ['a=&b', {}],
    ['&&a=1&', { a: '1' }],
    ['%61=1', { a: '1' }],
    ['__proto__=1&constructor=2', { ['__proto__']: '1', constructor: '2' }],
  ])('are read from %j as %j', (text, expected) => {
    expect(Object.entries(read(text) ?? {})).toEqual(Object.entries(expected))
  })

  test.each([
    ['one twice', 'a=1&a=1'],
    ['one twice, once empty', 'a=&a=1'],
    ['one twice in two spellings', 'a=1&%61=1'],
    ['broken percent-encoding', 'a=%'],
    ['percent-encoding of no UTF-8', 'a=%ff'],
  ])('with %s are refused', (_, text) => {
    expect(read(text)).toBeUndefined()
  })

  test('are the fields of an encoded form', () => {
    const forms = fc.dictionary(
      fc.string({ minLength: 1, unit: 'grapheme' }),
      fc.string({ minLength: 1, unit: 'grapheme' }),
    )

    fc.assert(
      fc.property(forms, (form) => {
        expect(new Map(Object.entries(form))).toEqual(readParameters(String(new URLSearchParams(form))))
      }),
    )
  })
})

test.each([
  ['application/x-www-form-urlencoded', true],
  ['application/x-www-form-urlencoded;charset=UTF-8', true],
  ['Application/X-WWW-Form-Urlencoded; charset="utf-8"', true],
  ['application/x-www-form-urlencoded; charset=latin1', false],
  ['application/x-www-form-urlencoded-not', false],
  ['application/json', false],
  ['', false],
])('the media type %j is that of a form: %s', (contentType, expected) => {
  expect(isFormType(contentType)).toBe(expected)
})
