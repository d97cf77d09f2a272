import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { uuid5 } from '../../../internal/ids/uuid5.js'

/** The same by Node's hash, of RFC 9562's rule. */
function reference(name: string): string {
  const bytes = createHash('sha1').update(Buffer.from('6f4e1d3cb5a94f0e8c0b7d52a9e3f681', 'hex')).update(name).digest()
  bytes[6] = ((bytes[6] as number) & 0x0f) | 0x50
  bytes[8] = ((bytes[8] as number) & 0x3f) | 0x80
  return bytes.toString('hex', 0, 16).replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
}

test('a name has the UUID that SHA-1 of its namespace and it gives', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 2_000 }), (name) => {
      expect(uuid5(name)).toBe(reference(name))
    }),
  )
})

test('names of every length have it, on both sides of each block', () => {
  for (let length = 0; length < 1_100; length++) {
    const name = 'x'.repeat(length)
    expect(uuid5(name)).toBe(reference(name))
  }
})

test('parts are one name, whatever the parts before were', () => {
  const text = fc.string({ unit: 'grapheme', maxLength: 300 })
  // Few first parts, so that they repeat; some too long for the bytes that are used again.
  const first = fc.constantFrom('', 'tenant\nspan\n', 'tenant\nspän\n', 'tenant\nlitellm\n', 'x'.repeat(400))
  fc.assert(
    fc.property(fc.array(fc.tuple(first, text, text), { minLength: 2 }), (names) => {
      for (const parts of names) expect(uuid5(...parts)).toBe(reference(parts.join('')))
    }),
  )
})
