import { createHash } from 'node:crypto'
import type { KV } from '@nats-io/kv'
import { mirrorBucket } from './mirror.js'

/** The live processes of a role, and which of them owns what. */
export interface Membership {
  /** Whether this process is the owner among those that are alive now. */
  owns(what: string): boolean
  /** Names of the members that are alive now, this one among them, sorted. */
  live(): readonly string[]
  /** Calls back when `live` has changed: at once when a member comes or leaves, within a second when one lapses. */
  onChange(tell: () => void): void
  leave(): Promise<void>
}

const HEARTBEAT_MS = 1_000
/** A member that was not heard of for so long is dead to the others. */
const LAPSED_MS = 3_000

/**
 * Joins the members of a role and shares out ownership by rendezvous hashing: each thing belongs to the live member
 * with the highest hash of both names, so that a change of members moves as few things as possible. For moments two
 * members may disagree; whatever they own must be fenced by its own compare-and-set.
 *
 * @param bucket members
 * @param member unique among the role's processes; a restarted one under its old name takes up its share at once
 */
export async function joinMembers(
  bucket: KV,
  role: string,
  member: string,
  onLost: (cause: unknown) => void,
): Promise<Membership> {
  const heardAt = new Map<string, number>()
  const keyOf = (name: string): string => `${role}.${name}`
  const own = keyOf(member)

  const live = (): readonly string[] => {
    const now = performance.now()
    const names = [member]
    for (const [key, at] of heardAt) {
      if (key !== own && now - at <= LAPSED_MS) names.push(key.slice(role.length + 1))
    }
    return names.sort()
  }
  const listeners: (() => void)[] = []
  let known = member
  const look = (): void => {
    const now = performance.now()
    for (const [key, at] of heardAt) if (now - at > LAPSED_MS) heardAt.delete(key)
    const seen = live().join('\n')
    if (seen === known) return
    known = seen
    for (const tell of listeners) tell()
  }

  const mirror = await mirrorBucket(bucket, onLost, (key, value) => {
    if (!key.startsWith(`${role}.`)) return
    if (value === undefined) heardAt.delete(key)
    else heardAt.set(key, performance.now())
    look()
  })
  const beat = async (): Promise<void> => {
    await bucket.put(own, JSON.stringify({ at: new Date().toISOString(), pid: process.pid }))
  }
  await beat()
  heardAt.set(own, performance.now())
  // A missed beat is not an error: the broker is away, and then for all members alike.
  const timer = setInterval(() => {
    // After a stall of this process the others' beats are there, but not read yet.
    setImmediate(look)
    void beat().catch(() => undefined)
  }, HEARTBEAT_MS)

  return {
    owns(what) {
      const now = performance.now()
      let best = own
      let bestScore = score(own, what)
      for (const [key, at] of heardAt) {
        if (key === own || now - at > LAPSED_MS) continue
        const candidate = score(key, what)
        if (candidate > bestScore) {
          best = key
          bestScore = candidate
        }
      }
      return best === own
    },
    live,
    onChange(tell) {
      listeners.push(tell)
    },
    async leave() {
      clearInterval(timer)
      mirror.stop()
      await bucket.delete(own)
    },
  }
}

const scores = new Map<string, string>()

function score(key: string, what: string): string {
  const both = `${key}\n${what}`
  let known = scores.get(both)
  if (known === undefined) {
    if (scores.size > 10_000) scores.clear()
    known = createHash('sha256').update(both).digest('hex')
    scores.set(both, known)
  }
  return known
}
