import { hashOfInvocationId, type KeyHash } from '../../ids/key-hash.js'

/** A power of two. 10 MB; each event takes the place of an older one. */
const PLACES = 2 ** 19
const WORDS = 4
/** As long as stage A drops a repeat. */
const KNOWN_MS = 7 * 24 * 60 * 60 * 1000

/**
 * The newest events that the log has from this gateway: for `duplicate` in its answers, and for their status in the
 * first minute. A courtesy: what it does not know may have been admitted all the same, by another gateway or a while
 * ago. Stage A decides which event is a repeat.
 */
export class RecentEvents {
  private readonly words = new Int32Array(PLACES * WORDS)
  /** In seconds since the epoch. */
  private readonly addedAt = new Uint32Array(PLACES)
  private readonly key: KeyHash = new Int32Array(WORDS)

  /** @param id 16 bytes */
  add(id: Uint8Array, nowMs: number): void {
    const place = this.placeOf(id)
    for (let i = 0; i < WORDS; i++) this.words[place * WORDS + i] = this.key[i] as number
    this.addedAt[place] = nowMs / 1_000
  }

  /** @param withinMs whether it was added so lately, to the second */
  has(id: Uint8Array, nowMs: number, withinMs = KNOWN_MS): boolean {
    const place = this.placeOf(id)
    for (let i = 0; i < WORDS; i++) if (this.words[place * WORDS + i] !== this.key[i]) return false
    return nowMs - (this.addedAt[place] as number) * 1_000 <= withinMs
  }

  private placeOf(id: Uint8Array): number {
    hashOfInvocationId(id, this.key)
    return (this.key[1] as number) & (PLACES - 1)
  }
}
