import type { KeyHash } from '../../ids/key-hash.js'
import { CAPACITY, LOAD_MIN, NOTE_WORDS, SegmentSlots, SIZE, SIZE_MAX, START, STEPS } from './segment-slots.js'

/**
 * Exact table of admitted keys in typed arrays: 128 bits of key hash to a small record. No allocation per call.
 *
 * Records stand one behind the other in the order in which they came, 6 words of 32 bits each (24 bytes), with a body's
 * fingerprint 8 (32 bytes), in chunks that are given back when all their generations have gone. They are found through
 * slots of two words, 32 bits of the hash and the record's number: open addressing, linear probing. A look for a new key,
 * which nearly all are, thus touches one or two lines of memory, and adding it writes next to what was added before.
 *
 * The slots are cut into segments by the first bits of the hash, each of which grows on its own when it is 70 % full, so
 * that no call moves more than one segment's slots. A segment is between 47 and 70 % full (beyond its first few keys):
 * over all segments a key takes some 48 bytes with fingerprint and 40 without, slots that wait to be given back included.
 */

/** 64 bits of a body's fingerprint as two words. */
export type Fingerprint = Int32Array

export interface KeyTableOptions {
  /** A power of two from 2 on; with `n` keys one segment, and so the longest single call, has about n / segments. */
  readonly segments: number
  /** Without, records are shorter and `add` ignores the fingerprint. */
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

/** Of a chunk: 128 KB with fingerprints. A power of two. */
const CHUNK_RECORDS = 4_096
const CHUNK_SHIFT = 12
/** Chunks are numbered by what is left of 32 bits, over and over. */
const CHUNK_NUMBERS = 2 ** (32 - CHUNK_SHIFT)

export class KeyTable {
  /** Keys held. */
  size = 0
  readonly segmentCount: number
  private readonly segmentShift: number
  private readonly slots: SegmentSlots
  private readonly notes: Int32Array
  private readonly recordWords: number
  /** The oldest first; the last one fills. */
  private readonly chunks: Int32Array[] = []
  /** Number of the first chunk, and so of its records. */
  private firstChunk = 0
  /** The number of the next record; none is 0. Counts up to 32 bits and begins again. */
  private nextRecord = 1
  /** Each generation that is held, with the number of its first record; the oldest first. */
  private readonly firstRecords: { readonly generation: number; readonly record: number }[] = []
  private foundNote = 0
  private foundSlots: Int32Array = NO_WORDS
  private foundSlot = 0
  /** The record that was found, and where it stands. */
  private foundWords: Int32Array = NO_WORDS
  private foundAt = 0
  /** What `touch` has read: of no meaning, but a compiler leaves out a read that nobody uses. */
  private touched = 0
  /** Where a segment's slots are copied that is rebuilt at its own capacity. */
  private spareSlots = new Int32Array(0)

  constructor({ segments, hasFingerprint }: KeyTableOptions) {
    if (segments < 2 || segments > 1 << 20 || (segments & (segments - 1)) !== 0) {
      throw new RangeError('segments is a power of two from 2 on')
    }
    this.segmentCount = segments
    this.segmentShift = Math.clz32(segments) + 1
    this.recordWords = hasFingerprint ? WORDS_WITH_FINGERPRINT : WORDS_WITHOUT
    this.slots = new SegmentSlots(segments)
    this.notes = this.slots.notes
  }

  /** Of all slots and records, slack and working space included. */
  get bytes(): number {
    return this.slots.bytes + this.spareSlots.byteLength + this.chunks.length * CHUNK_RECORDS * this.recordWords * 4
  }

  /** Whether the key is held; if so, the getters speak of its record until the next call. */
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
   * Reads where the key's look begins, so that it is near when `find` or `add` comes: those of many keys one behind the
   * other wait for memory together, not each for its own.
   */
  touch(key: KeyHash): void {
    const { notes } = this
    const note = ((key[0] as number) >>> this.segmentShift) * NOTE_WORDS
    const slots = this.slots.at(note)
    const home = homeOf(key[1] as number, notes[note + CAPACITY] as number)
    this.touched ^= slots[(notes[note + START] as number) + 2 * home + 1] as number
  }

  /** Seconds since 1970, of the record that was found. */
  get admittedAtS(): number {
    return this.foundWord(ADMITTED_AT) >>> 0
  }

  /** 0 to 255, of the record that was found. */
  get flags(): number {
    return this.foundWord(META) & 0xff
  }

