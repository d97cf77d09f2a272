import type { KeyHash } from '../ids/key-hash.js'
import { Bloom, bestHashes } from './bloom.js'
import { type Fingerprint, GENERATION_MAX, KeyTable } from './key-table.js'

/**
 * The keys admitted within a window: Idempotency-Keys of 24 hours in gateways, event ids of 168 hours in stage A.
 *
 * The youngest keys, up to `exactKeysMax`, are held exactly, older ones in Bloom filters only: when the exact table is
 * three quarters full, its oldest generations move into filters until half of it is free. Below that load every
 * verdict is exact for the whole window. The caller confirms a key that a filter reports.
 *
 * Keys move and expire one generation at a time. A generation ends with its period of `periodMs`, or when it fills a
 * quarter of the exact table. The work is done in steps of one table segment, one step per number of admissions
 * (`STEP_EVERY_ADMISSIONS_MAX`): about 0.5 ms per step at 10 million keys, never all at once. So is the folding of
 * filters that take more memory than they may.
 *
 * Keys cannot be removed: persist the event first, then call `admit`, so that a refused key never enters the index.
 */
export interface AdmissionIndexOptions {
  /** How long a key is known, in milliseconds; up to one second longer, since times are kept in seconds, rounded up. */
  readonly windowMs: number
  /**
   * The time that one filter covers. A filter is dropped as a whole when its youngest key leaves the window, so it may
   * answer 'maybe' for a key up to one period older. Every new key is looked up in every filter, and their false
   * positives add up: 24 filters cost four times the time and the confirmations of 6.
   */
  readonly periodMs: number
  /** Limit of keys in the exact table; a key takes at most 64 bytes, 48 on average. */
  readonly exactKeysMax: number
  /** Whether keys have a body fingerprint to compare: Idempotency-Keys do, event ids do not. */
  readonly hasFingerprint: boolean
  /** False positives per filter and 1,000 new keys: 1 at 16 bits, 5 at 12 bits, 0.25 at 20 bits. */
  readonly filterBitsPerKey: number
  /**
   * Bytes of all filters. Above it they are folded to half of their bits, those with most per key first: false
   * positives, each of which costs the caller a look into the read model, become more instead of the memory. Of 1,000
   * new keys per filter, 10 at 10 bits and 170 at 5 bits.
   */
  readonly filterBytesMax: () => number
}

/**
 * - new: not admitted within the window, for certain
 * - same: admitted, with this fingerprint
 * - conflict: admitted, with another fingerprint
 * - maybe: a filter reports it; ask the read model
 */
export type Verdict = 'new' | 'same' | 'conflict' | 'maybe'

interface Generation {
  readonly period: number
  /** Keys of the generation in the exact table, or that were there when it moved. */
  keys: number
  newestAtS: number
  filter: Filter | undefined
}

/** Covers one period, or a part of it if there were more keys than expected. */
interface Filter {
  readonly period: number
  readonly bloom: Bloom
  readonly keysMax: number
  /** Keys for which capacity is reserved. */
  keys: number
  newestAtS: number
  /** How often it has half the bits that `filterBitsPerKey` says. */
  folds: number
}

/** At 10 million keys a step takes some 0.8 ms: spread over 256 admissions it adds 3 us to each. */
const STEP_EVERY_ADMISSIONS_MAX = 256
/** With more keys per segment a step takes too long; with fewer, segment descriptors exceed CPU caches. */
const SEGMENT_KEYS = 32_768
const SEGMENTS_MIN = 2
const SEGMENTS_MAX = 8_192
/**
 * A filter sets as many bits per key as suit this share of its bits per key best. Full filters have hardly more false
 * positives for it, folded ones a third fewer, and a look-up reads fewer bits.
 */
const HASHED_SHARE_OF_BITS = 0.6
/** Of a new filter. With fewer it would answer "maybe" to everything. */
const BITS_PER_KEY_MIN = 1
/** 1 MB, some 0.3 ms. */
const FOLDED_BLOCKS_PER_STEP = 16_384

export class AdmissionIndex {
  private readonly options: AdmissionIndexOptions
  private readonly table: KeyTable
  private readonly filterHashes: number
  /** Oldest first; generation number `firstGeneration + i` is at index i. The last one is the current one. */
  private readonly generations: Generation[] = []
  private firstGeneration = 0
  private filters: Filter[] = []
  private readonly stepEveryAdmissions: number
  private admissionsUntilStep: number
  /** The move in progress: all generations up to `upTo`; `segment` is the next one to process. */
  private moving: { readonly upTo: number; segment: number } | undefined
  /** A filter that is being folded. */
  private folding: Filter | undefined
  /** Whether the filters have grown since their bytes were compared with the limit. */
  private haveFiltersGrown = false
  private hitFlags = 0

