import { hashOfInvocationId } from '../../ids/key-hash.js'
import { AdmissionIndex } from '../../ingest/keys/admission-index.js'
import type { Position } from '../../invocations/group.js'

/** An event, and where it first entered the pipeline. */
export interface SeenEvent {
  /** 16 bytes. */
  readonly id: Uint8Array
  /** A position of the log that is read now, or `IN_ANOTHER_LOG`. */
  readonly position: Position
}

export interface FoundEvent extends SeenEvent {
  readonly seenAtMs: number
}

/** Of an event that came by a log that is gone: no position of this log is its own. */
export const IN_ANOTHER_LOG: Position = { sequence: 0, index: 0 }

export interface SeenEventsOptions {
  /** How long an event is known, in milliseconds. */
  readonly windowMs: number
  /** Events known exactly at most, 48 bytes each; older ones through filters. */
  readonly exactEventsMax: number
  /** Looks up events that a filter may hold: those of them that have a record or are on their way to one. */
  readonly find: (ids: readonly Uint8Array[], nowMs: number) => Promise<readonly FoundEvent[]>
}

/**
 * The events that a partition of stage A has seen within a window, with the position at which each was first seen. An
 * event is a duplicate when its id is known from **another position** than its own: so a batch that is formed again
 * after a crash finds its own events, at their own positions, and comes out the same.
 *
 * The youngest are known exactly; for older ones a Bloom filter says that it may hold them, and `find` decides. An event
 * must stay in the exact part until it can be found: `exactEventsMax` is to be above what a batch can hold.
 */
export class SeenEvents {
  private readonly index: AdmissionIndex
  private readonly find: SeenEventsOptions['find']
  private readonly hash = new Int32Array(4)
  private readonly place = new Int32Array(2)

  constructor({ windowMs, exactEventsMax, find }: SeenEventsOptions) {
    this.index = new AdmissionIndex({
      windowMs,
      // Seven filters for seven days: each is asked for every event that is new.
      periodMs: Math.ceil(windowMs / 7),
      exactKeysMax: exactEventsMax,
      // An event's position takes the place of a fingerprint: 'same' means that it is the event itself.
      hasFingerprint: true,
      filterBitsPerKey: FILTER_BITS_PER_EVENT,
    })
    this.find = find
  }

  /** How many events are known exactly, and how many filters there are for the older ones. */
  get extent(): { readonly exactEvents: number; readonly filters: number } {
    return { exactEvents: this.index.exactKeys, filters: this.index.filterCount }
  }

  /**
   * Remembers an event; one that is known exactly stays as it is.
   *
   * @param seenAtMs in the order of the calls, or nearly
   */
  remember(id: Uint8Array, position: Position, seenAtMs: number): void {
    this.set(id, position)
    this.index.admit(this.hash, this.place, 0, seenAtMs)
  }

  /**
   * For each of a batch's events, in their order, whether it is a duplicate. Those that are new are remembered.
   *
   * @param nowMs the batch's own time, the same whenever it is formed
   * @throws when `find` does
   */
  async duplicatesIn(events: readonly SeenEvent[], nowMs: number): Promise<readonly boolean[]> {
    const maybe: number[] = []
    const isDuplicate = events.map(({ id, position }, i) => {
      const verdict = this.verdict(id, position, nowMs)
      if (verdict === 'new') this.remember(id, position, nowMs)
      else if (verdict === 'maybe') maybe.push(i)
      return verdict === 'conflict'
    })
    if (maybe.length === 0) return isDuplicate

    const asked = maybe.flatMap((i) => events[i] ?? [])
    const found = await this.find(
      asked.map(({ id }) => id),
      nowMs,
    )
    const first = new Map<string, Position>()
    // What is not found was a mere guess of a filter: it is new.
    for (const { id, position, seenAtMs } of [...found, ...asked.map((event) => ({ ...event, seenAtMs: nowMs }))]) {
      const name = hexOf(id)
      if (first.has(name)) continue
      first.set(name, position)
      this.remember(id, position, seenAtMs)
    }
    for (const [at, { id, position }] of asked.entries()) {
      const known = first.get(hexOf(id))
      isDuplicate[maybe[at] ?? 0] = known?.sequence !== position.sequence || known.index !== position.index
    }
    return isDuplicate
  }

  private verdict(id: Uint8Array, position: Position, nowMs: number) {
    this.set(id, position)
    return this.index.lookup(this.hash, this.place, nowMs)
  }

  /** A sequence below 2^44 and an index below 2^20, of which a message has far fewer, in 64 bits. */
  private set(id: Uint8Array, { sequence, index }: Position): void {
    hashOfInvocationId(id, this.hash)
    this.place[0] = sequence % 2 ** 32
    this.place[1] = (Math.floor(sequence / 2 ** 32) << INDEX_BITS) | index
  }
}

const hexOf = (id: Uint8Array): string => Buffer.from(id.buffer, id.byteOffset, id.length).toString('hex')

/** One in 4,000 new events is looked up by mistake, for each filter. */
const FILTER_BITS_PER_EVENT = 20
const INDEX_BITS = 20
