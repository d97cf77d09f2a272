import { createHash } from 'node:crypto'
import type { KeyHash } from '../../ids/key-hash.js'

/**
 * Which of the live gateways owns which key: the one with the highest mix of the key's hash and its own name
 * (rendezvous hashing), so that a gateway that comes or goes moves only its own share. A few nanoseconds a member, no
 * allocation. Every gateway computes the same for the same members: the key's hash holds the tenant already.
 */
export class KeyOwners {
  private readonly self: string
  /** Empty when this gateway is alone. */
  private names: readonly string[] = []
  private seeds = new Int32Array(0)

  constructor(self: string) {
    this.self = self
  }

  /** @param names the live members, whether or not this one is among them */
  setMembers(names: readonly string[]): void {
    // One order for all, so that a tie (1 key in 4 billion) is decided alike.
    const all = [...new Set([...names, this.self])].sort()
    this.names = all.length === 1 ? [] : all
    this.seeds = new Int32Array(this.names.length * 2)
    for (const [i, name] of this.names.entries()) {
      const hash = createHash('sha256').update(name).digest()
      this.seeds[2 * i] = hash.readInt32LE(0)
      this.seeds[2 * i + 1] = hash.readInt32LE(4)
    }
  }

  /** Whether there is no gateway besides this one. */
  get isAlone(): boolean {
    return this.names.length === 0
  }

  /** The live gateways besides this one. */
  get peers(): readonly string[] {
    return this.names.filter((name) => name !== this.self)
  }

  /** @returns undefined when this gateway is the owner, or alone */
  ownerOf(key: KeyHash): string | undefined {
    const { names, seeds } = this
    if (names.length === 0) return undefined
    const word2 = key[2] ?? 0
    const word3 = key[3] ?? 0
    let best = -1
    let bestScore = -1
    for (let i = 0; i < names.length; i++) {
      const score = mix(word2 ^ (seeds[2 * i] ?? 0), word3 ^ (seeds[2 * i + 1] ?? 0))
      if (score > bestScore) {
        best = i
        bestScore = score
      }
    }
    const owner = names[best]
    return owner === this.self ? undefined : owner
  }
}

/** Every bit of the result depends on every bit of both words (the finalizer of MurmurHash3, twice). */
const mix = (word0: number, word1: number): number => finalize(finalize(word0) ^ word1) >>> 0

function finalize(word: number): number {
  let mixed = word ^ (word >>> 16)
  mixed = Math.imul(mixed, 0x85ebca6b)
  mixed ^= mixed >>> 13
  mixed = Math.imul(mixed, 0xc2b2ae35)
  return mixed ^ (mixed >>> 16)
}
