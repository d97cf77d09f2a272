import { describe, expect, test } from 'vitest'
import type { Authentication } from '../../../internal/auth/authenticate.js'
import { apiKey, TENANT } from '../../support/api-keys.js'
import {
  at,
  authenticate,
  authenticatorWith,
  budgetsOf,
  present,
  type Tokens,
  verdictOf,
} from '../../support/authenticators.js'
import { NOW_MS } from '../../support/invocations.js'

describe('a bearer token', () => {
  const bearer = (text: string, apiKeyText = '') => present(apiKeyText, `Bearer ${text}`)

  test('identifies tenant, principal and scopes, and when the person signed in', () => {
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

  test('that is invalid differs from a missing one in the challenge only', () => {
    const { authenticator } = authenticatorWith({})
    const challengeOf = (authentication: Authentication) =>
      authentication.ok ? undefined : authentication.problem.challenge

    expect(challengeOf(authenticate(authenticator, bearer('bad'), NOW_MS))).toContain('error="invalid_token"')
    expect(challengeOf(authenticate(authenticator, present(''), NOW_MS))).toBeUndefined()
  })

  test('is checked once a minute, and its times on every call', () => {
    const token = { notBeforeMs: NOW_MS, expiresAtMs: NOW_MS + 30_000 }
    const { authenticator, counts } = authenticatorWith({ long: {}, short: token })
    const ask = (text: string, nowMs: number) => verdictOf(authenticate(authenticator, bearer(text), nowMs))

    for (const ms of [0, 1, 59_999]) ask('long', NOW_MS + ms)
    expect(counts.judged).toBe(1)
    ask('long', NOW_MS + 60_000)
    expect(counts.judged).toBe(2)

    // Outside its times the token is checked again, and the check now refuses it.
    for (const ms of [0, 29_999]) ask('short', NOW_MS + ms)
    expect(counts.judged).toBe(3)
    for (const ms of [-1, 30_000]) ask('short', NOW_MS + ms)
    expect(counts.judged).toBe(5)
  })

  test.each([['cli_one'], ['usr_one'], ['jti'], ['sid'], ['kid']])(
    'is checked again after %s has changed',
    (changed) => {
      const tokens: Tokens = { good: { dependsOn: ['kid', 'cli_one', 'usr_one', 'jti', 'sid'] } }
      const { authenticator, counts } = authenticatorWith(tokens)
      authenticate(authenticator, bearer('good'), NOW_MS)

      authenticator.forget('somebody else')
      authenticate(authenticator, bearer('good'), NOW_MS)
      expect(counts.judged).toBe(1)

      delete tokens['good']
      authenticator.forget(changed)
      expect(verdictOf(authenticate(authenticator, bearer('good'), NOW_MS))).toBe('INVALID_CREDENTIALS')
    },
  )

  test('that is invalid is not cached', () => {
    const tokens: Tokens = {}
    const { authenticator } = authenticatorWith(tokens)
    expect(verdictOf(authenticate(authenticator, bearer('late'), NOW_MS))).toBe('INVALID_CREDENTIALS')

    tokens['late'] = {}

    expect(verdictOf(authenticate(authenticator, bearer('late'), NOW_MS))).toBe('ok')
  })

  test('is not accepted as an API key, nor an API key as the whole header', () => {
    const { stored, secret } = apiKey()
    const { authenticator } = authenticatorWith({ good: {} }, stored)
    authenticate(authenticator, bearer('good'), NOW_MS)
    authenticate(authenticator, present(secret), NOW_MS)

    expect(verdictOf(authenticate(authenticator, present('Bearer good'), NOW_MS))).toBe('INVALID_CREDENTIALS')
    expect(verdictOf(authenticate(authenticator, present('', secret), NOW_MS))).toBe('INVALID_CREDENTIALS')
  })

  describe('a bearer token beside an API key', () => {
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

    test.each(['narrower', 'wider', 'other', 'foreign', 'unknown'])(
      'is refused together with the key when it is: %s',
      (text) => {
        expect(verdictOf(authenticate(authenticator, bearer(text, secret), NOW_MS))).toBe('INVALID_CREDENTIALS')
      },
    )

    test.each([
      ['limited to layers', limited],
      ['revoked', revoked],
      ['unknown', apiKey(agreeing)],
    ])('is refused when the key is %s', (_, key) => {
      expect(verdictOf(authenticate(authenticator, bearer('same', key.secret), NOW_MS))).toBe('INVALID_CREDENTIALS')
    })

    test.each(['same', 'other', 'foreign'])('an expired key is reported as expired beside this token: %s', (text) => {
      expect(verdictOf(authenticate(authenticator, bearer(text, expired.secret), NOW_MS))).toBe('EXPIRED')
      expect(verdictOf(authenticate(authenticator, bearer(text, expired.secret), NOW_MS - 1))).toBe(
        text === 'same' ? 'ok' : 'INVALID_CREDENTIALS',
      )
    })
  })
})
