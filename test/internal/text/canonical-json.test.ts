import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type CanonicalValue, canonicalJson } from '../../../internal/text/canonical-json.js'

const values = fc.letrec<{ value: CanonicalValue }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    fc.constant(null),
    fc.boolean(),
    fc.maxSafeInteger(),
    fc.string({ unit: 'binary' }),
    fc.array(tie('value')),
    fc.dictionary(fc.string({ unit: 'binary' }), tie('value'), { noNullPrototype: true }),
  ),
})).value

test('members are sorted by UTF-16 code units (the sample of RFC 8785 3.2.3)', () => {
  const sample = {
    '\u20ac': 'Euro Sign',
    '\r': 'Carriage Return',
    '\ufb33': 'Hebrew Letter Dalet With Dagesh',
    '1': 'One',
    '\ud83d\ude00': 'Emoji: Grinning Face',
    '\u0080': 'Control',
    '\u00f6': 'Latin Small Letter O With Diaeresis',
  }

  expect(Object.values(JSON.parse(canonicalJson(sample)) as object)).toHaveLength(7)
  expect(canonicalJson(sample)).toBe(
    '{"\\r":"Carriage Return","1":"One","\u0080":"Control","\u00f6":"Latin Small Letter O With Diaeresis",' +
      '"\u20ac":"Euro Sign","\ud83d\ude00":"Emoji: Grinning Face","\ufb33":"Hebrew Letter Dalet With Dagesh"}',
  )
})

test('strings, literals and whole numbers are written as RFC 8785 3.2.2 writes them', () => {
  expect(canonicalJson({ string: '\u20ac$\u000F\u000aA\'\u0042\u0022\u005c\\"/', literals: [null, true, false] })).toBe(
    '{"literals":[null,true,false],"string":"€$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}',
  )
  expect(canonicalJson([0, -0, -1, 9_007_199_254_740_991])).toBe('[0,0,-1,9007199254740991]')
})

test('canonical JSON reads back unchanged, and is written the same again', () => {
  fc.assert(
    fc.property(values, (value) => {
      const text = canonicalJson(value)
      const read = JSON.parse(text) as CanonicalValue

      expect(read).toEqual(JSON.parse(JSON.stringify(value)))
      expect(canonicalJson(read)).toBe(text)
    }),
  )
})

test('the order in which members came does not matter, nor do those that are undefined', () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), values, { noNullPrototype: true }), (object) => {
      const reversed = Object.fromEntries(Object.entries(object).reverse())

      expect(canonicalJson(reversed)).toBe(canonicalJson(object))
    }),
  )
  expect(canonicalJson({ b: 1, a: undefined })).toBe('{"b":1}')
})

test.each([0.5, 2 ** 53, Number.NaN, Number.POSITIVE_INFINITY])(
  'the number %s has no canonical form here',
  (number) => {
    expect(() => canonicalJson({ number })).toThrow(TypeError)
  },
)

test('a lone surrogate has none either, be it in a value or in a name', () => {
  expect(() => canonicalJson('\ud800')).toThrow(TypeError)
  expect(() => canonicalJson({ '\udc00': 1 })).toThrow(TypeError)
})
