import fc from 'fast-check'
import { expect, test } from 'vitest'
import { seal, unseal } from '../../../internal/secrets/seal.js'

const KEY = new Uint8Array(32).fill(1)
const OTHER_KEY = new Uint8Array(32).fill(2)
const SECRET = Buffer.from('a secret')

test('unsealing what was sealed gives the same bytes', () => {
  const keys = fc.uint8Array({ minLength: 32, maxLength: 32 })
  fc.assert(
    fc.property(keys, fc.string(), fc.uint8Array({ maxLength: 200 }), (key, context, secret) => {
      expect(unseal(key, context, seal(key, context, secret)).equals(secret)).toBe(true)
    }),
  )
})

test('the sealed text is safe in JSON and in addresses, and does not show the secret', () => {
  const sealed = seal(KEY, 'ids', SECRET)

  expect(sealed).toMatch(/^[A-Za-z0-9_-]+$/)
  expect(Buffer.from(sealed, 'base64url').includes(SECRET)).toBe(false)
})

test('the form is a version, 12 bytes of nonce, the secret’s length and 16 bytes of tag', () => {
  const bytes = Buffer.from(seal(KEY, 'ids', SECRET), 'base64url')

  expect(bytes[0]).toBe(1)
  expect(bytes).toHaveLength(1 + 12 + SECRET.length + 16)
})

test('the same secret sealed twice looks different', () => {
  expect(seal(KEY, 'ids', SECRET)).not.toBe(seal(KEY, 'ids', SECRET))
})

test('another master key opens nothing', () => {
  expect(() => unseal(OTHER_KEY, 'ids', seal(KEY, 'ids', SECRET))).toThrow('ids does not open with this master key')
})

test('a sealed value does not open in another place', () => {
  expect(() => unseal(KEY, 'cursors', seal(KEY, 'ids', SECRET))).toThrow('cursors does not open with this master key')
})

test('a value of which any one bit was altered does not open', () => {
  const bytes = Buffer.from(seal(KEY, 'ids', SECRET), 'base64url')
  fc.assert(
    fc.property(fc.nat({ max: bytes.length * 8 - 1 }), (bit) => {
      const altered = Buffer.from(bytes)
      altered[bit >> 3] = (altered[bit >> 3] ?? 0) ^ (1 << (bit & 7))

      expect(() => unseal(KEY, 'ids', altered.toString('base64url'))).toThrow(/^ids /)
    }),
    { numRuns: 500 },
  )
})

test('a value that was cut short does not open', () => {
  const bytes = Buffer.from(seal(KEY, 'ids', SECRET), 'base64url')

  for (let length = 0; length < bytes.length; length++) {
    expect(() => unseal(KEY, 'ids', bytes.subarray(0, length).toString('base64url'))).toThrow(/^ids /)
  }
})

test('what was never sealed is told by its place, and not repeated', () => {
  for (const text of ['', 'AA', 'plain-text-secret-that-is-longer-than-a-nonce-and-tag']) {
    expect(() => unseal(KEY, 'ids', text)).toThrow(/^ids is not a sealed secret$/)
  }
})
