import { describe, expect, test } from 'vitest'
import type { Authentication } from '../../../internal/auth/authenticate.js'
import { apiKey } from '../../support/api-keys.js'
import { at, authenticate, authenticatorWith, present, verdictOf } from '../../support/authenticators.js'
import { NOW_MS } from '../../support/invocations.js'

describe('an address with too many failed attempts', () => {
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

  test('gets RATE_LIMITED for every kind of failure', () => {
    const { ask, failures } = exhausted()

    const more = [ask('', 'Bearer invented'), ask('invented'), ask(expired.secret), ask('')]

    expect(new Set(failures.map(verdictOf))).toEqual(new Set(['INVALID_CREDENTIALS', 'EXPIRED']))
    expect(more).toEqual(
      more.map(() => ({
        ok: false,
        problem: expect.objectContaining({ code: 'RATE_LIMITED', retryAfterSeconds: expect.any(Number) }),
        exhausted: expect.anything(),
      })),
    )
  })

  test('is still accepted with a valid token, new or known, and with a valid API key', () => {
    const { ask, authenticator } = exhausted()
    const aMinuteLater = authenticate(authenticator, present('', 'Bearer known'), NOW_MS + 61_000)

    const [fresh, known, byKey] = [ask('', 'Bearer fresh'), ask('', 'Bearer known'), ask(key.secret)]

    expect([fresh, known, byKey, aMinuteLater].map(verdictOf)).toEqual(['ok', 'ok', 'ok', 'ok'])
  })

  test('does not affect other addresses', () => {
    const { ask } = exhausted()

    expect(verdictOf(ask('', 'Bearer fresh', '192.0.2.2'))).toBe('ok')
    expect(verdictOf(ask('', 'Bearer invented', '192.0.2.2'))).toBe('INVALID_CREDENTIALS')
  })
})

describe('signatures', () => {
  function askedOften() {
    const made = authenticatorWith({ known: {}, fresh: {} })
    const ask = (token: string, address?: string): Authentication =>
      authenticate(made.authenticator, present('', `Bearer ${token}`), NOW_MS, address)
    ask('known')
    return { ...made, ask }
  }

  test('are verified up to a limit per address, and never for a text that cannot be our token', () => {
    const { ask, counts } = askedOften()
    for (let i = 0; i < 1_000; i++) ask(`garbage-${i}`)
    for (let i = 0; i < 99; i++) ask(`forged-${i}`)
    expect(counts.verified).toBe(100)

    const limited = ask('fresh')

    expect(limited).toMatchObject({ ok: false, problem: { code: 'RATE_LIMITED', retryAfterSeconds: 1_000 } })
    expect(counts.verified).toBe(100)
    expect([ask('known'), ask('fresh', '192.0.2.2')].map(verdictOf)).toEqual(['ok', 'ok'])
  })

  test('that exceed the limit do not count as failures', () => {
    const good = Array.from({ length: 100 }, (_, i) => `good-${i}`)
    const { authenticator } = authenticatorWith(Object.fromEntries(good.map((token) => [token, {}])))
    const ask = (token: string): string =>
      verdictOf(authenticate(authenticator, present('', `Bearer ${token}`), NOW_MS))
    expect(new Set(good.map(ask))).toEqual(new Set(['ok']))

    for (let i = 0; i < 50; i++) expect(ask(`other-${i}`)).toBe('RATE_LIMITED')

    for (let i = 0; i < 20; i++) expect(ask(`garbage-${i}`)).toBe('INVALID_CREDENTIALS')
  })
})
