import { expect, test } from 'vitest'
import { newSecret, secondFactors, setUpAddress, stepOf } from '../../../../internal/access/oauth/second-factor.js'
import { createUser, type StoredUser } from '../../../../internal/access/oauth/users.js'
import { TENANT, TENANT_IDS } from '../../../support/api-keys.js'
import { masterKeysOf } from '../../../support/master-keys.js'

/** RFC 6238 appendix B: the ASCII text 12345678901234567890, in base32; the last six digits of its eight. */
const SECRET = 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ'
const VECTORS = [
  [59, '287082'],
  [1_111_111_109, '081804'],
  [1_111_111_111, '050471'],
  [1_234_567_890, '005924'],
  [2_000_000_000, '279037'],
  [20_000_000_000, '353130'],
] as const

test.each(VECTORS)('the code of RFC 6238 at %d seconds is %s', (seconds, code) => {
  expect(stepOf(SECRET, code, seconds * 1_000)).toBe(Math.floor(seconds / 30))
})

test('a code holds one step before and after its own, spaced as apps show it, and no other text is one', () => {
  const [seconds, code] = VECTORS[4]
  const step = Math.floor(seconds / 30)
  const at = (steps: number): number | undefined => stepOf(SECRET, code, (step + steps) * 30_000)

  expect([-2, -1, 0, 1, 2].map(at)).toEqual([undefined, step, step, step, undefined])
  expect(stepOf(SECRET, '279 037', seconds * 1_000)).toBe(step)
  for (const text of ['', '27903', '2790370', '２７９０３７', 'abcdef']) {
    expect(stepOf(SECRET, text, seconds * 1_000)).toBeUndefined()
  }
})

test('the address for an app names the service, the person and 160 random bits', () => {
  const address = new URL(setUpAddress(newSecret(), 'ada@example.com'))

  expect(decodeURIComponent(address.href)).toContain('otpauth://totp/Attribution Service:ada@example.com?')
  expect(address.searchParams.get('secret')).toMatch(/^[A-Z2-7]{32}$/)
  expect(newSecret()).not.toBe(newSecret())
})

const AT_MS = 2_000_000_000_000

/** One person in a store, whose second factor is asked for as stated. */
async function onePerson(isRequired: boolean) {
  let stored = await createUser(
    TENANT,
    TENANT_IDS,
    { username: 'ada', password: 'correct horse battery', scopes: ['read:reporting'] },
    new Date(),
  )
  const factors = secondFactors({
    masterKeys: masterKeysOf(1),
    isRequired: () => isRequired,
    users: {
      async change(_key, change) {
        stored = change(stored) ?? stored
        return stored
      },
    },
  })
  return { factors, user: (): StoredUser => stored }
}

test('a code is accepted once, and an older one not after it', async () => {
  const { factors, user } = await onePerson(true)
  const accepts = (code: string, nowMs = AT_MS) => factors.accepts(user(), code, SECRET, nowMs)

  expect(factors.isAskedOf(user())).toBe(true)
  expect(await accepts('000000')).toBe(false)
  expect(user().second_factor).toBeUndefined()
  expect(await accepts('279037')).toBe(true)
  expect(user().second_factor?.sealed_secret).not.toContain(SECRET)
  expect(await accepts('279037')).toBe(false)
  expect(await accepts('279037', AT_MS + 30_000)).toBe(false)
})

test('once a secret is set up, another that was shown before is worth nothing', async () => {
  const { factors, user } = await onePerson(false)

  expect(factors.isAskedOf(user())).toBe(false)
  expect(await factors.accepts(user(), '279037', SECRET, AT_MS)).toBe(true)
  expect(factors.isAskedOf(user())).toBe(true)
  const { TOTP, Secret } = await import('otpauth')
  const other = newSecret()
  const code = new TOTP({ secret: Secret.fromBase32(other) }).generate({ timestamp: AT_MS + 60_000 })
  expect(await factors.accepts(user(), code, other, AT_MS + 60_000)).toBe(false)
})

test('without a secret no code is accepted', async () => {
  const { factors, user } = await onePerson(true)

  expect(await factors.accepts(user(), '279037', undefined, AT_MS)).toBe(false)
})
