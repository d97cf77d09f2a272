import type { KeyHash } from '../ids/key-hash.js'
import { CAPACITY, LOAD_MIN, NOTE_WORDS, SegmentSlots, SIZE, SIZE_MAX, START, STEPS } from './segment-slots.js'

/**
 * Exact table of admitted keys in typed arrays: 128 bits of key hash to a small record. No allocation per call.
 *
 * Records are stored in insertion order, 6 words of 32 bits each (24 bytes), or 8 (32 bytes) with a body fingerprint,
 * in chunks that are freed when all their generations have been removed. Slots of two words point to them, 32 bits of
 * the hash and the record number: open addressing, linear probing. Nearly all lookups are for new keys and touch one or
 * two cache lines; an insert writes next to the previous one.
 *
 * The first bits of the hash divide the slots into segments. Each segment grows on its own when it is 70 % full, so
 * that no call moves more than one segment's slots. A segment is between 47 and 70 % full (after its first few keys):
 * on average a key takes some 48 bytes with a fingerprint and 40 without, including slots not yet freed.
 */

/** 64 bits of a body's fingerprint as two words. */
export type Fingerprint = Int32Array

export interface KeyTableOptions {
  /** A power of two, at least 2. With `n` keys the longest single call handles one segment, about n / segments keys. */
  readonly segments: number
  /** If false, records are shorter and `add` ignores the fingerprint. */
  readonly hasFingerprint: boolean
}

/** Words of a record: 0 to 3 the hash, then these; the fingerprint last. */
const ADMITTED_AT = 4
/** Bits 0 to 7 flags, bits 8 to 31 generation. */
const META = 5
const FINGERPRINT = 6
const WORDS_WITH_FINGERPRINT = 8
const WORDS_WITHOUT = 6

/** The largest generation number that a record holds. */
export const GENERATION_MAX = 0xff_ffff

/** Records per chunk (128 KB with fingerprints). A power of two. */
const CHUNK_RECORDS = 4_096
const CHUNK_SHIFT = 12
/** Chunk numbers use the remaining bits of 32 and wrap around. */
const CHUNK_NUMBERS = 2 ** (32 - CHUNK_SHIFT)

export class KeyTable {
  /** Keys held. */
  size = 0
  readonly segmentCount: number
  private readonly segmentShift: number
  private readonly slots: SegmentSlots
  private readonly notes: Int32Array
  private readonly recordWords: number
  /** Oldest first; new records go to the last one. */
  private readonly chunks: Int32Array[] = []
  /** Number of the first chunk; gives the numbers of its records. */
  private firstChunk = 0
  /** The number of the next record, never 0. Wraps around at 32 bits. */
  private nextRecord = 1
  /** Each generation held, with the number of its first record; oldest first. */
  private readonly firstRecords: { readonly generation: number; readonly record: number }[] = []
  private foundNote = 0
  private foundSlots: Int32Array = NO_WORDS
  private foundSlot = 0
  /** The chunk of the record found, and the index of its first word. */
  private foundWords: Int32Array = NO_WORDS
  private foundAt = 0
  /** Sink for the reads of `touch`: the compiler would remove a read whose value is unused. */
  private touched = 0
  /** Scratch copy of a segment's slots while the segment is rebuilt at the same capacity. */
  private spareSlots = new Int32Array(0)

  constructor({ segments, hasFingerprint }: KeyTableOptions) {
    if (segments < 2 || segments > 1 << 20 || (segments & (segments - 1)) !== 0) {
      throw new RangeError('segments must be a power of two, at least 2')
    }
    this.segmentCount = segments
    this.segmentShift = Math.clz32(segments) + 1
    this.recordWords = hasFingerprint ? WORDS_WITH_FINGERPRINT : WORDS_WITHOUT
    this.slots = new SegmentSlots(segments)
    this.notes = this.slots.notes
  }

  /** Memory of all slots and records, including slack and scratch space. */
  get bytes(): number {
    return this.slots.bytes + this.spareSlots.byteLength + this.chunks.length * CHUNK_RECORDS * this.recordWords * 4
  }

  /** Whether the key is held; if so, the getters read its record until the next call. */
  find(key: KeyHash): boolean {
    const word0 = key[0] as number
    const word1 = key[1] as number
    const { notes } = this
    const note = (word0 >>> this.segmentShift) * NOTE_WORDS
    const slots = this.slots.at(note)
    const capacity = notes[note + CAPACITY] as number
    const start = notes[note + START] as number
    const end = start + 2 * capacity
    let slot = start + 2 * homeOf(word1, capacity)
    let isFound = false
    for (;;) {
      const record = slots[slot + 1] as number
      if (record === 0) break
      if (slots[slot] === word1 && this.isAt(record, word0, key[2] as number, key[3] as number)) {
        isFound = true
        break
      }
      slot += 2
      if (slot === end) slot = start
    }
    this.foundNote = note
    this.foundSlots = slots
    this.foundSlot = slot
    return isFound
  }

