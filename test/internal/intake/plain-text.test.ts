import fc from 'fast-check'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { compileSchema } from '../../../internal/intake/compile-schema.js'
import { instant, name, plainText, uuid } from '../../../internal/intake/plain-text.js'

const vocabulary = z.object({ name: name(), short: plainText(4), uuid: uuid(), instant: instant() })
const compiled = compileSchema(vocabulary)
const VALID = {
  name: 'search',
  short: 'éé',
  uuid: '01890a5d-ac96-774b-bcce-b302099a8057',
  instant: '2026-11-03T12:00:00Z',
}
const isValid = (value: unknown): { compiled: boolean; zod: boolean } => ({
  compiled: compiled(value),
  zod: vocabulary.safeParse(value).success,
})

test('what may be sent passes both validators', () => {
  expect(isValid(VALID)).toEqual({ compiled: true, zod: true })
})

test.each([
  ['name', 'x'.repeat(257)],
  ['name', 'é'.repeat(129)],
  ['name', ''],
  ['name', 'a\nb'],
  ['short', 'é€'],
  ['short', '\ud800'],
  ['uuid', '01890a5d'],
  ['instant', '2026-11-03T12:00:00'],
  ['instant', '2026-02-30T12:00:00Z'],
])('%s %j is refused by both', (field, text) => {
  expect(isValid({ ...VALID, [field]: text })).toEqual({ compiled: false, zod: false })
})

test('both validators agree on any text', () => {
  const texts = fc.oneof(fc.string({ unit: 'binary', maxLength: 8 }), fc.string({ unit: 'grapheme', maxLength: 300 }))
  fc.assert(
    fc.property(fc.constantFrom(...Object.keys(VALID)), texts, (field, text) => {
      const { compiled: one, zod: other } = isValid({ ...VALID, [field]: text })

      expect(one).toBe(other)
    }),
  )
})
