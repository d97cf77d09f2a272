import { createHash } from 'node:crypto'
import type { KV } from '@nats-io/kv'
import { mirrorBucket } from './mirror.js'

/** The live processes of a role, and which of them owns what. */
export interface Membership {
  /**
   * Whether this process is the owner among those that are alive now.
   *
   * @param part only members that do this part of the role's work can own it
   */
  owns(what: string, part?: string): boolean
  /** Names of the members that are alive now, this one among them, sorted. */
  live(): readonly string[]
  /** Calls back when `live` has changed: at once when a member comes or leaves, within a second when one lapses. */
  onChange(tell: () => void): void
  leave(): Promise<void>
}

/** The value of `<role>.<member>` in the bucket `members`. */
interface Heartbeat {
  readonly at: string
  readonly pid: number
  /** Which parts of the role's work the member does; every one where it does not say. */
  readonly parts?: readonly string[]
}

interface Heard extends Pick<Heartbeat, 'parts'> {
  readonly at: number
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
 * @param parts of the role's work, where this process does not do all of it
 */
export async function joinMembers(
  bucket: KV,
  role: string,
  member: string,
  onLost: (cause: unknown) => void,
  parts?: readonly string[],
): Promise<Membership> {
  const heard = new Map<string, Heard>()
  const keyOf = (name: string): string => `${role}.${name}`
  const own = keyOf(member)

  const live = (): readonly string[] => {
    const now = performance.now()
    const names = [member]
    for (const [key, { at }] of heard) {
      if (key !== own && now - at <= LAPSED_MS) names.push(key.slice(role.length + 1))
    }
    return names.sort()
  }
  const listeners: (() => void)[] = []
  let known = member
  const look = (): void => {
    const now = performance.now()
    for (const [key, { at }] of heard) if (now - at > LAPSED_MS) heard.delete(key)
    const seen = live().join('\n')
    if (seen === known) return
    known = seen
    for (const tell of listeners) tell()
  }

  const hear = (key: string, { parts: does }: Pick<Heartbeat, 'parts'>): void => {
    heard.set(key, { at: performance.now(), ...(does !== undefined && { parts: does }) })
  }
  const mirror = await mirrorBucket<Heartbeat>(bucket, onLost, (key, heartbeat) => {
    if (!key.startsWith(`${role}.`)) return
    if (heartbeat === undefined) heard.delete(key)
    else hear(key, heartbeat)
    look()
  })
  const said = { pid: process.pid, ...(parts !== undefined && { parts }) }
  const beat = async (): Promise<void> => {
    await bucket.put(own, JSON.stringify({ at: new Date().toISOString(), ...said } satisfies Heartbeat))
  }
  await beat()
  hear(own, said)
  // A missed beat is not an error: the broker is away, and then for all members alike.
  const timer = setInterval(() => {
    // After a stall of this process the others' beats are there, but not read yet.
    setImmediate(look)
    void beat().catch(() => undefined)
  }, HEARTBEAT_MS)

  return {
    owns(what, part) {
      const now = performance.now()
      const does = (of: Pick<Heartbeat, 'parts'>): boolean => part === undefined || (of.parts?.includes(part) ?? true)
      if (!does(said)) return false
      const ownScore = score(own, what)
      for (const [key, member] of heard) {
        if (key === own || now - member.at > LAPSED_MS || !does(member)) continue
        if (score(key, what) > ownScore) return false
      }
      return true
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
