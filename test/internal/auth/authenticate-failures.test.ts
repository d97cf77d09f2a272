import { describe, expect, test } from 'vitest'
import type { Authentication } from '../../../internal/auth/authenticate.js'
import { apiKey } from '../../support/api-keys.js'
import { at, authenticate, authenticatorWith, present, verdictOf } from '../../support/authenticators.js'
import { NOW_MS } from '../../support/invocations.js'

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
