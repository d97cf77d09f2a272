import { hashOfInvocationId } from '../../ids/key-hash.js'
import type { Position } from '../../invocations/invocation-group.js'
import { AdmissionIndex } from '../../repeats/admission-index.js'
import { counter } from '../../telemetry/metrics.js'

const LOOKED_UP = counter(
  'seen_events_looked_up_total',
  'Events that were looked up in the read model since a filter of older ids may hold theirs.',
)

/** An event, and the position at which it first entered the pipeline. */
export interface SeenEvent {
  /** 16 bytes. */
  readonly id: Uint8Array
  /** A position in the log that is read now, or `IN_ANOTHER_LOG`. */
  readonly position: Position
}

export interface FoundEvent extends SeenEvent {
  readonly seenAtMs: number
}

/** The position of an event from an earlier, deleted log; it equals no position of the current log. */
export const IN_ANOTHER_LOG: Position = { sequence: 0, index: 0 }

export interface SeenEventsOptions {
  /** How long an event is remembered, in milliseconds. */
  readonly windowMs: number
  /** Maximum number of events in the exact table, 48 bytes each. Older events are only in Bloom filters. */
  readonly exactEventsMax: number
  /**
   * Maximum bytes of the filters; above it they are folded, and more events are looked up (`AdmissionIndexOptions`).
   */
  readonly filterBytesMax: () => number
  /** Looks up events that a filter may contain; returns those that have a record or that a later stage still holds. */
  readonly find: (ids: readonly Uint8Array[], nowMs: number) => Promise<readonly FoundEvent[]>
}

/**
 * The events that a partition of the facts stage has seen within a window, with the position at which each was first
 * seen. An event is a duplicate if its id was first seen at a **different position**. A batch that is repeated after a
 * crash therefore finds its own events at their own positions, and has the same result.
 *
 * The youngest events are in an exact table. Older ones are in Bloom filters, which can only answer "maybe"; `find`
 * then decides. An event must stay in the exact table until `find` can return it, so `exactEventsMax` must exceed the
 * number of events in a batch.
 */
export class SeenEvents {
  private readonly index: AdmissionIndex
  private readonly find: SeenEventsOptions['find']
  private readonly hash = new Int32Array(4)
  private readonly fingerprint = new Int32Array(2)

  constructor({ windowMs, exactEventsMax, filterBytesMax, find }: SeenEventsOptions) {
    this.index = new AdmissionIndex({
      windowMs,
      // Seven filters for seven days; more filters would cost more, because every new event is checked against each.
      periodMs: Math.ceil(windowMs / 7),
      exactKeysMax: exactEventsMax,
      // The event's position is stored as the fingerprint: 'same' then means that it is the event itself.
      hasFingerprint: true,
      filterBitsPerKey: FILTER_BITS_PER_EVENT,
      filterBytesMax,
    })
    this.find = find
  }

  /** Number of events in the exact table, of filters for the older events, and the memory of both. */
  get extent(): { readonly exactEvents: number; readonly filters: number; readonly bytes: number } {
    const { exactKeys, exactBytes, filterCount, filterBytes } = this.index
    return { exactEvents: exactKeys, filters: filterCount, bytes: exactBytes + filterBytes }
  }

  /**
   * Remembers an event. An event that is already in the exact table is left unchanged.
   *
   * @param seenAtMs must not decrease, or only slightly, from call to call
   */
  remember(id: Uint8Array, position: Position, seenAtMs: number): void {
    this.setKey(id, position)
    this.index.admit(this.hash, this.fingerprint, 0, seenAtMs)
  }

  /**
   * Returns for each event of a batch, in order, whether it is a duplicate. Remembers the new events.
   *
   * @param nowMs the batch's own time, which is the same whenever the batch is repeated
   * @throws if `find` throws
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

    LOOKED_UP.inc(maybe.length)
    const candidates = maybe.flatMap((i) => events[i] ?? [])
    const found = await this.find(
      candidates.map(({ id }) => id),
      nowMs,
    )
    const first = new Map<string, Position>()
    // An event that is not found was a false positive of a filter: it is new.
    for (const { id, position, seenAtMs } of [
      ...found,
      ...candidates.map((event) => ({ ...event, seenAtMs: nowMs })),
    ]) {
      const name = hexOf(id)
      if (first.has(name)) continue
      first.set(name, position)
      this.remember(id, position, seenAtMs)
    }
    for (const [at, { id, position }] of candidates.entries()) {
      const known = first.get(hexOf(id))
      isDuplicate[maybe[at] ?? 0] = known?.sequence !== position.sequence || known.index !== position.index
    }
    return isDuplicate
  }

  private verdict(id: Uint8Array, position: Position, nowMs: number) {
    this.setKey(id, position)
    return this.index.lookup(this.hash, this.fingerprint, nowMs)
  }

  /**
   * Packs the position into 64 bits: a sequence below 2^44 and an index below 2^20 (a message has far fewer events).
   */
  private setKey(id: Uint8Array, { sequence, index }: Position): void {
    hashOfInvocationId(id, this.hash)
    this.fingerprint[0] = sequence % 2 ** 32
    this.fingerprint[1] = (Math.floor(sequence / 2 ** 32) << INDEX_BITS) | index
  }
}

const hexOf = (id: Uint8Array): string => Buffer.from(id.buffer, id.byteOffset, id.length).toString('hex')

/** At this size, one new event in 4,000 per filter is looked up unnecessarily. */
const FILTER_BITS_PER_EVENT = 20
const INDEX_BITS = 20
