import { createHash } from 'node:crypto'
import type { KeyHash } from '../../ids/key-hash.js'
import { ALL_SLOTS, type Slots, slotOf } from '../../ids/owner-slots.js'

/**
 * Which of the live gateways owns which key: keys are in slots, and a slot belongs to the gateway with the highest mix
 * of the slot's number and its own name (rendezvous hashing), so that a gateway that comes or goes moves only its own
 * share. One look into a table per key. Every gateway computes the same for the same members: the key's hash holds the
 * tenant already.
 */
export class KeyOwners {
  private readonly self: string
  /** Empty when this gateway is alone. */
  private names: readonly string[] = []
  /** Per slot, the index of its owner's name; undefined when this gateway is alone. */
  private owners: Uint16Array | undefined
  private ownSlots: Slots = ALL_SLOTS

  constructor(self: string) {
    this.self = self
  }

  /**
   * @param names the live members, whether or not this one is among them
   * @returns the slots that this gateway owns now and did not own before
   */
  setMembers(names: readonly string[]): Slots {
    const before = new Set(this.ownSlots)
    // One order for all, so that a tie (1 slot in 4 billion) is decided alike.
    const all = [...new Set([...names, this.self])].sort()
    this.names = all.length === 1 ? [] : all
    this.owners = this.isAlone ? undefined : ownersAmong(all)
    this.ownSlots = ALL_SLOTS.filter((slot) => this.isOwn(slot))
    return this.ownSlots.filter((slot) => !before.has(slot))
  }

  /** Whether there is no gateway besides this one. */
  get isAlone(): boolean {
    return this.names.length === 0
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
    const owner = this.nameOf(slotOf(key, 0))
    return owner === this.self ? undefined : owner
  }

  /** @param at index of the key's first of four words */
  owns(key: Int32Array, at = 0): boolean {
    return this.isOwn(slotOf(key, at))
  }

  private isOwn(slot: number): boolean {
    return this.isAlone || this.nameOf(slot) === this.self
  }

  private nameOf(slot: number): string | undefined {
    const owner = this.owners?.[slot]
    return owner === undefined ? undefined : this.names[owner]
  }
}

/** Per slot, the index of the name that owns it. */
function ownersAmong(names: readonly string[]): Uint16Array {
  const seeds = names.map((name) => {
    const hash = createHash('sha256').update(name).digest()
    return [hash.readInt32LE(0), hash.readInt32LE(4)] as const
  })
  return Uint16Array.from(ALL_SLOTS, (slot) => {
    const scores = seeds.map(([seed0, seed1]) => mix(slot ^ seed0, ~slot ^ seed1))
    return scores.indexOf(Math.max(...scores))
  })
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
