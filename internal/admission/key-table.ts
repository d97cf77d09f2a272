/**
 * Exact table of admitted keys in typed arrays: 128 bits of key hash to a small record. No allocation per call.
 *
 * Records stand one behind the other in the order in which they came, 6 words of 32 bits each (24 bytes), with a body's
 * fingerprint 8 (32 bytes), in chunks that are given back when all their generations have gone. They are found through
 * slots of two words, 32 bits of the hash and the record's number: open addressing, linear probing. A look for a new key,
 * which nearly all are, thus touches one or two lines of memory, and adding it writes next to what was added before.
 *
 * The slots are cut into segments by the first bits of the hash, each of which grows by half on its own when it is
 * 70 % full, so that no call moves more than one segment's slots. The segments begin with capacities that are spread over
 * one such step: at any size some are about to grow and some have just grown, hence neither memory per key nor the time
 * for growing comes in waves. A segment is between 47 and 70 % full (beyond its first few keys): over all segments a key
 * takes about 46 bytes with fingerprint and 38 without.
 */

/** A key's 128-bit hash as four words, of which every bit must be as good as random: they are the address. */
export type KeyHash = Int32Array

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

const CAPACITY_MIN = 8
const GROWTH = 1.5
const LOAD_MAX = 0.7
/** Below what growth leaves (0.7 / 1.5 = 0.467), lest a segment shrink and grow in turn. */
const LOAD_MIN = 0.45

interface Segment {
  /** Its place between two steps of growth, 0 to below 1. */
  readonly offset: number
  /** Steps of growth taken. */
  steps: number
  /** Two words a slot: the hash's second word, and the number of its record; 0 marks a free slot. */
  slots: Int32Array
  capacity: number
  size: number
  /** Records at most before it grows. */
  sizeMax: number
}

export class KeyTable {
  /** Keys held. */
  size = 0
  /** Of all slots and records, slack and working space included; array objects come on top, some 0.3 KB a segment. */
  bytes = 0
  readonly segmentCount: number
  private readonly segments: Segment[]
  private readonly segmentShift: number
  private readonly recordWords: number
  /** The oldest first; the last one fills. */
  private readonly chunks: Int32Array[] = []
  /** Number of the first chunk, and so of its records. */
  private firstChunk = 0
  /** The number of the next record; none is 0. Counts up to 32 bits and begins again. */
  private nextRecord = 1
  /** Each generation that is held, with the number of its first record; the oldest first. */
  private readonly firstRecords: { readonly generation: number; readonly record: number }[] = []
  private found: Segment
  private foundSlot = 0
  /** The record that was found, and where it stands. */
  private foundWords: Int32Array = NO_WORDS
  private foundAt = 0
  /** Where a segment's slots are copied that is rebuilt at its own capacity. */
  private spareSlots = new Int32Array(0)

  constructor({ segments, hasFingerprint }: KeyTableOptions) {
    if (segments < 2 || segments > 1 << 20 || (segments & (segments - 1)) !== 0) {
      throw new RangeError('segments is a power of two from 2 on')
    }
    this.segmentCount = segments
    this.segmentShift = Math.clz32(segments) + 1
    this.recordWords = hasFingerprint ? WORDS_WITH_FINGERPRINT : WORDS_WITHOUT
    this.segments = Array.from({ length: segments }, (_, i) => {
      const segment = { offset: i / segments, steps: 0, slots: NO_WORDS, capacity: 0, size: 0, sizeMax: 0 }
      this.allocate(segment, 0)
      return segment
    })
    this.found = this.segmentAt(0)
  }

