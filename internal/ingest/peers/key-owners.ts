import { createHash } from 'node:crypto'
import type { KeyHash } from '../../ids/key-hash.js'
import { ALL_SLOTS, type Slots, slotOf } from '../../ids/owner-slots.js'

/**
 * Which of the live gateways owns which key: keys are in slots, and a slot belongs to the gateway with the highest mix of the
 * slot's number and its own name (rendezvous hashing), so that a gateway that comes or goes moves only its own share. One look
 * into a table per key. Every gateway computes the same for the same members: the key's hash holds the tenant already.
 *
 * Builds up to 0.2 know no slots: they mix the key itself with each name. While one of them is live, all do as they do.
 */
export class KeyOwners {
  private readonly self: string
  /** Empty when this gateway is alone. */
  private names: readonly string[] = []
  private seeds = new Int32Array(0)
  /** Per slot, the index of its owner's name; undefined while keys have owners of their own. */
  private owners: Uint16Array | undefined
  private ownSlots: Slots = ALL_SLOTS

  constructor(self: string) {
    this.self = self
  }

  /**
   * @param names the live members, whether or not this one is among them
   * @param haveSlots whether all of them know slots
   * @returns the slots with keys that this gateway owns now and did not own before
   */
  setMembers(names: readonly string[], haveSlots = true): Slots {
    const before = new Set(this.ownSlots)
    const hadSlots = this.owners !== undefined || this.isAlone
    // One order for all, so that a tie (1 key in 4 billion) is decided alike.
    const all = [...new Set([...names, this.self])].sort()
    const isChanged = all.length !== Math.max(1, this.names.length) || all.some((name, i) => name !== this.names[i])
    this.names = all.length === 1 ? [] : all
    this.seeds = new Int32Array(this.names.length * 2)
    for (const [i, name] of this.names.entries()) {
      const hash = createHash('sha256').update(name).digest()
      this.seeds[2 * i] = hash.readInt32LE(0)
      this.seeds[2 * i + 1] = hash.readInt32LE(4)
    }
    const inSlots = haveSlots || this.isAlone
    this.owners =
      haveSlots && !this.isAlone ? Uint16Array.from(ALL_SLOTS, (slot) => this.highest(slot, ~slot)) : undefined
    this.ownSlots = this.owners === undefined ? ALL_SLOTS : ALL_SLOTS.filter((slot) => this.isOwn(this.owners?.[slot]))
    // Without slots, any slot has some of the keys that have changed hands.
    if (!inSlots || !hadSlots) return isChanged || inSlots !== hadSlots ? this.ownSlots : []
    return this.ownSlots.filter((slot) => !before.has(slot))
  }

  /** Whether there is no gateway besides this one. */
  get isAlone(): boolean {
    return this.names.length === 0
  }

  /** Whether all live gateways know slots, and with them what came with them. */
  get areInSlots(): boolean {
    return this.isAlone || this.owners !== undefined
  }

  /** The live gateways besides this one. */
  get peers(): readonly string[] {
    return this.names.filter((name) => name !== this.self)
  }

  /** The slots that have keys of this gateway. */
  get slots(): Slots {
    return this.ownSlots
  }

  /** @returns undefined when this gateway is the owner, or alone */
  ownerOf(key: KeyHash): string | undefined {
    const owner = this.names[this.indexOf(key, 0)]
    return owner === this.self ? undefined : owner
  }

  /** @param at index of the key's first of four words */
  owns(key: Int32Array, at = 0): boolean {
    return this.isAlone || this.isOwn(this.indexOf(key, at))
  }

  private isOwn(index: number | undefined): boolean {
    return index !== undefined && this.names[index] === this.self
  }

  private indexOf(key: Int32Array, at: number): number {
    return this.owners?.[slotOf(key, at)] ?? this.highest(key[at + 2] ?? 0, key[at + 3] ?? 0)
  }

  private highest(word0: number, word1: number): number {
    const { names, seeds } = this
    let best = -1
    let bestScore = -1
    for (let i = 0; i < names.length; i++) {
      const score = mix(word0 ^ (seeds[2 * i] ?? 0), word1 ^ (seeds[2 * i + 1] ?? 0))
      if (score > bestScore) {
        best = i
        bestScore = score
      }
    }
    return best
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
