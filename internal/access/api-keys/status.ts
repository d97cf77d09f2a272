import type { StoredApiKey } from '../../auth/api-keys.js'
import type { FieldError } from '../../problems/problem-catalogue.js'
import { formatInstant, parseInstant } from '../../units/instant.js'

export const DAY_MS = 24 * 60 * 60 * 1000

export const KEY_STATUSES = ['active', 'expired', 'revoked'] as const
export type KeyStatus = (typeof KEY_STATUSES)[number]

/** The status of a key. Expired takes precedence over revoked. */
export const statusOf = ({ status, expires_at }: StoredApiKey, nowMs: number): KeyStatus =>
  expires_at !== null && nowMs >= Date.parse(expires_at) ? 'expired' : status

/** When a key ended, or will end, milliseconds since the epoch; Infinity without an end. */
export const endOf = ({ revoked_at, expires_at }: StoredApiKey): number =>
  Math.min(...[revoked_at, expires_at].map((at) => (at == null ? Number.POSITIVE_INFINITY : Date.parse(at))))

export type ReadExpiry =
  | { readonly ok: true; readonly expiresAt: string }
  | { readonly ok: false; readonly error: FieldError }

/**
 * When a new key expires.
 *
 * @param wanted a valid RFC 3339 time in UTC; absent: as late as the maximum lifetime allows
 * @param daysMax the tenant's maximum lifetime
 */
export function readExpiry(wanted: string | null | undefined, nowMs: number, daysMax: number): ReadExpiry {
  const latestMs = nowMs + daysMax * DAY_MS
  const expiresAtMs = wanted == null ? latestMs : (parseInstant(wanted) ?? Number.NaN)
  if (expiresAtMs > nowMs && expiresAtMs <= latestMs) return { ok: true, expiresAt: formatInstant(expiresAtMs) }
  return {
    ok: false,
    error: { pointer: '/expires_at', detail: `must be in the future, at most ${daysMax} days from now` },
  }
}

/** When a rotated key without a requested expiry expires: with the old key, within the maximum lifetime. */
export const inheritedExpiry = ({ expires_at }: StoredApiKey, nowMs: number, daysMax: number): string =>
  formatInstant(
    Math.min(expires_at === null ? Number.POSITIVE_INFINITY : Date.parse(expires_at), nowMs + daysMax * DAY_MS),
  )