  constructor(options: AdmissionIndexOptions) {
    const { windowMs, periodMs, exactKeysMax, hasFingerprint } = options
    if (!(periodMs >= 1_000 && periodMs <= windowMs)) throw new RangeError('periodMs must be from 1,000 to windowMs')
    if (!(exactKeysMax >= 64)) throw new RangeError('exactKeysMax must be at least 64')
    this.options = options
    this.filterHashes = bestHashes(options.filterBitsPerKey * HASHED_SHARE_OF_BITS)
    const segments = 2 ** Math.ceil(Math.log2(exactKeysMax / SEGMENT_KEYS))
    this.table = new KeyTable({
      segments: Math.min(SEGMENTS_MAX, Math.max(SEGMENTS_MIN, segments)),
      hasFingerprint,
    })
    // A whole move ends within exactKeysMax / 16 admissions; a quarter of the table is kept free for them.
    const perMove = Math.floor(exactKeysMax / 16 / this.table.segmentCount)
    this.stepEveryAdmissions = Math.max(1, Math.min(STEP_EVERY_ADMISSIONS_MAX, perMove))
    this.admissionsUntilStep = this.stepEveryAdmissions
  }

  /** @param fingerprint of the body; ignored in an index without fingerprints, which never returns 'conflict' */
  lookup(key: KeyHash, fingerprint: Fingerprint, nowMs: number): Verdict {
    if (this.table.find(key) && this.isLive(this.table.admittedAtS, nowMs)) {
      this.hitFlags = this.table.flags
      return this.table.hasFingerprint(fingerprint) ? 'same' : 'conflict'
    }
    for (const { bloom, newestAtS } of this.filters) {
      if (bloom.has(key) && this.isLive(newestAtS, nowMs)) return 'maybe'
    }
    return 'new'
  }

  /** Prefetch: call it for many keys in a row before they are looked up and admitted. See `KeyTable.touch`. */
  touch(key: KeyHash): void {
    this.table.touch(key)
  }

  /** 0 to 255: the flags passed to `admit` for the key of the last `lookup`, if that returned 'same' or 'conflict'. */
  get flags(): number {
    return this.hitFlags
  }

  /**
   * Marks a key as admitted. Call it when the event is persisted; the order of calls does not matter. A key that is
   * held exactly and still within its window is left unchanged.
   *
   * On start, and for a 'maybe' that the read model has confirmed, pass the past time of the admission.
   *
   * @param flags 0 to 255, the caller's own
   * @param admittedAtMs not before 1970
   * @returns false if the key was left unchanged
   */
  admit(key: KeyHash, fingerprint: Fingerprint, flags: number, admittedAtMs: number): boolean {
    if (--this.admissionsUntilStep <= 0) {
      this.step(admittedAtMs)
      this.admissionsUntilStep = this.stepEveryAdmissions
    }
    const admittedAtS = Math.ceil(admittedAtMs / 1_000)
    const generation = this.currentGeneration(admittedAtMs)
    const number = this.firstGeneration + this.generations.length - 1
    if (!this.table.add(key, fingerprint, admittedAtS, flags, number)) {
      if (this.isLive(this.table.admittedAtS, admittedAtMs)) return false
      const before = this.generations[this.table.generation - this.firstGeneration]
      if (before !== undefined) before.keys--
      this.table.renew(fingerprint, admittedAtS, flags, number)
    }
    generation.keys++
    if (admittedAtS > generation.newestAtS) generation.newestAtS = admittedAtS
    return true
  }

  /**
   * Does one step of the work that `admit` does at intervals. Call it while there are no admissions, or nothing
   * expires.
   *
   * @returns whether there is more to do
   */
  step(nowMs: number): boolean {
    const isFolding = this.foldStep()
    return this.moveStep(nowMs) || isFolding
  }

  private moveStep(nowMs: number): boolean {
    this.moving ??= this.nextMove(nowMs)
    const { moving } = this
    if (moving === undefined) return false
    this.table.removeUpTo(moving.upTo, moving.segment++, (number, words, at) => {
      this.generations[number - this.firstGeneration]?.filter?.bloom.add(words, at)
    })
    if (moving.segment === this.table.segmentCount) {
      this.table.release(moving.upTo)
      this.generations.splice(0, moving.upTo + 1 - this.firstGeneration)
      this.firstGeneration = moving.upTo + 1
      this.moving = undefined
    }
    return true
  }

