import type { KeyHash } from '../../ids/key-hash.js'

/**
 * Events on their way to the log, each with its partition. If the same event arrives meanwhile with another trace, it
 * goes to the same partition: stage A recognises repeats only within a partition, and the admission index does not know
 * the first one before the log has it. It is sent as an event, not as a duplicate, since the first write may fail.
 *
 * Events are identified by 64 bits of the hash of their id. Two events that share them go to one partition: one of them
 * is then separated from its trace, with no other effect.
 *
 * On the hot path of every event: typed arrays, no objects.
 */
export class EventsInFlight {
  /** Two words per event. */
  private readonly words: Int32Array
  private readonly partitions: Uint16Array
  /** How often the event of a slot is in flight; 0 for a free slot. */
  private readonly counts: Int32Array
  /** The slot after this one in its chain, or in that of free ones. */
  private readonly nextSlots: Int32Array
  private readonly chains = new Int32Array(CHAINS).fill(NONE)
  private firstFree = 0
  private eventCount = 0

  /** @param eventsMax limit of events in flight */
  constructor(eventsMax: number) {
    this.words = new Int32Array(2 * eventsMax)
    this.partitions = new Uint16Array(eventsMax)
    this.counts = new Int32Array(eventsMax)
    this.nextSlots = Int32Array.from({ length: eventsMax }, (_, slot) => (slot + 1 < eventsMax ? slot + 1 : NONE))
  }

  /** Distinct events in flight. */
  get events(): number {
    return this.eventCount
  }

  /**
   * @param id 16 bytes, keyed hash from the fifth on (`invocationIdBytes`)
   * @param partition its destination, unless it is already in flight to another one
   * @returns its slot; pass it to `end` when the outcome is known
   * @throws RangeError when too many events are in flight
   */
  begin(id: Uint8Array, partition: number): number {
    const { words, nextSlots, chains } = this
    const word0 = wordAt(id, 4)
    const word1 = wordAt(id, 8)
    const chain = word0 & CHAIN_MASK
    const first = chains[chain] as number
    for (let slot = first; slot !== NONE; slot = nextSlots[slot] as number) {
      if (words[2 * slot] === word0 && words[2 * slot + 1] === word1) {
        this.counts[slot] = (this.counts[slot] as number) + 1
        return slot
      }
    }
    const slot = this.firstFree
    if (slot === NONE) throw new RangeError('too many events are in flight')
    this.firstFree = nextSlots[slot] as number
    words[2 * slot] = word0
    words[2 * slot + 1] = word1
    this.partitions[slot] = partition
    this.counts[slot] = 1
    nextSlots[slot] = first
    chains[chain] = slot
    this.eventCount++
    return slot
  }

  /** @param key hash of the event's id (`hashOfInvocationId`) @returns undefined when the event is not in flight */
  find(key: KeyHash): number | undefined {
    const { words, nextSlots, chains } = this
    const word0 = key[1] as number
    const word1 = key[2] as number
    for (let slot = chains[word0 & CHAIN_MASK] as number; slot !== NONE; slot = nextSlots[slot] as number) {
      if (words[2 * slot] === word0 && words[2 * slot + 1] === word1) return this.partitions[slot]
    }
    return undefined
  }

  /** Partition of the event in a slot. */
  partitionOf(slot: number): number {
    return this.partitions[slot] as number
  }

  /** Ends one `begin` that returned this slot. */
  end(slot: number): void {
    const count = (this.counts[slot] as number) - 1
    this.counts[slot] = count
    if (count > 0) return
    const { nextSlots, chains } = this
    const chain = (this.words[2 * slot] as number) & CHAIN_MASK
    const next = nextSlots[slot] as number
    if (chains[chain] === slot) {
      chains[chain] = next
    } else {
      let before = chains[chain] as number
      while (nextSlots[before] !== slot) before = nextSlots[before] as number
      nextSlots[before] = next
    }
    nextSlots[slot] = this.firstFree
    this.firstFree = slot
    this.eventCount--
  }
}

const NONE = -1
/** A power of two. Few events are in flight at a time: one chain per possible event would not fit in the CPU caches. */
const CHAINS = 16_384
const CHAIN_MASK = CHAINS - 1

const wordAt = (bytes: Uint8Array, at: number): number =>
  (bytes[at] as number) |
  ((bytes[at + 1] as number) << 8) |
  ((bytes[at + 2] as number) << 16) |
  ((bytes[at + 3] as number) << 24)
