import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { DAY_MS, endOf, inheritedExpiry, readExpiry, statusOf } from '../../../../internal/access/api-keys/status.js'
import { apiKey } from '../../../support/api-keys.js'

const NOW = Date.UTC(2026, 10, 21, 12)
const at = (ms: number): string => new Date(ms).toISOString()
const key = (stated: Parameters<typeof apiKey>[0] = {}) => apiKey(stated).stored

describe('the status of an API key', () => {
  test.each([
    [{}, 'active'],
    [{ expires_at: at(NOW + 1) }, 'active'],
    [{ expires_at: at(NOW) }, 'expired'],
    [{ status: 'revoked' }, 'revoked'],
    [{ status: 'revoked', expires_at: at(NOW + 1) }, 'revoked'],
    [{ status: 'revoked', expires_at: at(NOW) }, 'expired'],
  ] as const)('%j is %s', (stated, status) => {
    expect(statusOf(key(stated), NOW)).toBe(status)
  })

  test('ends with its revocation or expiry, whichever is first', () => {
    expect(endOf(key({ revoked_at: at(5), expires_at: at(7) }))).toBe(5)
    expect(endOf(key({ revoked_at: at(9), expires_at: at(7) }))).toBe(7)
    expect(endOf(key())).toBe(Number.POSITIVE_INFINITY)
  })
})

describe('the expiry of a new API key', () => {
  test('is by default as late as the maximum lifetime allows', () => {
    for (const none of [undefined, null]) {
      expect(readExpiry(none, NOW, 30)).toEqual({ ok: true, expiresAt: at(NOW + 30 * DAY_MS) })
    }
  })

  test('is accepted only in the future and within the maximum lifetime', () => {
    fc.assert(
      fc.property(fc.integer({ min: -2 * DAY_MS, max: 40 * DAY_MS }), (offset) => {
        const read = readExpiry(at(NOW + offset), NOW, 30)
        const isFine = offset > 0 && offset <= 30 * DAY_MS
        expect(read.ok ? read.expiresAt : undefined).toBe(isFine ? at(NOW + offset) : undefined)
      }),
    )
  })

  test('is refused with its pointer and rule', () => {
    expect(readExpiry(at(NOW), NOW, 30)).toEqual({
      ok: false,
      error: { pointer: '/expires_at', detail: 'must be in the future, at most 30 days from now' },
    })
  })

  test('is inherited in a rotation, within the maximum lifetime', () => {
    expect(inheritedExpiry(key({ expires_at: at(NOW + DAY_MS) }), NOW, 30)).toBe(at(NOW + DAY_MS))
    expect(inheritedExpiry(key({ expires_at: at(NOW + 60 * DAY_MS) }), NOW, 30)).toBe(at(NOW + 30 * DAY_MS))
    expect(inheritedExpiry(key({ expires_at: null }), NOW, 30)).toBe(at(NOW + 30 * DAY_MS))
  })
})
