import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { StoredApiKey } from '../../../internal/auth/api-keys.js'
import {
  type Authentication,
  type Authenticator,
  type Credentials,
  createAuthenticator,
  type KeyUse,
} from '../../../internal/auth/authenticate.js'
import type { JudgedToken } from '../../../internal/auth/bearer-tokens.js'
import { budgetsCache, rateLimitsOf } from '../../../internal/auth/rate-limits.js'
import { apiKey, TENANT } from '../../support/api-keys.js'
import { FUZZ_CASES, FUZZ_MS_MAX } from '../../support/fuzz.js'
import { NOW_MS } from '../../support/invocations.js'

const budgetsOf = budgetsCache(rateLimitsOf({ ingest: 10, read: 10, report: 10, control: 10, token: 10 }))

/** None comes back while a test runs. */
const FAILURE_LIMIT = { perSecond: 0.001, burst: 20 }

/** Tokens that are good, by their text. */
type Tokens = Record<string, Partial<JudgedToken>>

const judgedToken = (stated: Partial<JudgedToken>): JudgedToken => ({
  tenantId: TENANT,
  principal: 'cli_one',
  scopes: ['read:attribution'],
  authTimeS: undefined,
  notBeforeMs: 0,
  expiresAtMs: Number.POSITIVE_INFINITY,
  rests: ['cli_one'],
  ...stated,
})

/** An authenticator over these keys, which counts how often it looks one up. */
const authenticatorOf = (...keys: readonly StoredApiKey[]) => authenticatorWith({}, ...keys)

/** The same with tokens as well; it counts how often it has one judged. */
function authenticatorWith(tokens: Tokens, ...keys: readonly StoredApiKey[]) {
  const bucket = new Map(keys.map((key) => [key.id, key]))
  const counts = { lookUps: 0, judged: 0 }
  const uses = new Map<string, KeyUse>()
  const findKey = (id: string): StoredApiKey | undefined => {
    counts.lookUps++
    return bucket.get(id)
  }
  const authenticator = createAuthenticator({
    mode: 'production',
    findKey,
    judgeToken: (text) => {
      counts.judged++
      const stated = Object.hasOwn(tokens, text) ? tokens[text] : undefined
      return stated && judgedToken(stated)
    },
    budgetsOf,
    failureLimit: FAILURE_LIMIT,
    useOf(keyId) {
      const use = uses.get(keyId) ?? { atMs: 0 }
      uses.set(keyId, use)
      return use
    },
  })
  return { authenticator, bucket, counts, uses }
}

/** Nobody's address fails so often in these tests, but where one is told. */
const authenticate = (
  authenticator: Authenticator,
  credentials: Credentials,
  nowMs: number,
  address = '192.0.2.1',
): Authentication => authenticator.authenticate(credentials, nowMs, { address })

const present = (apiKeyText: string, authorization = '') => ({ apiKey: apiKeyText, authorization })
const verdictOf = (authentication: Authentication): string => (authentication.ok ? 'ok' : authentication.problem.code)
const at = (ms: number): string => new Date(ms).toISOString()

