import { createHash } from 'node:crypto'
import type { KV } from '@nats-io/kv'
import type { NatsConnection } from '@nats-io/transport-node'
import { MEMBERS as BUCKET } from '../../streams/buckets.js'
import { serviceVersion } from '../config/version.js'
import { counter, gauge } from '../telemetry/metrics.js'
import { connectionOf } from './connect.js'
import { HeardMembers, type Said } from './heard-members.js'
import { mirrorBucket } from './mirror.js'
import { opened } from './opened.js'

/** The live processes of a role, and the ownership of the role's work among them. */
export interface Membership {
  /**
   * Whether this process is the owner among the live members.
   *
   * @param name the unit of work, such as a checkpoint
   * @param part only members that do this part of the role's work can own it
   */
  owns(name: string, part?: string): boolean
  /** Names of the live members, including this one, sorted. */
  live(): readonly string[]
  /**
   * Calls back when the live members have changed: at once when one joins or leaves, within a second when one expires.
   */
  onChange(listener: () => void): void
  /** Whether events wait on the disk of another member, or may: of one that is silent and has not left. */
  mayOthersSpool(): boolean
  leave(): Promise<void>
}

/** The value of `<role>.<member>` in the bucket `members`. */
interface Heartbeat extends Said {
  readonly at: string
  readonly pid: number
  /** Of the build. */
  readonly version: string
  /** Of a gateway: its build of the HTTP parser. */
  readonly http?: string
}

const MEMBERS = gauge('members', 'Live processes of this role, as this one sees them: they share its work.')
const MEMBER_CHANGES = counter(
  'member_changes_total',
  'How often a process of this role came or went: each time, some work has a new owner.',
)

/** Of a member whose work another one takes over. */
const HEARTBEAT_MS = 1_000
/**
 * Of a member that is alone: nobody can take its work over, and a member that joins or returns hears from it at once.
 * Well within the age at which the bucket forgets a member.
 */
const HEARTBEAT_ALONE_MS = 5_000

/**
 * Joins the members of a role and assigns ownership by rendezvous hashing: a key belongs to the live member with the
 * highest hash of both names, so that a change of members moves as few keys as possible. Two members may briefly
 * disagree: all owned work must be fenced by a compare-and-set of its own.
 *
 * @param bucket members, as `Broker` opens it
 * @param member unique among the role's processes; one that restarts under its old name regains its share at once
 * @param parts the parts of the role's work that this process does, when it does not do all of them
 * @param gateway of a process that serves HTTP: the build of its parser, and whether events wait on its disk
 */
export async function joinMembers(
  bucket: KV,
  role: string,
  member: string,
  onLost: (cause: unknown) => void,
  parts?: readonly string[],
  gateway?: { readonly http: string; readonly isSpooling: () => boolean },
): Promise<Membership> {
  const connection = connectionOf(bucket) as NatsConnection
  const self = {
    pid: process.pid,
    version: serviceVersion(),
    ...(gateway !== undefined && { http: gateway.http }),
    ...(parts !== undefined && { parts }),
  }
  const keyOf = (name: string): string => `${role}.${name}`
  const own = keyOf(member)
  const heard = new HeardMembers(own)

  const live = (): readonly string[] => {
    const names = [member]
    for (const [key] of heard.liveOthers()) names.push(key.slice(role.length + 1))
    return names.sort()
  }
  const changeListeners: (() => void)[] = []
  let lastLive = member
  MEMBERS.set(1)
  const notifyIfChanged = (): void => {
    const nowLive = live().join('\n')
    if (nowLive === lastLive) return
    lastLive = nowLive
    MEMBERS.set(live().length)
    MEMBER_CHANGES.inc()
    for (const listener of changeListeners) listener()
    // One that joins, or is heard again, has not heard from this member for as long as it was alone.
    beat()
  }

  const heartbeat = (): string => {
    const spooling = gateway?.isSpooling() === true && ({ spooling: true } as const)
    return JSON.stringify({ at: new Date().toISOString(), ...self, ...spooling } satisfies Heartbeat)
  }
  const { beat, stop } = beating({
    // Without an acknowledgement: if one is missed, the broker is unavailable to all members alike.
    send: () => connection.publish(`$KV.${BUCKET.name}.${own}`, heartbeat()),
    // By what was heard: after a stall of this process, `live` lacks those whose heartbeats are not read yet.
    everyMs: () => (lastLive === member ? HEARTBEAT_ALONE_MS : HEARTBEAT_MS),
    onTime: notifyIfChanged,
  })
  // First, so that the watch of this role's members finds one.
  await opened(() => bucket.put(own, heartbeat()))
  const mirror = await mirrorBucket<Heartbeat>(
    bucket,
    onLost,
    (key, heartbeat) => {
      if (heartbeat === undefined) heard.gone(key)
      else heard.heard(key, heartbeat)
      notifyIfChanged()
    },
    `${role}.>`,
  )
  beat()

  return {
    owns: (name, part) => isOwner({ own, self, heard }, name, part),
    live,
    onChange: (listener) => void changeListeners.push(listener),
    mayOthersSpool: () => heard.mayOthersSpool(),
    async leave() {
      stop()
      mirror.stop()
      await bucket.delete(own)
    },
  }
}

interface Beating {
  readonly send: () => void
  readonly everyMs: () => number
  readonly onTime: () => void
}

/** Heartbeats of this process. @returns how to send one at once, and how to end them */
function beating({ send, everyMs, onTime }: Beating): { readonly beat: () => void; readonly stop: () => void } {
  let timer: NodeJS.Timeout | undefined
  let hasLeft = false
  const beat = (): void => {
    if (hasLeft) return
    clearTimeout(timer)
    send()
    timer = setTimeout(() => {
      // After a stall of this process, the others' heartbeats have arrived but are not read yet.
      setImmediate(onTime)
      beat()
    }, everyMs())
  }
  const stop = (): void => {
    hasLeft = true
    clearTimeout(timer)
  }
  return { beat, stop }
}

function isOwner(
  { own, self, heard }: { readonly own: string; readonly self: Said; readonly heard: HeardMembers },
  name: string,
  part: string | undefined,
): boolean {
  const does = ({ parts }: Said): boolean => part === undefined || (parts?.includes(part) ?? true)
  if (!does(self)) return false
  const ownScore = score(own, name)
  for (const [key, said] of heard.liveOthers()) {
    if (does(said) && score(key, name) > ownScore) return false
  }
  return true
}

const scores = new Map<string, string>()

function score(member: string, name: string): string {
  const both = `${member}\n${name}`
  let known = scores.get(both)
  if (known === undefined) {
    if (scores.size > 10_000) scores.clear()
    known = createHash('sha256').update(both).digest('hex')
    scores.set(both, known)
  }
  return known
}
