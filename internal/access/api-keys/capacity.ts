import type { StoredApiKey } from '../../auth/api-keys.js'
import { endOf, statusOf } from './status.js'

/** Active keys per tenant. */
export const ACTIVE_MAX = 1_000
/** Expired and revoked keys per tenant that stay listed: those that ended last. */
const ENDED_MAX = 1_000

export function hasCapacity(keys: Iterable<StoredApiKey>, nowMs: number): boolean {
  let active = 0
  for (const key of keys) if (statusOf(key, nowMs) === 'active') active++
  return active < ACTIVE_MAX
}

/** Ids of the keys to delete, so that one more can be created: those that ended first. */
export function longestEnded(keys: Iterable<StoredApiKey>, nowMs: number): readonly string[] {
  const ended = [...keys].filter((key) => statusOf(key, nowMs) !== 'active')
  if (ended.length < ENDED_MAX) return []
  return ended
    .sort((one, other) => endOf(one) - endOf(other))
    .slice(0, ended.length - ENDED_MAX + 1)
    .map(({ id }) => id)
}
