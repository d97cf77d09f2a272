import { expect, test } from 'vitest'
import { hasCapacity, longestEnded } from '../../../../internal/access/api-keys/api-key-changes.js'
import type { StoredApiKey } from '../../../../internal/auth/api-keys.js'
import { apiKey } from '../../../support/api-keys.js'

const NOW = Date.UTC(2026, 10, 21)
const { stored } = apiKey()
const many = (count: number, stated: (i: number) => Partial<StoredApiKey>): StoredApiKey[] =>
  Array.from({ length: count }, (_, i) => ({ ...stored, id: `key_${i}`, ...stated(i) }))

test('a tenant may have a thousand active keys; expired and revoked ones do not count', () => {
  const dead = many(5, () => ({ status: 'revoked' }))

  expect(hasCapacity([...dead, ...many(999, () => ({}))], NOW)).toBe(true)
  expect(
    hasCapacity(
      many(1_000, () => ({})),
      NOW,
    ),
  ).toBe(false)
})

test('of the expired and revoked keys the thousand that ended last stay, including the new one', () => {
  const diedAt = (i: number): Partial<StoredApiKey> =>
    i % 2 === 0
      ? { status: 'revoked', revoked_at: new Date(i).toISOString() }
      : { expires_at: new Date(i).toISOString() }
  const alive = many(10, () => ({}))

  expect(longestEnded([...alive, ...many(999, diedAt)], NOW)).toEqual([])
  expect(longestEnded([...many(1_002, diedAt).reverse(), ...alive], NOW)).toEqual(['key_0', 'key_1', 'key_2'])
})
