import type { KeyHash } from '../../ids/key-hash.js'
import { Bloom, bestHashes } from './bloom.js'
import { type Fingerprint, GENERATION_MAX, KeyTable } from './key-table.js'

/**
 * Which keys were admitted within a window: of Idempotency-Keys the last 24 hours, of event ids the last 168.
 *
 * As many of the youngest as `exactKeysMax` allows are known exactly, the older ones through Bloom filters only: when
 * the exact table is three quarters full, its oldest generations move into filters until half of it is free. Below
 * that load every verdict is exact for the whole window. Whatever a filter holds is confirmed by the caller.
 *
 * A generation ends with its period of `periodMs` or when a quarter of the exact table is its own; it is what moves
 * and what expires in one. The work is cut into steps of one segment of the table, done every some admissions
 * (`STEP_EVERY_ADMISSIONS_MAX`): about 0.5 ms each at 10 million keys, never all at once.
 *
 * A key that was refused never gets in, hence there is no way to take one out: persist first, then `admit`.
 */
export interface AdmissionIndexOptions {
  /** How long a key is known, in milliseconds; longer by less than a second, since seconds are kept, rounded up. */
  readonly windowMs: number
  /**
   * What a filter spans. A filter goes as a whole when its youngest key has left the window, so it may answer 'maybe'
   * for a key that is up to one period older. Every filter is asked for every new key, and their false positives
   * add up: 24 filters cost four times the time and the confirmations of 6.
   */
  readonly periodMs: number
  /** Keys in the exact table at most; one takes at most 64 bytes, 48 on average. */
  readonly exactKeysMax: number
  /** Whether a key comes with a body to compare: Idempotency-Keys do, event ids do not. */
  readonly hasFingerprint: boolean
  /** 16 bits: 1 in 1,000 new keys is a 'maybe' by mistake, for each filter; 12 bits: 5, 20 bits: 0.25. */
  readonly filterBitsPerKey: number
}

/**
 * - new: not admitted within the window, for certain
 * - same: admitted, with this fingerprint
 * - conflict: admitted, with another fingerprint
 * - maybe: a filter holds it; ask the read model
 */
export type Verdict = 'new' | 'same' | 'conflict' | 'maybe'

interface Generation {
  readonly period: number
  /** Of its records in the exact table, or that were there when it moved. */
  keys: number
  newestAtS: number
  filter: Filter | undefined
}

/** Of one period, or a part of it when there was more than expected. */
interface Filter {
  readonly period: number
  readonly bloom: Bloom
  readonly keysMax: number
  /** Keys that were promised room. */
  keys: number
  newestAtS: number
}

/** At 10 million keys a step takes some 0.8 ms: spread over so many admissions it adds 3 us to each. */
const STEP_EVERY_ADMISSIONS_MAX = 256
/** More would make a step too long; with fewer, what is known of the segments itself leaves the processor's caches. */
const SEGMENT_KEYS = 32_768
const SEGMENTS_MIN = 2
const SEGMENTS_MAX = 8_192

export class AdmissionIndex {
  private readonly options: AdmissionIndexOptions
  private readonly table: KeyTable
  private readonly filterHashes: number
  /** By age; the generation numbered `firstGeneration + i` stands at i. The last one is the current one. */
  private readonly generations: Generation[] = []
  private firstGeneration = 0
  private filters: Filter[] = []
  private readonly stepEveryAdmissions: number
  private admissionsUntilStep: number
  /** What is being moved: all generations up to this one, from this segment on. */
  private moving: { readonly upTo: number; segment: number } | undefined
  private hitFlags = 0

  constructor(options: AdmissionIndexOptions) {
    const { windowMs, periodMs, exactKeysMax, hasFingerprint } = options
    if (!(periodMs >= 1_000 && periodMs <= windowMs)) throw new RangeError('a period is a second to the whole window')
    if (!(exactKeysMax >= 64)) throw new RangeError('the exact table holds 64 keys or more')
    this.options = options
    this.filterHashes = bestHashes(options.filterBitsPerKey)
    const segments = 2 ** Math.ceil(Math.log2(exactKeysMax / SEGMENT_KEYS))
    this.table = new KeyTable({
      segments: Math.min(SEGMENTS_MAX, Math.max(SEGMENTS_MIN, segments)),
      hasFingerprint,
    })
    // A whole move ends within a sixteenth of the table's admissions, of which a quarter is kept free.
    const perMove = Math.floor(exactKeysMax / 16 / this.table.segmentCount)
    this.stepEveryAdmissions = Math.max(1, Math.min(STEP_EVERY_ADMISSIONS_MAX, perMove))
    this.admissionsUntilStep = this.stepEveryAdmissions
  }

  /** @param fingerprint of the body; of no effect in an index without fingerprints, which never says 'conflict' */
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

  /** To be called for many keys that are about to be admitted, one behind the other: see `KeyTable.touch`. */
  touch(key: KeyHash): void {
    this.table.touch(key)
  }

  /** 0 to 255: what was given to `admit` for the key of the last `lookup`, if that said 'same' or 'conflict'. */
  get flags(): number {
    return this.hitFlags
  }

  /**
   * Marks a key as admitted. To be called when the event is persisted, in whatever order that is known: one that is
   * known exactly and still within its window stays as it is, and the answer is false.
   *
   * On start, and for a 'maybe' that the read model has confirmed, the time is that of the admission, in the past.
   *
   * @param flags 0 to 255, the caller's own
   * @param admittedAtMs not before 1970
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
   * Does a step of what `admit` does every so often. For times without admissions, when nothing would expire else.
   *
   * @returns whether there is more to do
   */
  step(nowMs: number): boolean {
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

  /** Keys known exactly. */
  get exactKeys(): number {
    return this.table.size
  }

  /** Of the exact table. */
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

  /** The generation of a key that is admitted now. A clock that goes back stays in the generation it has reached. */
  private currentGeneration(admittedAtMs: number): Generation {
    const { periodMs, exactKeysMax } = this.options
    const period = Math.floor(admittedAtMs / periodMs)
    const current = this.generations.at(-1)
    const isMoving =
      this.moving !== undefined && this.moving.upTo === this.firstGeneration + this.generations.length - 1
    if (current !== undefined && period <= current.period && current.keys < exactKeysMax / 4 && !isMoving)
      return current
    if (this.firstGeneration + this.generations.length > GENERATION_MAX) {
      // At one a second this takes half a year, at one an hour 1,900 years.
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

  /** Drops filters that have expired; then says what to move, if anything: what has expired, or fills the table. */
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

  /** Finds or makes room for a generation that moves. */
  private filterFor({ period, keys, newestAtS }: Generation): Filter {
    const keysOf = (wanted: number): number =>
      this.filters.reduce((sum, filter) => sum + (filter.period === wanted ? filter.keys : 0), 0)
    let filter = this.filters.find(
      (candidate) => candidate.period === period && candidate.keysMax - candidate.keys >= keys,
    )
    if (filter === undefined) {
      // Room for as much as the period before had, or else as this one has had already: few filters, bounded slack.
      const known = keysOf(period)
      const expected = Math.min(keysOf(period - 1) - known, 4 * (known + keys))
      const keysMax = Math.max(keys, known, expected)
      const { filterBitsPerKey } = this.options
      filter = {
        period,
        bloom: Bloom.forKeys(keysMax, filterBitsPerKey, this.filterHashes),
        keysMax,
        keys: 0,
        newestAtS,
      }
      this.filters.push(filter)
    }
    filter.keys += keys
    filter.newestAtS = Math.max(filter.newestAtS, newestAtS)
    return filter
  }
}