describe('a verdict', () => {
  test('on a live key says whose it is and what it may', () => {
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

  test('notes when its key was used, unless the key is refused', () => {
    const [good, revoked, expired] = [apiKey(), apiKey({ status: 'revoked' }), apiKey({ expires_at: at(NOW_MS + 1) })]
    const { authenticator, uses } = authenticatorOf(good.stored, revoked.stored, expired.stored)

    for (const { secret } of [good, revoked, expired]) {
      for (const ms of [NOW_MS, NOW_MS + 5]) authenticate(authenticator, present(secret), ms)
    }

    expect([good, revoked, expired].map(({ stored }) => uses.get(stored.id)?.atMs)).toEqual([NOW_MS + 5, 0, NOW_MS])
  })

  test.each([[['gateway']], [[]]])('keeps the layers that a key is limited to: %j', (ingestion_layers) => {
    const { stored, secret } = apiKey({ ingestion_layers })
    const { authenticator } = authenticatorOf(stored)

    expect(authenticate(authenticator, present(secret), NOW_MS)).toMatchObject({
      caller: { ingestionLayers: new Set(ingestion_layers) },
    })
  })

  test('on nothing is INVALID_CREDENTIALS', () => {
    const { authenticator } = authenticatorOf()

    expect(verdictOf(authenticate(authenticator, present(''), NOW_MS))).toBe('INVALID_CREDENTIALS')
  })

  test('on a key that nobody knows is INVALID_CREDENTIALS', () => {
    const { authenticator } = authenticatorOf(apiKey().stored)

    expect(verdictOf(authenticate(authenticator, present(apiKey().secret), NOW_MS))).toBe('INVALID_CREDENTIALS')
  })

  test('on a known id with another secret is INVALID_CREDENTIALS', () => {
    const [one, other] = [apiKey(), apiKey()]
    const { authenticator } = authenticatorOf({ ...one.stored, id: other.stored.id })

    expect(verdictOf(authenticate(authenticator, present(other.secret), NOW_MS))).toBe('INVALID_CREDENTIALS')
  })

  test('on a key of the other mode is INVALID_CREDENTIALS, even where it is known', () => {
    const { stored, secret } = apiKey({ mode: 'sandbox' })
    const { authenticator } = authenticatorOf(stored)

    expect(verdictOf(authenticate(authenticator, present(secret), NOW_MS))).toBe('INVALID_CREDENTIALS')
  })

  test('on a text that is no key needs no look-up', () => {
    const { authenticator, counts } = authenticatorOf()

    expect(verdictOf(authenticate(authenticator, present('x'.repeat(10_000)), NOW_MS))).toBe('INVALID_CREDENTIALS')
    expect(counts.lookUps).toBe(0)
  })

  test('on a key beside or within an Authorization header of no token is INVALID_CREDENTIALS', () => {
    const { stored, secret } = apiKey()
    const { authenticator } = authenticatorOf(stored)

    expect(verdictOf(authenticate(authenticator, present(secret, 'Bearer x'), NOW_MS))).toBe('INVALID_CREDENTIALS')
    expect(verdictOf(authenticate(authenticator, present('', `Bearer ${secret}`), NOW_MS))).toBe('INVALID_CREDENTIALS')
  })

  test('does not tell whether a key is known, revoked or mistyped', () => {
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

describe('expiry', () => {
  test('is the first instant at which a key is dead', () => {
    const { stored, secret } = apiKey({ expires_at: at(NOW_MS) })
    const { authenticator } = authenticatorOf(stored)

    expect(verdictOf(authenticate(authenticator, present(secret), NOW_MS - 1))).toBe('ok')
    expect(verdictOf(authenticate(authenticator, present(secret), NOW_MS))).toBe('EXPIRED')
  })

  test('is looked at on every call, cached or not', () => {
    const { stored, secret } = apiKey({ expires_at: at(NOW_MS) })
    const { authenticator } = authenticatorOf(stored)

    const verdicts = [NOW_MS - 1, NOW_MS, NOW_MS - 1].map((now) =>
      verdictOf(authenticate(authenticator, present(secret), now)),
    )

    expect(verdicts).toEqual(['ok', 'EXPIRED', 'ok'])
  })

  test('comes before revocation', () => {
    const { stored, secret } = apiKey({ expires_at: at(NOW_MS), status: 'revoked' })
    const { authenticator } = authenticatorOf(stored)

    expect(verdictOf(authenticate(authenticator, present(secret), NOW_MS - 1))).toBe('INVALID_CREDENTIALS')
    expect(verdictOf(authenticate(authenticator, present(secret), NOW_MS))).toBe('EXPIRED')
  })

  test('is not told to whoever does not hold the secret', () => {
    const [one, other] = [apiKey({ expires_at: at(0) }), apiKey()]
    const { authenticator } = authenticatorOf({ ...one.stored, id: other.stored.id })

    expect(verdictOf(authenticate(authenticator, present(other.secret), NOW_MS))).toBe('INVALID_CREDENTIALS')
  })

  test('that cannot be read counts as past', () => {
    const { stored, secret } = apiKey({ expires_at: 'next year' })
    const { authenticator } = authenticatorOf(stored)

    expect(verdictOf(authenticate(authenticator, present(secret), NOW_MS))).toBe('EXPIRED')
  })
})

describe('the cache of verdicts', () => {
  test('asks for a key once', () => {
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

  test('keeps what it knows of other keys when one is forgotten', () => {
    const [one, other] = [apiKey(), apiKey()]
    const { authenticator, counts } = authenticatorOf(one.stored, other.stored)
    for (const { secret } of [one, other]) authenticate(authenticator, present(secret), NOW_MS)

    authenticator.forget(one.stored.id)
    authenticator.forget('key_of_nobody')
    authenticate(authenticator, present(other.secret), NOW_MS)

    expect(counts.lookUps).toBe(2)
  })

  test('forgets again what came back after it was forgotten', () => {
    const { stored, secret } = apiKey()
    const { authenticator, bucket } = authenticatorOf(stored)
    authenticate(authenticator, present(secret), NOW_MS)
    authenticator.forget(stored.id)
    authenticate(authenticator, present(secret), NOW_MS)

    bucket.delete(stored.id)
    authenticator.forget(stored.id)

    expect(verdictOf(authenticate(authenticator, present(secret), NOW_MS))).toBe('INVALID_CREDENTIALS')
  })

  test('holds no verdict on a key that is not known, so that one which appears later is taken', () => {
    const { stored, secret } = apiKey()
    const { authenticator, bucket } = authenticatorOf()
    expect(verdictOf(authenticate(authenticator, present(secret), NOW_MS))).toBe('INVALID_CREDENTIALS')

    bucket.set(stored.id, stored)

    expect(verdictOf(authenticate(authenticator, present(secret), NOW_MS))).toBe('ok')
  })

  test('holds 10,000 verdicts and starts over with the next', () => {
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

describe('a bearer token', () => {
  const bearer = (text: string, apiKeyText = '') => present(apiKeyText, `Bearer ${text}`)

  test('says whose it is, what it may and when the person signed in', () => {
    const { authenticator } = authenticatorWith({ good: { principal: 'usr_one', authTimeS: 1_000 } })

    expect(authenticate(authenticator, bearer('good'), NOW_MS)).toEqual({
      ok: true,
      caller: {
        tenantId: TENANT,
        principal: 'usr_one',
        scopes: new Set(['read:attribution']),
        ingestionLayers: undefined,
        authTimeS: 1_000,
        budgets: budgetsOf(TENANT, 'usr_one'),
      },
    })
  })

  test.each([
    ['Bearer good', 'ok'],
    ['bearer good', 'ok'],
    ['BEARER good', 'ok'],
    ['Bearer  good', 'INVALID_CREDENTIALS'],
    ['Bearer good ', 'INVALID_CREDENTIALS'],
    ['Bearer good, Bearer good', 'INVALID_CREDENTIALS'],
    ['Bearergood', 'INVALID_CREDENTIALS'],
    ['Bearer', 'INVALID_CREDENTIALS'],
    ['Basic good', 'INVALID_CREDENTIALS'],
    ['good', 'INVALID_CREDENTIALS'],
  ])('in the header %j is %s', (authorization, expected) => {
    const { authenticator } = authenticatorWith({ good: {} })

    expect(verdictOf(authenticate(authenticator, present('', authorization), NOW_MS))).toBe(expected)
  })

  test('that is bad is told apart from none in the challenge only', () => {
    const { authenticator } = authenticatorWith({})
    const challengeOf = (authentication: Authentication) =>
      authentication.ok ? undefined : authentication.problem.challenge

    expect(challengeOf(authenticate(authenticator, bearer('bad'), NOW_MS))).toContain('error="invalid_token"')
    expect(challengeOf(authenticate(authenticator, present(''), NOW_MS))).toBeUndefined()
  })

  test('is judged once a minute, and its times on every call', () => {
    const token = { notBeforeMs: NOW_MS, expiresAtMs: NOW_MS + 30_000 }
    const { authenticator, counts } = authenticatorWith({ long: {}, short: token })
    const ask = (text: string, nowMs: number) => verdictOf(authenticate(authenticator, bearer(text), nowMs))

    for (const ms of [0, 1, 59_999]) ask('long', NOW_MS + ms)
    expect(counts.judged).toBe(1)
    ask('long', NOW_MS + 60_000)
    expect(counts.judged).toBe(2)

    // Before and after its time the token is judged anew, by somebody who would refuse it.
    for (const ms of [0, 29_999]) ask('short', NOW_MS + ms)
    expect(counts.judged).toBe(3)
    for (const ms of [-1, 30_000]) ask('short', NOW_MS + ms)
    expect(counts.judged).toBe(5)
  })

  test.each([['cli_one'], ['usr_one'], ['jti'], ['sid'], ['kid']])('is judged anew once %s has changed', (changed) => {
    const tokens: Tokens = { good: { rests: ['kid', 'cli_one', 'usr_one', 'jti', 'sid'] } }
    const { authenticator, counts } = authenticatorWith(tokens)
    authenticate(authenticator, bearer('good'), NOW_MS)

    authenticator.forget('somebody else')
    authenticate(authenticator, bearer('good'), NOW_MS)
    expect(counts.judged).toBe(1)

    delete tokens['good']
    authenticator.forget(changed)
    expect(verdictOf(authenticate(authenticator, bearer('good'), NOW_MS))).toBe('INVALID_CREDENTIALS')
  })

  test('that is bad is not remembered', () => {
    const tokens: Tokens = {}
    const { authenticator } = authenticatorWith(tokens)
    expect(verdictOf(authenticate(authenticator, bearer('late'), NOW_MS))).toBe('INVALID_CREDENTIALS')

    tokens['late'] = {}

    expect(verdictOf(authenticate(authenticator, bearer('late'), NOW_MS))).toBe('ok')
  })

  test('does not pass as an API key, nor an API key as a token', () => {
    const { stored, secret } = apiKey()
    const { authenticator } = authenticatorWith({ good: {} }, stored)
    authenticate(authenticator, bearer('good'), NOW_MS)
    authenticate(authenticator, present(secret), NOW_MS)

    expect(verdictOf(authenticate(authenticator, present('Bearer good'), NOW_MS))).toBe('INVALID_CREDENTIALS')
    expect(verdictOf(authenticate(authenticator, bearer(secret), NOW_MS))).toBe('INVALID_CREDENTIALS')
    expect(verdictOf(authenticate(authenticator, present('', secret), NOW_MS))).toBe('INVALID_CREDENTIALS')
  })

  describe('beside an API key', () => {
    const agreeing = { scopes: ['read:attribution', 'export:create'] } as const
    const [{ stored, secret }, limited, revoked, expired] = [
      apiKey(agreeing),
      apiKey({ ...agreeing, ingestion_layers: ['gateway'] }),
      apiKey({ ...agreeing, status: 'revoked' }),
      apiKey({ ...agreeing, expires_at: at(NOW_MS) }),
    ]
    const { authenticator } = authenticatorWith(
      {
        same: { ...agreeing, principal: 'usr_one' },
        narrower: { scopes: ['read:attribution'] },
        wider: { scopes: ['read:attribution', 'export:create', 'admin:config'] },
        other: { scopes: ['read:attribution', 'admin:config'] },
        foreign: { ...agreeing, tenantId: 'tnt_other' },
      },
      ...[stored, limited.stored, revoked.stored, expired.stored],
    )

    test('of the same tenant and scopes is the credential that acts', () => {
      expect(authenticate(authenticator, bearer('same', secret), NOW_MS)).toMatchObject({
        ok: true,
        caller: { principal: 'usr_one' },
      })
    })

    test.each(['narrower', 'wider', 'other', 'foreign', 'unknown'])('is refused when it is %s', (text) => {
      expect(verdictOf(authenticate(authenticator, bearer(text, secret), NOW_MS))).toBe('INVALID_CREDENTIALS')
    })

    test.each([
      ['limited to layers', limited],
      ['revoked', revoked],
      ['expired', expired],
      ['unknown', apiKey(agreeing)],
    ])('is refused when the key is %s', (_, key) => {
      expect(verdictOf(authenticate(authenticator, bearer('same', key.secret), NOW_MS))).toBe('INVALID_CREDENTIALS')
    })
  })
})

test(
  'fuzzing: of all texts only the key itself opens, in the right header',
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
          const isAlone = authorization === ''
          expect(authenticate(authenticator, present('', authorization), NOW_MS).ok).toBe(false)
          expect(authenticate(authenticator, present(secret, authorization), NOW_MS).ok).toBe(isAlone)
        }
      }),
      { numRuns: FUZZ_CASES },
    )
  },
  FUZZ_MS_MAX,
)

describe('an address of which too many attempts have failed', () => {
  const [key, expired] = [apiKey(), apiKey({ expires_at: at(NOW_MS) })]

  function exhausted() {
    const made = authenticatorWith({ known: {}, fresh: {} }, key.stored, expired.stored)
    const ask = (apiKeyText: string, authorization?: string, address?: string): Authentication =>
      authenticate(made.authenticator, present(apiKeyText, authorization), NOW_MS, address)
    ask('', 'Bearer known')
    const failures = [
      ...Array.from({ length: 10 }, (_, i) => ask('', `Bearer invented-${i}`)),
      ...Array.from({ length: 4 }, () => ask('invented')),
      ...Array.from({ length: 3 }, () => ask(expired.secret)),
      ...Array.from({ length: 3 }, () => ask('')),
    ]
    return { ...made, ask, failures }
  }

  test('is told to come again later, whatever fails, and no more signatures are verified for it', () => {
    const { ask, failures, counts } = exhausted()
    const judged = counts.judged

    const more = [ask('', 'Bearer invented'), ask('invented'), ask(expired.secret), ask('')]

    expect(new Set(failures.map(verdictOf))).toEqual(new Set(['INVALID_CREDENTIALS', 'EXPIRED']))
    expect(more).toEqual(
      more.map(() => ({
        ok: false,
        problem: expect.objectContaining({ code: 'RATE_LIMITED', retryAfterSeconds: expect.any(Number) }),
        exhausted: expect.anything(),
      })),
    )
    expect(verdictOf(ask('', 'Bearer fresh'))).toBe('RATE_LIMITED')
    expect(counts.judged).toBe(judged)
  })

  test('is let in with a token that is known to be good, and with a good API key', () => {
    const { ask, authenticator } = exhausted()
    const aMinuteLater = authenticate(authenticator, present('', 'Bearer known'), NOW_MS + 61_000)

    expect([ask('', 'Bearer known'), ask(key.secret), aMinuteLater].map(verdictOf)).toEqual(['ok', 'ok', 'ok'])
  })

  test('does not stand in the way of others', () => {
    const { ask } = exhausted()

    expect(verdictOf(ask('', 'Bearer fresh', '192.0.2.2'))).toBe('ok')
    expect(verdictOf(ask('', 'Bearer invented', '192.0.2.2'))).toBe('INVALID_CREDENTIALS')
  })
})