  private foldStep(): boolean {
    this.folding ??= this.nextFold()
    if (this.folding === undefined) return false
    if (this.folding.bloom.fold(FOLDED_BLOCKS_PER_STEP)) return true
    this.folding.folds++
    this.folding = undefined
    return true
  }

  /** The filter to be folded next, if all together are too large: of those folded least, the oldest. */
  private nextFold(): Filter | undefined {
    if (!this.haveFiltersGrown) return undefined
    let next: Filter | undefined
    if (this.filterBytes > this.options.filterBytesMax()) {
      for (const filter of this.filters) {
        if (filter.bloom.isFoldable && (next === undefined || filter.folds < next.folds)) next = filter
      }
    }
    this.haveFiltersGrown = next !== undefined
    return next
  }

  /** Keys in the exact table. */
  get exactKeys(): number {
    return this.table.size
  }

  /** Memory of the exact table. */
  get exactBytes(): number {
    return this.table.bytes
  }

  get filterCount(): number {
    return this.filters.length
  }

  get filterBytes(): number {
    return this.filters.reduce((bytes, { bloom }) => bytes + bloom.bytes, 0)
  }

  private isLive(admittedAtS: number, nowMs: number): boolean {
    return nowMs <= admittedAtS * 1_000 + this.options.windowMs
  }

  /** The generation for a key admitted now. If the clock goes back, the current generation is kept. */
  private currentGeneration(admittedAtMs: number): Generation {
    const { periodMs, exactKeysMax } = this.options
    const period = Math.floor(admittedAtMs / periodMs)
    const current = this.generations.at(-1)
    const isMoving =
      this.moving !== undefined && this.moving.upTo === this.firstGeneration + this.generations.length - 1
    if (current !== undefined && period <= current.period && current.keys < exactKeysMax / 4 && !isMoving)
      return current
    if (this.firstGeneration + this.generations.length > GENERATION_MAX) {
      // At one generation per second this takes half a year, at one per hour 1,900 years.
      throw new RangeError('the admission index has run out of generations')
    }
    const generation: Generation = {
      period: current === undefined ? period : Math.max(period, current.period),
      keys: 0,
      newestAtS: 0,
      filter: undefined,
    }
    this.generations.push(generation)
    return generation
  }

  /** Drops expired filters, then returns the next move: of expired generations, or because the table is full. */
  private nextMove(nowMs: number): { upTo: number; segment: number } | undefined {
    if (this.filters.some(({ newestAtS }) => !this.isLive(newestAtS, nowMs))) {
      this.filters = this.filters.filter(({ newestAtS }) => this.isLive(newestAtS, nowMs))
    }
    const { exactKeysMax } = this.options
    const isFull = this.table.size > (exactKeysMax * 3) / 4
    let remaining = this.table.size
    let count = 0
    for (const generation of this.generations) {
      const isExpired = !this.isLive(generation.newestAtS, nowMs)
      const isCurrent = count === this.generations.length - 1
      if (!isExpired && (isCurrent || !isFull || remaining <= exactKeysMax / 2)) break
      if (!isExpired) generation.filter = this.filterFor(generation)
      remaining -= generation.keys
      count++
    }
    return count === 0 ? undefined : { upTo: this.firstGeneration + count - 1, segment: 0 }
  }

  /** Finds or creates a filter with capacity for a generation that moves. */
  private filterFor({ period, keys, newestAtS }: Generation): Filter {
    const keysOf = (periodNumber: number): number =>
      this.filters.reduce((sum, filter) => sum + (filter.period === periodNumber ? filter.keys : 0), 0)
    let filter = this.filters.find(
      (candidate) => candidate.period === period && candidate.keysMax - candidate.keys >= keys,
    )
    if (filter === undefined) {
      // Sized like the previous period, bounded by what this period has had so far: few filters, bounded slack.
      const known = keysOf(period)
      const expected = Math.min(keysOf(period - 1) - known, 4 * (known + keys))
      const keysMax = Math.max(keys, known, expected)
      // As large as the others are by now.
      const folds = this.filters.length === 0 ? 0 : Math.min(...this.filters.map(({ folds }) => folds))
      const bitsPerKey = Math.max(BITS_PER_KEY_MIN, this.options.filterBitsPerKey / 2 ** folds)
      filter = {
        period,
        bloom: Bloom.forKeys(keysMax, bitsPerKey, this.filterHashes),
        keysMax,
        keys: 0,
        newestAtS,
        folds,
      }
      this.filters.push(filter)
      this.haveFiltersGrown = true
    }
    filter.keys += keys
    filter.newestAtS = Math.max(filter.newestAtS, newestAtS)
    return filter
  }
}
