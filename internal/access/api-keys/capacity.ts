import type { StoredApiKey } from '../../auth/api-keys.js'
import { deathOf, statusOf } from './status.js'

/** Keys of a tenant that are good at once, at most. */
const ACTIVE_MAX = 1_000
/** Keys of a tenant that are good no more and still known: those that died last. */
const DEAD_MAX = 1_000

export function hasRoomFor(keys: Iterable<StoredApiKey>, nowMs: number): boolean {
  let active = 0
  for (const key of keys) if (statusOf(key, nowMs) === 'active') active++
  return active < ACTIVE_MAX
}

/** Ids of the keys to forget, so that there is room for one more: those that have been dead longest. */
export function longestDead(keys: Iterable<StoredApiKey>, nowMs: number): readonly string[] {
  const dead = [...keys].filter((key) => statusOf(key, nowMs) !== 'active')
  if (dead.length < DEAD_MAX) return []
  return dead
    .sort((one, other) => deathOf(one) - deathOf(other))
    .slice(0, dead.length - DEAD_MAX + 1)
    .map(({ id }) => id)
}
