/**
 * Exact table of admitted keys in typed arrays: 128 bits of key hash to a small record. No allocation per call.
 *
 * A record has 6 words of 32 bits (24 bytes), with a body's fingerprint 8 (32 bytes), and one byte of tag: probing
 * reads neighbouring tags and touches a record only where the tag agrees. Open addressing, linear probing.
 *
 * The table is cut into segments by the first bits of the hash, each of which grows by half on its own when it is
 * 85 % full, so that no call moves more than one segment's records. The segments begin with capacities that are
 * spread over one such step: at any size some are about to grow and some have just grown, hence neither memory per
 * key nor the time for growing comes in waves. A segment is between 55 and 85 % full (beyond its first few records),
 * so a key takes 39 to 60 bytes with fingerprint and 29 to 46 without; over all segments about 48 and 36.
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

const CAPACITY_MIN = 8
const GROWTH = 1.5
const LOAD_MAX = 0.85
/** Below what growth leaves (0.85 / 1.5 = 0.567), lest a segment shrink and grow in turn. */
const LOAD_MIN = 0.55

interface Segment {
  /** Its place between two steps of growth, 0 to below 1. */
  readonly offset: number
  /** Steps of growth taken. */
  steps: number
  /** 0 marks a free slot. */
  tags: Uint8Array
  words: Int32Array
  capacity: number
  size: number
  /** Records at most before it grows. */
  sizeMax: number
}

export class KeyTable {
  /** Keys held. */
  size = 0
  /** Of all tags and records, slack and working space included; array objects come on top, some 0.5 KB a segment. */
  bytes = 0
  readonly segmentCount: number
  private readonly segments: Segment[]
  private readonly segmentShift: number
  private readonly recordWords: number
  private found: Segment
  private foundSlot = 0
  /** Where a segment is copied that is rebuilt at its own capacity. */
  private spareTags = new Uint8Array(0)
  private spareWords = new Int32Array(0)

  constructor({ segments, hasFingerprint }: KeyTableOptions) {
    if (segments < 2 || segments > 1 << 20 || (segments & (segments - 1)) !== 0) {
      throw new RangeError('segments is a power of two from 2 on')
    }
    this.segmentCount = segments
    this.segmentShift = Math.clz32(segments) + 1
    this.recordWords = hasFingerprint ? WORDS_WITH_FINGERPRINT : WORDS_WITHOUT
    this.segments = Array.from({ length: segments }, (_, i) => {
      const segment = {
        offset: i / segments,
        steps: 0,
        tags: NO_TAGS,
        words: NO_WORDS,
        capacity: 0,
        size: 0,
        sizeMax: 0,
      }
      this.allocate(segment, 0)
      return segment
    })
    this.found = this.segmentAt(0)
  }

