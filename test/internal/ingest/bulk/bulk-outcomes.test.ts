import fc from 'fast-check'
import { expect, test } from 'vitest'
import { decodeOutcomes, encodeOutcomes, OUTCOMES } from '../../../../internal/ingest/bulk/bulk-outcomes.js'

test('decode(encode(x)) is x, in a quarter of a byte each', () => {
  fc.assert(
    fc.property(fc.array(fc.constantFrom(...OUTCOMES), { maxLength: 5_000 }), (outcomes) => {
      const text = encodeOutcomes(outcomes)

      expect(decodeOutcomes(text, outcomes.length)).toEqual(outcomes)
      expect(Buffer.from(text, 'base64').length).toBe(Math.ceil(outcomes.length / 4))
    }),
  )
})
