import fc from 'fast-check'
import { expect, test } from 'vitest'
import { repeatedText } from '../../../../internal/ingest/otlp/repeated-text.js'

test('texts of any bytes are what a decoder makes of them, also when they share a place', () => {
  // Few different bytes: most texts fall on the place of another one, and many come again.
  const similar = fc.uint8Array({ max: 3, maxLength: 40 })
  const any = fc.uint8Array({ maxLength: 40 })
  fc.assert(
    fc.property(fc.array(fc.oneof(similar, any), { maxLength: 50 }), (all) => {
      for (const each of all) {
        const bytes = Buffer.concat([Buffer.from('before'), each, Buffer.from('behind')])

        expect(repeatedText(bytes, 6, 6 + each.length)).toBe(Buffer.from(each).toString('utf8'))
      }
    }),
  )
})
