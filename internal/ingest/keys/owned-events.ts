import type { KeyHash } from '../../ids/key-hash.js'
import type { AdmissionIndex } from '../../repeats/admission-index.js'
import type { Fingerprint } from '../../repeats/key-table.js'
import {
  type EventAnswer,
  FIRST,
  isReleased,
  isTaken,
  partitionFor,
  releasedBy,
  STORED,
  takenBy,
  UNSURE,
} from './event-answers.js'

export interface OwnedEventsDeps {
  /** The events of the last 7 days; its flags are of `event-answers.ts`. */
  readonly index: AdmissionIndex
  /**
   * Whether the index holds the whole history of the event's slot, the owners have not changed lately, and the broker
   * is reachable; otherwise an unknown event is `UNSURE`.
   */
  readonly isSure: (key: KeyHash) => boolean
  /** Where an event that this gateway is writing goes: one that it admitted while it was alone has no claim. */
  readonly partitionInFlight: (key: KeyHash) => number | undefined
  /** Events for a higher one are for the lane (`streams/invocations.ts`). */
  readonly partitions: number
  readonly clock: () => number
}

const NO_FINGERPRINT: Fingerprint = new Int32Array(2)

/**
 * The owner's side of claims for event ids, for its own requests and those of its peers: the first claim of an event
 * takes it, and later ones hear which partition the first took it to. There is nothing to settle: whether the first one
 * is stored shows in its partition. A claim whose event could not be stored is released.
 */
export class OwnedEvents {
  private readonly deps: OwnedEventsDeps

  constructor(deps: OwnedEventsDeps) {
    this.deps = deps
  }

  /** @param partition where the event goes if it is the first */
  claim(key: KeyHash, partition: number): EventAnswer {
    const { index, isSure, partitionInFlight, clock } = this.deps
    const nowMs = clock()
    const verdict = index.lookup(key, NO_FINGERPRINT, nowMs)
    if (verdict === 'same') {
      const known = index.flags
      if (isReleased(known)) index.set(key, NO_FINGERPRINT, takenBy(partitionFor(known, partition)), nowMs)
      return known
    }
    const underWay = partitionInFlight(key)
    index.set(key, NO_FINGERPRINT, takenBy(underWay ?? partition), nowMs)
    if (underWay !== undefined) return takenBy(underWay)
    // Only its own partition knows whether one that only a filter has is a repeat.
    const isForLane = partition >= this.deps.partitions
    return isSure(key) && !(verdict === 'maybe' && isForLane) ? FIRST : UNSURE
  }

  /** The claim's event was not stored, as far as its gateway knows. */
  release(key: KeyHash, partition: number): void {
    const { index, clock } = this.deps
    const nowMs = clock()
    if (index.lookup(key, NO_FINGERPRINT, nowMs) !== 'same' || !isTaken(index.flags)) return
    index.set(key, NO_FINGERPRINT, releasedBy(partitionFor(index.flags, partition)), nowMs)
  }

  /** A gateway has stored the event, which it had claimed at an earlier owner, or at none. */
  stored(key: KeyHash): void {
    const { index, clock } = this.deps
    index.set(key, NO_FINGERPRINT, STORED, clock())
  }
}
