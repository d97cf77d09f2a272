import { hashOfInvocationId, type KeyHash } from '../../ids/key-hash.js'

/** A power of two. 8 MB; each event takes the place of an older one. */
const PLACES = 2 ** 19
const WORDS = 4

/**
 * The newest events that the log has from this gateway: for `duplicate` in its answers, and for their status before
 * they have a record. A courtesy: what it does not know may have been admitted all the same, by another gateway or a
 * while ago. Stage A decides which event is a repeat.
 */
export class RecentEvents {
  private readonly words = new Int32Array(PLACES * WORDS)
  private readonly key: KeyHash = new Int32Array(WORDS)

  /** @param id 16 bytes */
  add(id: Uint8Array): void {
    const at = this.placeOf(id)
    for (let i = 0; i < WORDS; i++) this.words[at + i] = this.key[i] as number
  }

  has(id: Uint8Array): boolean {
    const at = this.placeOf(id)
    for (let i = 0; i < WORDS; i++) if (this.words[at + i] !== this.key[i]) return false
    return true
  }

  private placeOf(id: Uint8Array): number {
    hashOfInvocationId(id, this.key)
    return ((this.key[1] as number) & (PLACES - 1)) * WORDS
  }
}
