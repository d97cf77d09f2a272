import fc from 'fast-check'
import { expect, test } from 'vitest'
import { isUuid } from '../../../internal/ids/ids.js'
import { AMOUNT_TEXT, isAmount, isPlainText, PLAIN_TEXT, UUID_TEXT } from '../../../internal/text/plain-text.js'
import { drawn } from '../../support/run/rings.js'

const texts = fc.oneof(
  fc.string(),
  fc.string({ unit: 'binary' }),
  fc.string({ unit: fc.integer({ min: 0, max: 0xffff }).map((code) => String.fromCharCode(code)) }),
  fc.string({
    unit: fc.constantFrom('a', '\u007e', '\u007f', '\u0080', '\u009f', '\u00a0', '\u001f', ' ', '\ud800', '\udc00'),
  }),
)

test('the function agrees with the pattern for every text', () => {
  fc.assert(
    fc.property(texts, (text) => isPlainText(text) === PLAIN_TEXT.test(text)),
    { numRuns: drawn(2_000) },
  )
})

test('the function for UUIDs too', () => {
  const near = fc
    .tuple(fc.uuid(), fc.nat(36), fc.constantFrom('', '-', 'g', 'F', '0', 'é', '\u0130', ' '))
    .map(([text, at, character]) => text.slice(0, at) + character + text.slice(at + 1))
  fc.assert(
    fc.property(fc.oneof(fc.uuid(), near, texts), (text) => {
      expect(isUuid(text)).toBe(UUID_TEXT.test(text))
    }),
    { numRuns: drawn(2_000) },
  )
})

test('an amount matches its pattern', () => {
  const texts = fc.oneof(
    fc.stringMatching(/^\d{0,14}(\.\d{0,20})?$/),
    fc.string({ unit: fc.constantFrom('0', '9', '.', '-', 'e', '+', ' ', '٣'), maxLength: 6 }),
  )

  fc.assert(fc.property(texts, (text) => isAmount(text) === AMOUNT_TEXT.test(text)))
})