  /**
   * Prefetches the slot where the lookup of the key begins, for a later `find` or `add`: called for many keys in a row,
   * their cache misses overlap instead of adding up.
   */
  touch(key: KeyHash): void {
    const { notes } = this
    const note = ((key[0] as number) >>> this.segmentShift) * NOTE_WORDS
    const slots = this.slots.at(note)
    const home = homeOf(key[1] as number, notes[note + CAPACITY] as number)
    this.touched ^= slots[(notes[note + START] as number) + 2 * home + 1] as number
  }

  /** Of the record found, in seconds since 1970. */
  get admittedAtS(): number {
    return this.foundWord(ADMITTED_AT) >>> 0
  }

  /** Of the record found, 0 to 255. */
  get flags(): number {
    return this.foundWord(META) & 0xff
  }

  /** @param flags of the record found from now on, 0 to 255 */
  set flags(flags: number) {
    const { foundWords: words, foundAt: at } = this
    words[at + META] = (this.generation << 8) | (flags & 0xff)
  }

  /** Of the record found, 0 to `GENERATION_MAX`. */
  get generation(): number {
    return this.foundWord(META) >>> 8
  }

  /** Whether the record found has this fingerprint; true in a table without fingerprints. */
  hasFingerprint(fingerprint: Fingerprint): boolean {
    return (
      this.recordWords === WORDS_WITHOUT ||
      (this.foundWord(FINGERPRINT) === fingerprint[0] && this.foundWord(FINGERPRINT + 1) === fingerprint[1])
    )
  }

  /**
   * Adds a key. A key that is already held is left unchanged; the getters then read its record.
   *
   * @param admittedAtS seconds since 1970, 32 bits without sign
   * @param flags 0 to 255
   * @param generation 0 to `GENERATION_MAX`, never less than in an earlier call
   * @returns false if the key was already held
   */
  add(key: KeyHash, fingerprint: Fingerprint, admittedAtS: number, flags: number, generation: number): boolean {
    if (this.find(key)) return false
    const { notes } = this
    const size = notes[this.foundNote + SIZE] as number
    if (size >= (notes[this.foundNote + SIZE_MAX] as number)) {
      this.rebuild(this.foundNote / NOTE_WORDS, (notes[this.foundNote + STEPS] as number) + 1, 0)
      this.find(key)
    }
    notes[this.foundNote + SIZE] = size + 1
    this.foundSlots[this.foundSlot] = key[1] as number
    this.append(key[0] as number, key[1] as number, key[2] as number, key[3] as number, generation)
    this.fill(fingerprint, admittedAtS, flags, generation)
    this.size++
    return true
  }

  /** Replaces the record found with a new one; parameters as for `add`. */
  renew(fingerprint: Fingerprint, admittedAtS: number, flags: number, generation: number): void {
    const { foundWords: words, foundAt: at } = this
    const [word0, word1, word2, word3] = [words[at], words[at + 1], words[at + 2], words[at + 3]] as number[]
    this.append(word0 as number, word1 as number, word2 as number, word3 as number, generation)
    this.fill(fingerprint, admittedAtS, flags, generation)
  }

  /**
   * Removes one segment's records of all generations up to and including `generation`. Reads the segment's slots once
   * and shrinks them when few keys remain. After all segments are done, `release` frees the memory of the records.
   *
   * @param onRemoved called per record, with its generation and the index `at` of its hash in `words`
   */
  removeUpTo(
    generation: number,
    segment: number,
    onRemoved: (generation: number, words: Int32Array, at: number) => void,
  ): void {
    const { notes } = this
    const note = segment * NOTE_WORDS
    const slots = this.slots.at(note)
    const start = notes[note + START] as number
    const capacity = notes[note + CAPACITY] as number
    const size = notes[note + SIZE] as number
    const bound = this.ageOf(this.firstRecordAfter(generation))
    let kept = 0
    for (let slot = start; slot < start + 2 * capacity; slot += 2) {
      const record = slots[slot + 1] as number
      if (record === 0) continue
      if (this.ageOf(record) >= bound) kept++
      else {
        const words = this.chunkOf(record)
        const at = this.indexOf(record)
        onRemoved((words[at + META] as number) >>> 8, words, at)
      }
    }
    if (kept === size) return
    const steps = notes[note + STEPS] as number
    this.rebuild(segment, kept < capacity * LOAD_MIN ? this.slots.stepsFor(segment, kept, steps) : steps, bound)
    notes[note + SIZE] = kept
    this.size += kept - size
  }