  /** Whether the key is held; if so, the getters speak of its record until the next call. */
  find(key: KeyHash): boolean {
    const word0 = key[0] as number
    const word1 = key[1] as number
    const segment = this.segmentAt(word0 >>> this.segmentShift)
    const { slots, capacity } = segment
    const end = 2 * capacity
    let slot = 2 * homeOf(word1, capacity)
    let isFound = false
    for (;;) {
      const record = slots[slot + 1] as number
      if (record === 0) break
      if (slots[slot] === word1 && this.isAt(record, word0, key[2] as number, key[3] as number)) {
        isFound = true
        break
      }
      slot += 2
      if (slot === end) slot = 0
    }
    this.found = segment
    this.foundSlot = slot
    return isFound
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
    if (this.found.size >= this.found.sizeMax) {
      this.grow(this.found)
      this.find(key)
    }
    this.found.slots[this.foundSlot] = key[1] as number
    this.append(key[0] as number, key[1] as number, key[2] as number, key[3] as number, generation)
    this.fill(fingerprint, admittedAtS, flags, generation)
    this.found.size++
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
    segmentIndex: number,
    removed: (generation: number, words: Int32Array, at: number) => void,
  ): void {
    const segment = this.segmentAt(segmentIndex)
    const { slots, capacity } = segment
    const bound = this.ageOf(this.firstRecordAfter(generation))
    let kept = 0
    for (let slot = 0; slot < 2 * capacity; slot += 2) {
      const record = slots[slot + 1] as number
      if (record === 0) continue
      if (this.ageOf(record) >= bound) kept++
      else {
        const words = this.chunkOf(record)
        const at = this.placeOf(record)
        removed((words[at + META] as number) >>> 8, words, at)
      }
    }
    if (kept === segment.size) return
    let { steps } = segment
    if (kept < capacity * LOAD_MIN) while (steps > 0 && kept < sizeMaxOf(capacityOf(segment.offset, steps - 1))) steps--
    this.rebuild(segment, steps, bound)
    this.size += kept - segment.size
    segment.size = kept
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
    this.bytes -= whole * CHUNK_RECORDS * this.recordWords * 4
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
      this.bytes += CHUNK_RECORDS * this.recordWords * 4
    }
    if ((this.firstRecords.at(-1)?.generation ?? -1) < generation) this.firstRecords.push({ generation, record })
    const words = this.chunkOf(record)
    const at = this.placeOf(record)
    words[at] = word0
    words[at + 1] = word1
    words[at + 2] = word2
    words[at + 3] = word3
    this.found.slots[this.foundSlot + 1] = record
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

  private grow(segment: Segment): void {
    this.rebuild(segment, segment.steps + 1, 0)
  }

  /** Places the slots again whose records are of this age or younger, in their order, which is that of their homes. */
  private rebuild(segment: Segment, steps: number, bound: number): void {
    let { slots: old } = segment
    const oldEnd = 2 * segment.capacity
    if (steps !== segment.steps) {
      this.allocate(segment, steps)
    } else {
      // In place: the hourly removal of a generation passes over the whole table and would else leave as much garbage.
      if (this.spareSlots.length < oldEnd) {
        this.bytes += (oldEnd - this.spareSlots.length) * 4
        this.spareSlots = new Int32Array(oldEnd)
      }
      this.spareSlots.set(old)
      old.fill(0)
      old = this.spareSlots
    }
    const { slots, capacity } = segment
    const end = 2 * capacity
    for (let from = 0; from < oldEnd; from += 2) {
      const record = old[from + 1] as number
      if (record === 0 || this.ageOf(record) < bound) continue
      const word1 = old[from] as number
      let slot = 2 * homeOf(word1, capacity)
      while (slots[slot + 1] !== 0) {
        slot += 2
        if (slot === end) slot = 0
      }
      slots[slot] = word1
      slots[slot + 1] = record
    }
  }

  private allocate(segment: Segment, steps: number): void {
    const capacity = capacityOf(segment.offset, steps)
    this.bytes += (capacity - segment.capacity) * 8
    segment.slots = new Int32Array(2 * capacity)
    segment.steps = steps
    segment.capacity = capacity
    segment.sizeMax = sizeMaxOf(capacity)
  }

  private segmentAt(index: number): Segment {
    const segment = this.segments[index]
    if (segment === undefined) throw new RangeError(`there is no segment ${index}`)
    return segment
  }

  private foundWord(word: number): number {
    return this.foundWords[this.foundAt + word] ?? 0
  }
}

const NO_WORDS = new Int32Array(0)

const capacityOf = (offset: number, steps: number): number => Math.round(CAPACITY_MIN * GROWTH ** (steps + offset))
const sizeMaxOf = (capacity: number): number => Math.floor(capacity * LOAD_MAX)

/** Maps 32 bits evenly to 0 ... capacity - 1, for any capacity (Lemire, "Fast random integer generation", 2019). */
const homeOf = (word: number, capacity: number): number => ((word >>> 0) * capacity * 2 ** -32) >>> 0
