import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { openUnder, resealed, seal, sealUnder, unseal } from '../../../internal/secrets/seal.js'
import { masterKeysOf } from '../../support/master-keys.js'
import { drawn } from '../../support/run/rings.js'

const KEY = masterKeysOf(1)
const OTHER_KEY = masterKeysOf(2)
/** The bytes after the head. */
const sealedBytes = (sealed: string): Buffer => Buffer.from(sealed.split('.')[3] ?? '', 'base64url')
const withValue = (sealed: string, value: Buffer): string =>
  [...sealed.split('.').slice(0, 3), value.toString('base64url')].join('.')

const SECRET = Buffer.from('a secret')

test('unsealing a sealed secret gives the same bytes', () => {
  const keys = fc.nat({ max: 255 }).map((fill) => masterKeysOf(fill))
  const texts = fc.string({ unit: 'grapheme' })
  fc.assert(
    fc.property(keys, texts, fc.uint8Array({ maxLength: 200 }), (key, context, secret) => {
      expect(unseal(key, context, seal(key, context, secret)).equals(secret)).toBe(true)
    }),
  )
})

test('a sealed text is safe in JSON and URLs, and does not contain the secret', () => {
  const sealed = seal(KEY, 'ids', SECRET)

  expect(sealed).toMatch(/^sealed(\.[A-Za-z0-9_-]+){3}$/)
  expect(sealedBytes(sealed).includes(SECRET)).toBe(false)
})

test('a sealed text has the key’s id, the context, a 12-byte nonce, the ciphertext and a 16-byte tag', () => {
  const sealed = seal(KEY, 'ids', SECRET)

  expect(sealed.split('.').slice(0, 3)).toEqual(['sealed', KEY.current().id, Buffer.from('ids').toString('base64url')])
  expect(sealedBytes(sealed)).toHaveLength(12 + SECRET.length + 16)
})

test('the same secret sealed twice gives different texts', () => {
  expect(seal(KEY, 'ids', SECRET)).not.toBe(seal(KEY, 'ids', SECRET))
})

test('a sealed secret does not open with another master key', () => {
  expect(() => unseal(OTHER_KEY, 'ids', seal(KEY, 'ids', SECRET))).toThrow('ids does not open with this master key')
})

test('a sealed value does not open in another context', () => {
  expect(() => unseal(KEY, 'cursors', seal(KEY, 'ids', SECRET))).toThrow('cursors does not open with this master key')
})

test('a sealed value with one altered bit or another head does not open', () => {
  const sealed = seal(KEY, 'ids', SECRET)
  const bytes = sealedBytes(sealed)
  fc.assert(
    fc.property(fc.nat({ max: bytes.length * 8 - 1 }), (bit) => {
      const altered = Buffer.from(bytes)
      altered[bit >> 3] = (altered[bit >> 3] ?? 0) ^ (1 << (bit & 7))

      expect(() => unseal(KEY, 'ids', withValue(sealed, altered))).toThrow(/^ids /)
    }),
    { numRuns: drawn(500) },
  )
  const both = masterKeysOf(1, 2)
  const relabelled = sealed.replace(KEY.current().id, OTHER_KEY.current().id)
  expect(() => unseal(both, 'ids', relabelled)).toThrow(/^ids /)
})

test('a truncated sealed value does not open', () => {
  const sealed = seal(KEY, 'ids', SECRET)

  for (let length = 0; length < sealed.length; length++) {
    expect(() => unseal(KEY, 'ids', sealed.slice(0, length))).toThrow(/^ids /)
  }
})

test('the error for a value that is not sealed names its context and does not contain the value', () => {
  for (const text of ['', 'AA', 'sealed.a.b.c', 'plain-text-secret-that-is-longer-than-a-nonce-and-tag']) {
    expect(() => unseal(KEY, 'ids', text)).toThrow(/^ids is not a sealed secret$/)
  }
})

test('a value sealed under a given key opens only with that key and in its context', () => {
  const [key, other] = [new Uint8Array(32).fill(1), new Uint8Array(32).fill(2)]
  const sealed = sealUnder(key, 'answer', SECRET)

  expect(openUnder(key, 'answer', sealed)?.equals(SECRET)).toBe(true)
  expect(openUnder(other, 'answer', sealed)).toBeUndefined()
  expect(openUnder(key, 'other', sealed)).toBeUndefined()
  for (let length = 0; length < sealed.length; length++) {
    expect(openUnder(key, 'answer', sealed.slice(0, length))).toBeUndefined()
  }
})

describe('resealing a text', () => {
  const both = masterKeysOf(2, 1)

  test('replaces every sealed value in a text, and nothing else', () => {
    const kept = { id: 'cli_one', sealed_secret: seal(KEY, 'a', SECRET), nested: [{ other: seal(KEY, 'b', SECRET) }] }
    const result = resealed(both, JSON.stringify(kept))
    const after = JSON.parse(result.text) as typeof kept

    expect(result).toMatchObject({ replaced: 2, unopened: 0 })
    expect(after.id).toBe('cli_one')
    expect(unseal(OTHER_KEY, 'a', after.sealed_secret).equals(SECRET)).toBe(true)
    expect(unseal(OTHER_KEY, 'b', after.nested[0]?.other ?? '').equals(SECRET)).toBe(true)
    expect(() => unseal(KEY, 'a', after.sealed_secret)).toThrow()
  })

  test('leaves values of the current key, and values that no key opens, unchanged', () => {
    const text = `${seal(OTHER_KEY, 'a', SECRET)} ${seal(masterKeysOf(3), 'b', SECRET)}`

    expect(resealed(both, text)).toEqual({ text, replaced: 0, unopened: 1 })
  })
})
