import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createApiKey, isSecretOf, parseApiKey, storeSecret } from '../../../internal/auth/api-keys.js'
import { hasTagOf, parseId } from '../../../internal/ids/ids.js'
import { apiKey, TENANT_IDS } from '../../support/api-keys.js'
import { drawn } from '../../support/run/rings.js'

describe('a new API key', () => {
  test.each([
    ['production', 'ak_live_'],
    ['sandbox', 'ak_test_'],
  ] as const)('of a %s instance begins with %s, then its id, its secret and a checksum', (mode, prefix) => {
    const { stored, secret } = apiKey({ mode })

    expect(secret).toMatch(new RegExp(`^${prefix}[0-9a-z]{26}_[0-9a-z]{52}[0-9a-z]{6}$`))
    expect(stored.id).toBe(`key_${secret.slice(prefix.length, prefix.length + 26)}`)
    expect(stored.last_four).toBe(secret.slice(-4))
  })

  test('has an id that is recognized as its tenant’s', () => {
    const id = parseId('key', apiKey().stored.id)

    expect(id && hasTagOf(id, TENANT_IDS)).toBe(true)
  })

  test('is stored as active, with the requested fields and its creation time', () => {
    const wanted = { name: 'ci', scopes: ['read:attribution'], expiresAt: '2027-01-01T00:00:00.000Z' } as const

    const { stored } = createApiKey('production', 'tnt_one', TENANT_IDS, wanted, new Date(0))

    expect(stored).toMatchObject({
      tenant_id: 'tnt_one',
      name: 'ci',
      scopes: ['read:attribution'],
      expires_at: '2027-01-01T00:00:00.000Z',
      status: 'active',
      created_at: '1970-01-01T00:00:00.000Z',
    })
  })

  test('is stored without its secret', () => {
    const { stored, secret } = apiKey()
    const shown = JSON.stringify(stored)

    const random = secret.slice(35, -6)

    expect(random).toHaveLength(52)
    expect(shown).not.toContain(random)
    for (let at = 0; at + 8 <= random.length; at++) expect(shown).not.toContain(random.slice(at, at + 8))
  })

  test('shares neither secret, salt nor hash with another key', () => {
    const [one, other] = [apiKey(), apiKey()]

    expect(one.secret).not.toBe(other.secret)
    expect(one.stored.id).not.toBe(other.stored.id)
    expect(one.stored.salt).not.toBe(other.stored.salt)
    expect(one.stored.hash).not.toBe(other.stored.hash)
  })
})

describe('a presented API key', () => {
  test('is split into its id and its secret', () => {
    const { stored, secret } = apiKey()

    const presented = parseApiKey('production', secret)

    expect(presented?.id).toBe(stored.id)
    expect(presented && isSecretOf(stored, presented.secret)).toBe(true)
  })

  test('of the other mode is refused', () => {
    expect(parseApiKey('sandbox', apiKey({ mode: 'production' }).secret)).toBeUndefined()
    expect(parseApiKey('production', apiKey({ mode: 'sandbox' }).secret)).toBeUndefined()
  })

  test('is refused when its mode is rewritten', () => {
    const { secret } = apiKey({ mode: 'production' })

    expect(parseApiKey('sandbox', secret.replace('ak_live_', 'ak_test_'))).toBeUndefined()
  })

  test('is refused when any one character is changed', () => {
    const { secret } = apiKey()
    const places = fc.nat({ max: secret.length - 1 })
    const characters = fc.constantFrom(...'0123456789abcdefghijklmnopqrstuvwxyzA_- é')
    fc.assert(
      fc.property(places, characters, (at, character) => {
        fc.pre(secret[at] !== character)

        expect(parseApiKey('production', secret.slice(0, at) + character + secret.slice(at + 1))).toBeUndefined()
      }),
      { numRuns: drawn(500) },
    )
  })

  test('is refused with text before or after it, or with a part missing', () => {
    const { secret } = apiKey()

    for (const text of [
      '',
      ` ${secret}`,
      `${secret} `,
      `${secret}\n`,
      secret.slice(1),
      secret.slice(0, -1),
      secret + secret,
      secret.toUpperCase(),
    ]) {
      expect(parseApiKey('production', text)).toBeUndefined()
    }
  })
})

describe('a stored secret', () => {
  test('matches no other secret', () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), (one, other) => {
        const { stored } = apiKey()
        const kept = { ...stored, ...storeSecret(one) }

        expect(isSecretOf(kept, one)).toBe(true)
        expect(isSecretOf(kept, other)).toBe(one === other)
      }),
    )
  })

  test('is salted: storing it twice gives different hashes', () => {
    const [one, other] = [storeSecret('same'), storeSecret('same')]

    expect(one.salt).toMatch(/^[0-9a-f]{32}$/)
    expect(one.hash).toMatch(/^[0-9a-f]{64}$/)
    expect(one.hash).not.toBe(other.hash)
  })

  test('is hashed as HMAC-SHA-256 under its salt', () => {
    // printf secret | openssl dgst -sha256 -mac HMAC -macopt hexkey:000102030405060708090a0b0c0d0e0f
    const known = {
      salt: '000102030405060708090a0b0c0d0e0f',
      hash: '9cc810f633736c73be6be79d4c9b53872b1b01fd14b9fdf17f796ffadbbb613e',
    }

    expect(isSecretOf({ ...apiKey().stored, ...known }, 'secret')).toBe(true)
  })
})
