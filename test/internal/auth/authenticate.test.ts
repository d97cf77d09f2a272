import { describe, expect, test } from 'vitest'
import type { StoredApiKey } from '../../../internal/auth/api-keys.js'
import { type Authentication, createAuthenticator } from '../../../internal/auth/authenticate.js'
import { budgetsCache, rateLimitsOf } from '../../../internal/auth/rate-limits.js'
import { apiKey, TENANT } from '../../support/api-keys.js'
import { NOW_MS } from '../../support/invocations.js'

const budgetsOf = budgetsCache(rateLimitsOf({ ingest: 10, read: 10, report: 10, control: 10, token: 10 }))

/** An authenticator over these keys, which counts how often it looks one up. */
function authenticatorOf(...keys: readonly StoredApiKey[]) {
  const bucket = new Map(keys.map((key) => [key.id, key]))
  const counts = { lookUps: 0 }
  const findKey = (id: string): StoredApiKey | undefined => {
    counts.lookUps++
    return bucket.get(id)
  }
  const authenticator = createAuthenticator({
    mode: 'production',
    findKey,
    judgeToken: () => undefined,
    budgetsOf,
  })
  return { authenticator, bucket, counts }
}

const present = (apiKeyText: string, authorization = '') => ({ apiKey: apiKeyText, authorization })
const verdictOf = (authentication: Authentication): string => (authentication.ok ? 'ok' : authentication.problem.code)
const at = (ms: number): string => new Date(ms).toISOString()

describe('a verdict', () => {
  test('on a live key says whose it is and what it may', () => {
    const { stored, secret } = apiKey({ scopes: ['read:reporting', 'export:create'] })
    const { authenticator } = authenticatorOf(stored)

    expect(authenticator.authenticate(present(secret), NOW_MS)).toEqual({
      ok: true,
      caller: {
        tenantId: TENANT,
        principal: stored.id,
        scopes: new Set(['read:reporting', 'export:create']),
        ingestionLayers: undefined,
        budgets: budgetsOf(TENANT, stored.id),
      },
    })
  })

  test.each([[['gateway']], [[]]])('keeps the layers that a key is limited to: %j', (ingestion_layers) => {
    const { stored, secret } = apiKey({ ingestion_layers })
    const { authenticator } = authenticatorOf(stored)

    expect(authenticator.authenticate(present(secret), NOW_MS)).toMatchObject({
      caller: { ingestionLayers: new Set(ingestion_layers) },
    })
  })

  test('on nothing is INVALID_CREDENTIALS', () => {
    const { authenticator } = authenticatorOf()

    expect(verdictOf(authenticator.authenticate(present(''), NOW_MS))).toBe('INVALID_CREDENTIALS')
  })

  test('on a key that nobody knows is INVALID_CREDENTIALS', () => {
    const { authenticator } = authenticatorOf(apiKey().stored)

    expect(verdictOf(authenticator.authenticate(present(apiKey().secret), NOW_MS))).toBe('INVALID_CREDENTIALS')
  })

  test('on a known id with another secret is INVALID_CREDENTIALS', () => {
    const [one, other] = [apiKey(), apiKey()]
    const { authenticator } = authenticatorOf({ ...one.stored, id: other.stored.id })

    expect(verdictOf(authenticator.authenticate(present(other.secret), NOW_MS))).toBe('INVALID_CREDENTIALS')
  })

  test('on a key of the other mode is INVALID_CREDENTIALS, even where it is known', () => {
    const { stored, secret } = apiKey({ mode: 'sandbox' })
    const { authenticator } = authenticatorOf(stored)

    expect(verdictOf(authenticator.authenticate(present(secret), NOW_MS))).toBe('INVALID_CREDENTIALS')
  })

  test('on a text that is no key needs no look-up', () => {
    const { authenticator, counts } = authenticatorOf()

    expect(verdictOf(authenticator.authenticate(present('x'.repeat(10_000)), NOW_MS))).toBe('INVALID_CREDENTIALS')
    expect(counts.lookUps).toBe(0)
  })

  test('on a key beside an Authorization header is INVALID_CREDENTIALS: two credentials must agree', () => {
    const { stored, secret } = apiKey()
    const { authenticator } = authenticatorOf(stored)

    expect(verdictOf(authenticator.authenticate(present(secret, 'Bearer x'), NOW_MS))).toBe('INVALID_CREDENTIALS')
    expect(verdictOf(authenticator.authenticate(present('', `Bearer ${secret}`), NOW_MS))).toBe('INVALID_CREDENTIALS')
  })

  test('does not tell whether a key is known, revoked or mistyped', () => {
    const [known, revoked] = [apiKey(), apiKey({ status: 'revoked' })]
    const { authenticator } = authenticatorOf(
      { ...known.stored, ...apiKey().stored, id: known.stored.id },
      revoked.stored,
    )

    const verdicts = [known.secret, revoked.secret, apiKey().secret, 'x'].map((text) =>
      authenticator.authenticate(present(text), NOW_MS),
    )

    for (const verdict of verdicts) expect(verdict).toEqual(verdicts[0])
  })
})