  /** Whether the key is held; if so, the getters speak of its record until the next call. */
  find(key: KeyHash): boolean {
    const word0 = key[0] ?? 0
    const word1 = key[1] ?? 0
    const word2 = key[2] ?? 0
    const word3 = key[3] ?? 0
    const segment = this.segmentAt(word0 >>> this.segmentShift)
    const { tags, words, capacity } = segment
    const tag = tagOf(word2)
    let slot = homeOf(word1, capacity)
    let isFound = false
    for (;;) {
      const held = tags[slot] ?? 0
      if (held === 0) break
      if (held === tag) {
        const at = slot * this.recordWords
        if (words[at] === word0 && words[at + 1] === word1 && words[at + 2] === word2 && words[at + 3] === word3) {
          isFound = true
          break
        }
      }
      slot++
      if (slot === capacity) slot = 0
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
   * @param generation 0 to `GENERATION_MAX`
   */
  add(key: KeyHash, fingerprint: Fingerprint, admittedAtS: number, flags: number, generation: number): boolean {
    if (this.find(key)) return false
    if (this.found.size >= this.found.sizeMax) {
      this.rebuild(this.found, this.found.steps + 1, KEEP_ALL, IGNORE)
      this.find(key)
    }
    const { tags, words } = this.found
    const at = this.foundSlot * this.recordWords
    tags[this.foundSlot] = tagOf(key[2] ?? 0)
    words[at] = key[0] ?? 0
    words[at + 1] = key[1] ?? 0
    words[at + 2] = key[2] ?? 0
    words[at + 3] = key[3] ?? 0
    this.found.size++
    this.size++
    this.renew(fingerprint, admittedAtS, flags, generation)
    return true
  }

  /** Overwrites the record that was found; parameters as for `add`. */
  renew(fingerprint: Fingerprint, admittedAtS: number, flags: number, generation: number): void {
    const { words } = this.found
    const at = this.foundSlot * this.recordWords
    words[at + ADMITTED_AT] = admittedAtS | 0
    words[at + META] = (generation << 8) | (flags & 0xff)
    if (this.recordWords === WORDS_WITHOUT) return
    words[at + FINGERPRINT] = fingerprint[0] ?? 0
    words[at + FINGERPRINT + 1] = fingerprint[1] ?? 0
  }

  /**
   * Removes one segment's records of all generations up to and including `generation`. Takes the time of reading the
   * segment once; shrinks it when little is left.
   *
   * @param removed is told each record's generation, and where its hash stands
   */
  removeUpTo(
    generation: number,
    segmentIndex: number,
    removed: (generation: number, words: Int32Array, at: number) => void,
  ): void {
    const segment = this.segmentAt(segmentIndex)
    const { tags, words, capacity } = segment
    let kept = 0
    for (let slot = 0; slot < capacity; slot++) {
      if (tags[slot] !== 0 && (words[slot * this.recordWords + META] ?? 0) >>> 8 > generation) kept++
    }
    if (kept === segment.size) return
    let { steps } = segment
    if (kept < capacity * LOAD_MIN) while (steps > 0 && kept < sizeMaxOf(capacityOf(segment.offset, steps - 1))) steps--
    this.rebuild(segment, steps, generation, removed)
  }

  /** Places the records again that are younger than `upTo`, in the order of their slots, which is that of their homes. */
  private rebuild(
    segment: Segment,
    steps: number,
    upTo: number,
    removed: (generation: number, words: Int32Array, at: number) => void,
  ): void {
    const { recordWords } = this
    let { tags: oldTags, words: oldWords } = segment
    const oldCapacity = segment.capacity
    if (steps !== segment.steps) {
      this.allocate(segment, steps)
    } else {
      // In place: the hourly removal of a generation passes over the whole table and would else leave as much garbage.
      if (this.spareTags.length < oldCapacity) {
        this.bytes += (oldCapacity - this.spareTags.length) * (1 + recordWords * 4)
        this.spareTags = new Uint8Array(oldCapacity)
        this.spareWords = new Int32Array(oldCapacity * recordWords)
      }
      this.spareTags.set(oldTags)
      this.spareWords.set(oldWords)
      oldTags.fill(0)
      oldTags = this.spareTags
      oldWords = this.spareWords
    }

    const { tags, words, capacity } = segment
    let size = 0
    for (let oldSlot = 0; oldSlot < oldCapacity; oldSlot++) {
      const tag = oldTags[oldSlot] ?? 0
      if (tag === 0) continue
      const from = oldSlot * recordWords
      const generation = (oldWords[from + META] ?? 0) >>> 8
      if (generation <= upTo) {
        removed(generation, oldWords, from)
        continue
      }
      let slot = homeOf(oldWords[from + 1] ?? 0, capacity)
      while (tags[slot] !== 0) {
        slot++
        if (slot === capacity) slot = 0
      }
      tags[slot] = tag
      const to = slot * recordWords
      for (let i = 0; i < recordWords; i++) words[to + i] = oldWords[from + i] ?? 0
      size++
    }
    this.size += size - segment.size
    segment.size = size
  }

  private allocate(segment: Segment, steps: number): void {
    const capacity = capacityOf(segment.offset, steps)
    const bytesPerSlot = 1 + this.recordWords * 4
    this.bytes += (capacity - segment.capacity) * bytesPerSlot
    segment.tags = new Uint8Array(capacity)
    segment.words = new Int32Array(capacity * this.recordWords)
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
    return this.found.words[this.foundSlot * this.recordWords + word] ?? 0
  }
}

const NO_TAGS = new Uint8Array(0)
const NO_WORDS = new Int32Array(0)
const KEEP_ALL = -1
const IGNORE = (): void => undefined

const capacityOf = (offset: number, steps: number): number => Math.round(CAPACITY_MIN * GROWTH ** (steps + offset))
const sizeMaxOf = (capacity: number): number => Math.floor(capacity * LOAD_MAX)

/** 1 to 255. */
const tagOf = (word: number): number => ((word & 0xff) % 255) + 1

/** Maps 32 bits evenly to 0 ... capacity - 1, for any capacity (Lemire, "Fast random integer generation", 2019). */
const homeOf = (word: number, capacity: number): number => ((word >>> 0) * capacity * 2 ** -32) >>> 0
