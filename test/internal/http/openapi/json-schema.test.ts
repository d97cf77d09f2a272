import fc from 'fast-check'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { toJsonSchema } from '../../../../internal/http/openapi/json-schema.js'
import { AMOUNT_TEXT, DECIMAL_TEXT, MODEL_TEXT, PLAIN_TEXT } from '../../../../internal/text/plain-text.js'

/** As a validator reads the pattern that is described, which JSON Schema wants to be one of Unicode. */
const described = (pattern: RegExp): RegExp =>
  new RegExp(String(toJsonSchema(z.string().regex(pattern), 'input', new Map())['pattern']), 'u')

const texts = (unit: fc.Arbitrary<string>) => fc.string({ unit, maxLength: 12 })
const anything = fc.oneof(
  fc.string({ unit: 'binary' }),
  texts(fc.constantFrom(...'0123456789.-')),
  texts(fc.constantFrom(...'ab./ \n[]\\é😀٣\u0085')),
)

test.each([
  ['an amount', AMOUNT_TEXT],
  ['a decimal', DECIMAL_TEXT],
  ['plain text', PLAIN_TEXT],
  ['a group that is not captured, before a bracket', /^[^\s[\],](?:[^[\],]*[^\s[\],])?$/],
])('the pattern of %s is described as it is', (_, pattern) => {
  const pure = described(pattern)
  // White space beyond the blank has no short form that all languages share.
  const isSame = (text: string): boolean => pure.test(text) === pattern.test(text) || /[^\S ]/.test(text)

  fc.assert(fc.property(anything, isSame))
})

test('the pattern of names of models refuses none that is taken, and in Latin what is refused', () => {
  const pure = described(MODEL_TEXT)
  const latin = Array.from({ length: 0xaa }, (_, code) => String.fromCharCode(code))

  fc.assert(fc.property(anything, (text) => pure.test(text) || !MODEL_TEXT.test(text)))
  expect(latin.filter((char) => pure.test(char))).toEqual(latin.filter((char) => MODEL_TEXT.test(char)))
})