  /** Frees the memory of generations up to and including this one, after `removeUpTo` has run for every segment. */
  release(generation: number): void {
    const bound = this.ageOf(this.firstRecordAfter(generation))
    while ((this.firstRecords[0]?.generation ?? Number.POSITIVE_INFINITY) <= generation) this.firstRecords.shift()
    // New records go to the last chunk.
    const whole = Math.min(this.chunks.length - 1, Math.floor(bound / CHUNK_RECORDS))
    if (whole <= 0) return
    this.chunks.splice(0, whole)
    this.firstChunk = (this.firstChunk + whole) % CHUNK_NUMBERS
  }

  /** Whether a record belongs to the key with these words; the caller has compared the second word. */
  private isAt(record: number, word0: number, word2: number, word3: number): boolean {
    const words = this.chunkOf(record)
    const at = this.indexOf(record)
    this.foundWords = words
    this.foundAt = at
    return words[at] === word0 && words[at + 2] === word2 && words[at + 3] === word3
  }

  /** Appends a record and points the slot found at it. */
  private append(word0: number, word1: number, word2: number, word3: number, generation: number): void {
    const record = this.nextRecord | 0
    if (this.ageOf(record) >= this.chunks.length * CHUNK_RECORDS) {
      this.chunks.push(new Int32Array(CHUNK_RECORDS * this.recordWords))
    }
    if ((this.firstRecords.at(-1)?.generation ?? -1) < generation) this.firstRecords.push({ generation, record })
    const words = this.chunkOf(record)
    const at = this.indexOf(record)
    words[at] = word0
    words[at + 1] = word1
    words[at + 2] = word2
    words[at + 3] = word3
    this.foundSlots[this.foundSlot + 1] = record
    this.foundWords = words
    this.foundAt = at
    this.nextRecord = (record + 1) | 0
    if (this.nextRecord === 0) this.nextRecord = 1
  }

  private fill(fingerprint: Fingerprint, admittedAtS: number, flags: number, generation: number): void {
    const { foundWords: words, foundAt: at } = this
    words[at + ADMITTED_AT] = admittedAtS | 0
    words[at + META] = (generation << 8) | (flags & 0xff)
    if (this.recordWords === WORDS_WITHOUT) return
    words[at + FINGERPRINT] = fingerprint[0] as number
    words[at + FINGERPRINT + 1] = fingerprint[1] as number
  }

  /** Position of a record counted from the first chunk: unlike record numbers, this does not wrap around. */
  private ageOf(record: number): number {
    return (record - (this.firstChunk << CHUNK_SHIFT)) >>> 0
  }

  private chunkOf(record: number): Int32Array {
    return this.chunks[this.ageOf(record) >>> CHUNK_SHIFT] as Int32Array
  }

  private indexOf(record: number): number {
    return (record & (CHUNK_RECORDS - 1)) * this.recordWords
  }

  /** The number of the first record of a later generation, or of the next record if there is none yet. */
  private firstRecordAfter(generation: number): number {
    return this.firstRecords.find((first) => first.generation > generation)?.record ?? this.nextRecord
  }

  /** Reinserts the slots whose records have at least this age number, in the order of their home slots. */
  private rebuild(segment: number, steps: number, bound: number): void {
    const { notes } = this
    const note = segment * NOTE_WORDS
    const left = this.slots.at(note)
    let old = left
    let from = notes[note + START] as number
    let words = 2 * (notes[note + CAPACITY] as number)
    const isMoving = steps !== notes[note + STEPS]
    if (isMoving) {
      this.slots.enter(segment, steps)
    } else {
      // In place: removing a generation rewrites the whole table every period; new arrays would leave as much garbage.
      if (this.spareSlots.length < words) this.spareSlots = new Int32Array(words)
      this.spareSlots.set(old.subarray(from, from + words))
      old.fill(0, from, from + words)
      old = this.spareSlots
      from = 0
    }
    const slots = this.slots.at(note)
    const capacity = notes[note + CAPACITY] as number
    const start = notes[note + START] as number
    const end = start + 2 * capacity
    for (; words > 0; words -= 2, from += 2) {
      const record = old[from + 1] as number
      if (record === 0 || this.ageOf(record) < bound) continue
      const word1 = old[from] as number
      let slot = start + 2 * homeOf(word1, capacity)
      while (slots[slot + 1] !== 0) {
        slot += 2
        if (slot === end) slot = start
      }
      slots[slot] = word1
      slots[slot + 1] = record
    }
    if (isMoving) this.slots.leave(left)
  }

  private foundWord(word: number): number {
    return this.foundWords[this.foundAt + word] ?? 0
  }
}

const NO_WORDS = new Int32Array(0)

/** Maps 32 bits evenly to 0 ... capacity - 1, for any capacity (Lemire, "Fast random integer generation", 2019). */
const homeOf = (word: number, capacity: number): number => ((word >>> 0) * capacity * 2 ** -32) >>> 0
