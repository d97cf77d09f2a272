import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { StoredApiKey } from '../../../internal/auth/api-keys.js'
import { apiKey, TENANT } from '../../support/api-keys.js'
import { at, authenticate, authenticatorOf, budgetsOf, present, verdictOf } from '../../support/authenticators.js'
import { FUZZ_CASES, FUZZ_MS_MAX } from '../../support/fuzz.js'
import { NOW_MS } from '../../support/invocations.js'

describe('the verdict of the authenticator', () => {
  test('on an active key contains its tenant, principal and scopes', () => {
    const { stored, secret } = apiKey({ scopes: ['read:reporting', 'export:create'] })
    const { authenticator } = authenticatorOf(stored)

    expect(authenticate(authenticator, present(secret), NOW_MS)).toEqual({
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

  test.each([
    ['seat', { billing: 'seat' }],
    ['auto', {}],
    [undefined, {}],
  ] as const)('says who pays where the key is set to %s', (billing, expected) => {
    const { stored, secret } = apiKey({ ...(billing !== undefined && { billing }) })
    const verdict = authenticate(authenticatorOf(stored).authenticator, present(secret), NOW_MS)

    const { billing: payer } = (verdict as { caller: { billing?: string } }).caller
    expect(payer === undefined ? {} : { billing: payer }).toEqual(expected)
  })

  test('on a key that is sent as a bearer is that of X-API-Key, and of two different keys neither counts', () => {
    const [one, other] = [apiKey(), apiKey()]
    const { authenticator } = authenticatorOf(one.stored, other.stored)
    const asBearer = (secret: string, key = '') => ({ apiKey: key, authorization: `bearer ${secret}` })

    expect(authenticate(authenticator, asBearer(one.secret), NOW_MS)).toEqual(
      authenticate(authenticator, present(one.secret), NOW_MS),
    )
    expect(verdictOf(authenticate(authenticator, asBearer(one.secret, one.secret), NOW_MS))).toBe('ok')
    expect(verdictOf(authenticate(authenticator, asBearer(one.secret, other.secret), NOW_MS))).toBe(
      'INVALID_CREDENTIALS',
    )
    expect(verdictOf(authenticate(authenticator, asBearer(apiKey().secret), NOW_MS))).toBe('INVALID_CREDENTIALS')
  })

  test('records the use of the key, unless the key is refused', () => {
    const [good, revoked, expired] = [apiKey(), apiKey({ status: 'revoked' }), apiKey({ expires_at: at(NOW_MS + 1) })]
    const { authenticator, uses } = authenticatorOf(good.stored, revoked.stored, expired.stored)

    for (const { secret } of [good, revoked, expired]) {
      for (const ms of [NOW_MS, NOW_MS + 5]) authenticate(authenticator, present(secret), ms)
    }

    expect([good, revoked, expired].map(({ stored }) => uses.get(stored.id)?.atMs)).toEqual([NOW_MS + 5, 0, NOW_MS])
  })

  test.each([[['gateway']], [[]]])('contains the ingestion layers of the key: %j', (ingestion_layers) => {
    const { stored, secret } = apiKey({ ingestion_layers })
    const { authenticator } = authenticatorOf(stored)

    expect(authenticate(authenticator, present(secret), NOW_MS)).toMatchObject({
      caller: { ingestionLayers: new Set(ingestion_layers) },
    })
  })

  test('on a request without credentials is INVALID_CREDENTIALS', () => {
    const { authenticator } = authenticatorOf()

    expect(verdictOf(authenticate(authenticator, present(''), NOW_MS))).toBe('INVALID_CREDENTIALS')
  })

  test('on an unknown key is INVALID_CREDENTIALS', () => {
    const { authenticator } = authenticatorOf(apiKey().stored)

    expect(verdictOf(authenticate(authenticator, present(apiKey().secret), NOW_MS))).toBe('INVALID_CREDENTIALS')
  })

  test('on a known key id with a wrong secret is INVALID_CREDENTIALS', () => {
    const [one, other] = [apiKey(), apiKey()]
    const { authenticator } = authenticatorOf({ ...one.stored, id: other.stored.id })

    expect(verdictOf(authenticate(authenticator, present(other.secret), NOW_MS))).toBe('INVALID_CREDENTIALS')
  })

  test('on a key of the other mode is INVALID_CREDENTIALS, even if the key is stored', () => {
    const { stored, secret } = apiKey({ mode: 'sandbox' })
    const { authenticator } = authenticatorOf(stored)

    expect(verdictOf(authenticate(authenticator, present(secret), NOW_MS))).toBe('INVALID_CREDENTIALS')
  })

  test('on a text without the form of a key needs no look-up', () => {
    const { authenticator, counts } = authenticatorOf()

    expect(verdictOf(authenticate(authenticator, present('x'.repeat(10_000)), NOW_MS))).toBe('INVALID_CREDENTIALS')
    expect(counts.lookUps).toBe(0)
  })

  test('on a valid key is INVALID_CREDENTIALS beside an Authorization header that is none', () => {
    const { stored, secret } = apiKey()
    const { authenticator } = authenticatorOf(stored)

    expect(verdictOf(authenticate(authenticator, present(secret, 'Bearer x'), NOW_MS))).toBe('INVALID_CREDENTIALS')
    expect(verdictOf(authenticate(authenticator, present('', `Basic ${secret}`), NOW_MS))).toBe('INVALID_CREDENTIALS')
  })

  test('is the same for unknown, revoked and mistyped keys', () => {
    const [known, revoked] = [apiKey(), apiKey({ status: 'revoked' })]
    const { authenticator } = authenticatorOf(
      { ...known.stored, ...apiKey().stored, id: known.stored.id },
      revoked.stored,
    )

    const verdicts = [known.secret, revoked.secret, apiKey().secret, 'x'].map((text) =>
      authenticate(authenticator, present(text), NOW_MS),
    )

    for (const verdict of verdicts) expect(verdict).toEqual(verdicts[0])
  })
})

describe('the expiry of an API key', () => {
  test('is the first instant at which the key is refused', () => {
    const { stored, secret } = apiKey({ expires_at: at(NOW_MS) })
    const { authenticator } = authenticatorOf(stored)

    expect(verdictOf(authenticate(authenticator, present(secret), NOW_MS - 1))).toBe('ok')
    expect(verdictOf(authenticate(authenticator, present(secret), NOW_MS))).toBe('EXPIRED')
  })

  test('is checked on every call, also for a cached verdict', () => {
    const { stored, secret } = apiKey({ expires_at: at(NOW_MS) })
    const { authenticator } = authenticatorOf(stored)

    const verdicts = [NOW_MS - 1, NOW_MS, NOW_MS - 1].map((now) =>
      verdictOf(authenticate(authenticator, present(secret), now)),
    )

    expect(verdicts).toEqual(['ok', 'EXPIRED', 'ok'])
  })

  test('takes precedence over its revocation', () => {
    const { stored, secret } = apiKey({ expires_at: at(NOW_MS), status: 'revoked' })
    const { authenticator } = authenticatorOf(stored)

    expect(verdictOf(authenticate(authenticator, present(secret), NOW_MS - 1))).toBe('INVALID_CREDENTIALS')
    expect(verdictOf(authenticate(authenticator, present(secret), NOW_MS))).toBe('EXPIRED')
  })

  test('is not disclosed to a caller without the secret', () => {
    const [one, other] = [apiKey({ expires_at: at(0) }), apiKey()]
    const { authenticator } = authenticatorOf({ ...one.stored, id: other.stored.id })

    expect(verdictOf(authenticate(authenticator, present(other.secret), NOW_MS))).toBe('INVALID_CREDENTIALS')
  })

  test('counts as past if it cannot be parsed', () => {
    const { stored, secret } = apiKey({ expires_at: 'next year' })
    const { authenticator } = authenticatorOf(stored)

    expect(verdictOf(authenticate(authenticator, present(secret), NOW_MS))).toBe('EXPIRED')
  })
})

describe('the cache of verdicts', () => {
  test('looks a key up once', () => {
    const { stored, secret } = apiKey()
    const { authenticator, counts } = authenticatorOf(stored)

    for (let i = 0; i < 5; i++) authenticate(authenticator, present(secret), NOW_MS)

    expect(counts.lookUps).toBe(1)
  })

  test.each([
    ['revoked', (key: StoredApiKey) => ({ ...key, status: 'revoked' }) as const, 'INVALID_CREDENTIALS'],
    ['expired', (key: StoredApiKey) => ({ ...key, expires_at: at(NOW_MS) }), 'EXPIRED'],
    ['deleted', () => undefined, 'INVALID_CREDENTIALS'],
  ] as const)('is empty of a key that was %s and forgotten', (_, change, expected) => {
    const { stored, secret } = apiKey()
    const { authenticator, bucket } = authenticatorOf(stored)
    expect(verdictOf(authenticate(authenticator, present(secret), NOW_MS))).toBe('ok')

    const changed = change(stored)
    if (changed === undefined) bucket.delete(stored.id)
    else bucket.set(stored.id, changed)
    authenticator.forget(stored.id)

    expect(verdictOf(authenticate(authenticator, present(secret), NOW_MS))).toBe(expected)
  })

  test('keeps the verdicts on other keys when one key is forgotten', () => {
    const [one, other] = [apiKey(), apiKey()]
    const { authenticator, counts } = authenticatorOf(one.stored, other.stored)
    for (const { secret } of [one, other]) authenticate(authenticator, present(secret), NOW_MS)

    authenticator.forget(one.stored.id)
    authenticator.forget('key_of_nobody')
    authenticate(authenticator, present(other.secret), NOW_MS)

    expect(counts.lookUps).toBe(2)
  })

  test('forgets a key again that was looked up again after it was forgotten', () => {
    const { stored, secret } = apiKey()
    const { authenticator, bucket } = authenticatorOf(stored)
    authenticate(authenticator, present(secret), NOW_MS)
    authenticator.forget(stored.id)
    authenticate(authenticator, present(secret), NOW_MS)

    bucket.delete(stored.id)
    authenticator.forget(stored.id)

    expect(verdictOf(authenticate(authenticator, present(secret), NOW_MS))).toBe('INVALID_CREDENTIALS')
  })

  test('holds no verdict on unknown keys, so that a key that is created later is accepted', () => {
    const { stored, secret } = apiKey()
    const { authenticator, bucket } = authenticatorOf()
    expect(verdictOf(authenticate(authenticator, present(secret), NOW_MS))).toBe('INVALID_CREDENTIALS')

    bucket.set(stored.id, stored)

    expect(verdictOf(authenticate(authenticator, present(secret), NOW_MS))).toBe('ok')
  })

  test('holds 10,000 verdicts and is emptied before the next', () => {
    const keys = Array.from({ length: 10_001 }, () => apiKey())
    const { authenticator, counts } = authenticatorOf(...keys.map(({ stored }) => stored))
    const ask = (i: number) => authenticate(authenticator, present(keys[i]?.secret ?? ''), NOW_MS)

    for (let i = 0; i < 10_000; i++) ask(i)
    ask(0)
    expect(counts.lookUps).toBe(10_000)

    ask(10_000)
    ask(0)
    expect(counts.lookUps).toBe(10_002)
  })
})

test(
  'fuzzing: the authenticator accepts no other text than the key itself, in the right headers',
  () => {
    const { stored, secret } = apiKey()
    const { authenticator } = authenticatorOf(stored)
    const changed = fc
      .tuple(fc.nat(secret.length), fc.nat(2), fc.string({ unit: 'binary', maxLength: 2 }))
      .map(([from, cut, inserted]) => secret.slice(0, from) + inserted + secret.slice(from + cut))
    const texts = fc.oneof(
      changed,
      fc.string({ unit: 'binary' }),
      fc.stringMatching(/^ak_live_[0-9a-z]{26}_[0-9a-z]{58}$/),
    )

    fc.assert(
      fc.property(texts, (text) => {
        const isOpen = authenticate(authenticator, present(text), NOW_MS).ok
        expect(isOpen).toBe(text === secret)
        for (const authorization of [text, `Bearer ${text}`, `Basic ${text}`]) {
          const isKey = authorization === `Bearer ${secret}`
          expect(authenticate(authenticator, present('', authorization), NOW_MS).ok).toBe(isKey)
          expect(authenticate(authenticator, present(secret, authorization), NOW_MS).ok).toBe(
            isKey || authorization === '',
          )
        }
      }),
      { numRuns: FUZZ_CASES },
    )
  },
  FUZZ_MS_MAX,
)
