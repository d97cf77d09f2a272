import type { Position } from '../../invocations/group.js'

/**
 * The events that a partition of stage A has seen, by id, with the position at which each was first seen. An event
 * is a duplicate when its id is known from an **earlier position**: so a batch that is formed again after a crash
 * finds its own events, at their own positions, and comes out the same.
 *
 * Exact and bounded: open addressing in typed arrays, 24 bytes a slot, two generations of at most `ENTRIES_MAX`
 * each; when the younger is full the older is forgotten.
 */
export class SeenEvents {
  private young: Table
  private old: Table | undefined
  private readonly entriesMax: number

  constructor(entriesMax = ENTRIES_MAX) {
    this.entriesMax = entriesMax
    this.young = new Table()
  }

  /**
   * Whether the event was seen before `position`; if it is new, it is remembered.
   *
   * @param id the 16 bytes of the call's id, of which the last 12 are a keyed hash
   */
  isDuplicate(id: Uint8Array, position: Position): boolean {
    const words = wordsOf(id)
    const known = this.young.find(words) ?? this.old?.find(words)
    if (known !== undefined) return isBefore(known, position)
    this.remember(id, position)
    return false
  }

  /** Remembers an id that is known from elsewhere; the earliest position of an id wins. */
  remember(id: Uint8Array, position: Position): void {
    const words = wordsOf(id)
    const known = this.young.find(words) ?? this.old?.find(words)
    if (known !== undefined && !isBefore(position, known)) return
    if (this.young.size >= this.entriesMax) {
      this.old = this.young
      this.young = new Table()
    }
    this.young.set(words, position)
  }
}

const ENTRIES_MAX = 2_000_000
const SLOTS_MIN = 1 << 12

type Words = readonly [number, number, number]

const isBefore = (one: Position, other: Position): boolean =>
  one.sequence < other.sequence || (one.sequence === other.sequence && one.index < other.index)

function wordsOf(id: Uint8Array): Words {
  const view = new DataView(id.buffer, id.byteOffset, id.length)
  return [view.getUint32(4), view.getUint32(8), view.getUint32(12)]
}

class Table {
  size = 0
  private slots = SLOTS_MIN
  private words = new Uint32Array(SLOTS_MIN * 3)
  /** 0 marks a free slot; the log's sequences begin at 1. */
  private sequences = new Float64Array(SLOTS_MIN)
  private indexes = new Uint32Array(SLOTS_MIN)

  find(words: Words): Position | undefined {
    const slot = this.slotOf(words)
    const sequence = this.sequences[slot] ?? 0
    return sequence === 0 ? undefined : { sequence, index: this.indexes[slot] ?? 0 }
  }

  set(words: Words, { sequence, index }: Position): void {
    if (this.size * 2 >= this.slots) this.grow()
    const slot = this.slotOf(words)
    if (this.sequences[slot] === 0) this.size++
    this.words.set(words, slot * 3)
    this.sequences[slot] = sequence
    this.indexes[slot] = index
  }

  /** The slot that holds the id, or the free one where it belongs. The id is a hash already: its bits are the address. */
  private slotOf([first, second, third]: Words): number {
    const mask = this.slots - 1
    let slot = first & mask
    while (this.sequences[slot] !== 0) {
      const at = slot * 3
      if (this.words[at] === first && this.words[at + 1] === second && this.words[at + 2] === third) break
      slot = (slot + 1) & mask
    }
    return slot
  }

  private grow(): void {
    const { words, sequences, indexes, slots } = this
    this.slots = slots * 2
    this.words = new Uint32Array(this.slots * 3)
    this.sequences = new Float64Array(this.slots)
    this.indexes = new Uint32Array(this.slots)
    for (let slot = 0; slot < slots; slot++) {
      const sequence = sequences[slot] ?? 0
      if (sequence === 0) continue
      const entry: Words = [words[slot * 3] ?? 0, words[slot * 3 + 1] ?? 0, words[slot * 3 + 2] ?? 0]
      const target = this.slotOf(entry)
      this.words.set(entry, target * 3)
      this.sequences[target] = sequence
      this.indexes[target] = indexes[slot] ?? 0
    }
  }
}