  /** 0 to `GENERATION_MAX`, of the record that was found. */
  get generation(): number {
    return this.foundWord(META) >>> 8
  }

  /** Whether the record that was found has this fingerprint; true in a table without fingerprints. */
  hasFingerprint(fingerprint: Fingerprint): boolean {
    return (
      this.recordWords === WORDS_WITHOUT ||
      (this.foundWord(FINGERPRINT) === fingerprint[0] && this.foundWord(FINGERPRINT + 1) === fingerprint[1])
    )
  }

  /**
   * Adds a key. A key that is held stays as it is: then the answer is false and the getters speak of its record.
   *
   * @param admittedAtS seconds since 1970, 32 bits without sign
   * @param flags 0 to 255
   * @param generation 0 to `GENERATION_MAX`, never less than before
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

  /** Puts a new record in the place of the one that was found; parameters as for `add`. */
  renew(fingerprint: Fingerprint, admittedAtS: number, flags: number, generation: number): void {
    const { foundWords: words, foundAt: at } = this
    const [word0, word1, word2, word3] = [words[at], words[at + 1], words[at + 2], words[at + 3]] as number[]
    this.append(word0 as number, word1 as number, word2 as number, word3 as number, generation)
    this.fill(fingerprint, admittedAtS, flags, generation)
  }

  /**
   * Removes one segment's records of all generations up to and including `generation`. Takes the time of reading the
   * segment's slots once; shrinks them when little is left. When all segments are done, `release` gives back the memory.
   *
   * @param removed is told each record's generation, and where its hash stands
   */
  removeUpTo(
    generation: number,
    segment: number,
    removed: (generation: number, words: Int32Array, at: number) => void,
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
        const at = this.placeOf(record)
        removed((words[at + META] as number) >>> 8, words, at)
      }
    }
    if (kept === size) return
    const steps = notes[note + STEPS] as number
    this.rebuild(segment, kept < capacity * LOAD_MIN ? this.slots.stepsFor(segment, kept, steps) : steps, bound)
    notes[note + SIZE] = kept
    this.size += kept - size
  }

  /** Gives back the memory of generations up to and including this one, of which all segments are rid. */
  release(generation: number): void {
    const bound = this.ageOf(this.firstRecordAfter(generation))
    while ((this.firstRecords[0]?.generation ?? Number.POSITIVE_INFINITY) <= generation) this.firstRecords.shift()
    // The last one fills.
    const whole = Math.min(this.chunks.length - 1, Math.floor(bound / CHUNK_RECORDS))
    if (whole <= 0) return
    this.chunks.splice(0, whole)
    this.firstChunk = (this.firstChunk + whole) % CHUNK_NUMBERS
  }

  /** Whether a record is of the key that has these words besides its second. */
  private isAt(record: number, word0: number, word2: number, word3: number): boolean {
    const words = this.chunkOf(record)
    const at = this.placeOf(record)
    this.foundWords = words
    this.foundAt = at
    return words[at] === word0 && words[at + 2] === word2 && words[at + 3] === word3
  }

  /** A new record, which the slot that was found names from now on. */
  private append(word0: number, word1: number, word2: number, word3: number, generation: number): void {
    const record = this.nextRecord | 0
    if (this.ageOf(record) >= this.chunks.length * CHUNK_RECORDS) {
      this.chunks.push(new Int32Array(CHUNK_RECORDS * this.recordWords))
    }
    if ((this.firstRecords.at(-1)?.generation ?? -1) < generation) this.firstRecords.push({ generation, record })
    const words = this.chunkOf(record)
    const at = this.placeOf(record)
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

  /** How many records before it there is room for: numbers begin again, ages do not. */
  private ageOf(record: number): number {
    return (record - (this.firstChunk << CHUNK_SHIFT)) >>> 0
  }

  private chunkOf(record: number): Int32Array {
    return this.chunks[this.ageOf(record) >>> CHUNK_SHIFT] as Int32Array
  }

  private placeOf(record: number): number {
    return (record & (CHUNK_RECORDS - 1)) * this.recordWords
  }

  /** The number of the first record of a generation beyond this one, be it there or to come. */
  private firstRecordAfter(generation: number): number {
    return this.firstRecords.find((first) => first.generation > generation)?.record ?? this.nextRecord
  }

  /** Places the slots again whose records are of this age or younger, in their order, which is that of their homes. */
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
      // In place: the hourly removal of a generation passes over the whole table and would else leave as much garbage.
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
