import { MEMBERS } from '../../streams/buckets.js'

/** The part of a heartbeat that others go by. */
export interface Said {
  /** The parts of the role's work that the member does; all of them when absent. */
  readonly parts?: readonly string[]
  /** Of a gateway: events wait on its disk. */
  readonly spooling?: true
}

interface Heard {
  /** When its last heartbeat arrived. */
  readonly at: number
  readonly said: Said
}

/** Members whose last heartbeat is older than this count as dead. */
const EXPIRED_MS = 3_000
/** Longer than between two heartbeats of this process, which come back to it: it has heard nobody meanwhile. */
const DEAF_MS = 6_000

/**
 * What a process has heard of the other members of its role, by the keys of their heartbeats.
 *
 * One that is silent is soon not live, and others take its work over. It has not left, though, and what it has accepted
 * may wait on its disk: it is forgotten when it leaves, or has been silent for as long as the bucket keeps a heartbeat,
 * while this process heard itself. In an outage of the broker it hears nobody, and forgets nobody.
 */
export class HeardMembers {
  private readonly others = new Map<string, Heard>()
  private readonly own: string
  private readonly clock: () => number
  private hearsSince: number
  private heardSelfAt: number

  /** @param clock milliseconds, never back */
  constructor(own: string, clock = (): number => performance.now()) {
    this.own = own
    this.clock = clock
    this.hearsSince = clock()
    this.heardSelfAt = this.hearsSince
  }

  heard(key: string, said: Said): void {
    if (key === this.own) this.heardSelf()
    else this.others.set(key, { at: this.clock(), said })
  }

  /** The bucket no longer has its key: it has left, unless its last heartbeat may have expired. */
  gone(key: string): void {
    const other = this.others.get(key)
    if (other !== undefined && this.clock() - other.at <= MEMBERS.ttlMs) this.others.delete(key)
  }

  *liveOthers(): Generator<readonly [key: string, said: Said]> {
    const now = this.clock()
    for (const [key, { at, said }] of this.others) if (now - at <= EXPIRED_MS) yield [key, said]
  }

  /** Whether events wait on the disk of another member, as far as is known: what a silent one has is not. */
  mayOthersSpool(): boolean {
    const now = this.clock()
    return [...this.others.values()].some(({ at, said }) => said.spooling === true || now - at > EXPIRED_MS)
  }

  private heardSelf(): void {
    const now = this.clock()
    if (now - this.heardSelfAt > DEAF_MS) this.hearsSince = now
    this.heardSelfAt = now
    for (const [key, { at }] of this.others) {
      if (now - Math.max(at, this.hearsSince) > MEMBERS.ttlMs) this.others.delete(key)
    }
  }
}