describe('expiry', () => {
  test('is the first instant at which a key is dead', () => {
    const { stored, secret } = apiKey({ expires_at: at(NOW_MS) })
    const { authenticator } = authenticatorOf(stored)

    expect(verdictOf(authenticator.authenticate(present(secret), NOW_MS - 1))).toBe('ok')
    expect(verdictOf(authenticator.authenticate(present(secret), NOW_MS))).toBe('EXPIRED')
  })

  test('is looked at on every call, cached or not', () => {
    const { stored, secret } = apiKey({ expires_at: at(NOW_MS) })
    const { authenticator } = authenticatorOf(stored)

    const verdicts = [NOW_MS - 1, NOW_MS, NOW_MS - 1].map((now) =>
      verdictOf(authenticator.authenticate(present(secret), now)),
    )

    expect(verdicts).toEqual(['ok', 'EXPIRED', 'ok'])
  })

  test('comes before revocation', () => {
    const { stored, secret } = apiKey({ expires_at: at(NOW_MS), status: 'revoked' })
    const { authenticator } = authenticatorOf(stored)

    expect(verdictOf(authenticator.authenticate(present(secret), NOW_MS - 1))).toBe('INVALID_CREDENTIALS')
    expect(verdictOf(authenticator.authenticate(present(secret), NOW_MS))).toBe('EXPIRED')
  })

  test('is not told to whoever does not hold the secret', () => {
    const [one, other] = [apiKey({ expires_at: at(0) }), apiKey()]
    const { authenticator } = authenticatorOf({ ...one.stored, id: other.stored.id })

    expect(verdictOf(authenticator.authenticate(present(other.secret), NOW_MS))).toBe('INVALID_CREDENTIALS')
  })

  test('that cannot be read counts as past', () => {
    const { stored, secret } = apiKey({ expires_at: 'next year' })
    const { authenticator } = authenticatorOf(stored)

    expect(verdictOf(authenticator.authenticate(present(secret), NOW_MS))).toBe('EXPIRED')
  })
})

describe('the cache of verdicts', () => {
  test('asks for a key once', () => {
    const { stored, secret } = apiKey()
    const { authenticator, counts } = authenticatorOf(stored)

    for (let i = 0; i < 5; i++) authenticator.authenticate(present(secret), NOW_MS)

    expect(counts.lookUps).toBe(1)
  })

  test.each([
    ['revoked', (key: StoredApiKey) => ({ ...key, status: 'revoked' }) as const, 'INVALID_CREDENTIALS'],
    ['expired', (key: StoredApiKey) => ({ ...key, expires_at: at(NOW_MS) }), 'EXPIRED'],
    ['deleted', () => undefined, 'INVALID_CREDENTIALS'],
  ] as const)('is empty of a key that was %s and forgotten', (_, change, expected) => {
    const { stored, secret } = apiKey()
    const { authenticator, bucket } = authenticatorOf(stored)
    expect(verdictOf(authenticator.authenticate(present(secret), NOW_MS))).toBe('ok')

    const changed = change(stored)
    if (changed === undefined) bucket.delete(stored.id)
    else bucket.set(stored.id, changed)
    authenticator.forget(stored.id)

    expect(verdictOf(authenticator.authenticate(present(secret), NOW_MS))).toBe(expected)
  })

  test('keeps what it knows of other keys when one is forgotten', () => {
    const [one, other] = [apiKey(), apiKey()]
    const { authenticator, counts } = authenticatorOf(one.stored, other.stored)
    for (const { secret } of [one, other]) authenticator.authenticate(present(secret), NOW_MS)

    authenticator.forget(one.stored.id)
    authenticator.forget('key_of_nobody')
    authenticator.authenticate(present(other.secret), NOW_MS)

    expect(counts.lookUps).toBe(2)
  })

  test('forgets again what came back after it was forgotten', () => {
    const { stored, secret } = apiKey()
    const { authenticator, bucket } = authenticatorOf(stored)
    authenticator.authenticate(present(secret), NOW_MS)
    authenticator.forget(stored.id)
    authenticator.authenticate(present(secret), NOW_MS)

    bucket.delete(stored.id)
    authenticator.forget(stored.id)

    expect(verdictOf(authenticator.authenticate(present(secret), NOW_MS))).toBe('INVALID_CREDENTIALS')
  })

  test('holds no verdict on a key that is not known, so that one which appears later is taken', () => {
    const { stored, secret } = apiKey()
    const { authenticator, bucket } = authenticatorOf()
    expect(verdictOf(authenticator.authenticate(present(secret), NOW_MS))).toBe('INVALID_CREDENTIALS')

    bucket.set(stored.id, stored)

    expect(verdictOf(authenticator.authenticate(present(secret), NOW_MS))).toBe('ok')
  })

  test('holds 10,000 verdicts and starts over with the next', () => {
    const keys = Array.from({ length: 10_001 }, () => apiKey())
    const { authenticator, counts } = authenticatorOf(...keys.map(({ stored }) => stored))
    const ask = (i: number) => authenticator.authenticate(present(keys[i]?.secret ?? ''), NOW_MS)

    for (let i = 0; i < 10_000; i++) ask(i)
    ask(0)
    expect(counts.lookUps).toBe(10_000)

    ask(10_000)
    ask(0)
    expect(counts.lookUps).toBe(10_002)
  })
})
