import { ID_BYTES } from '../../ids/ids.js'
import type { AdmissionKey } from '../../invocations/invocation-group.js'
import type { Problem } from '../../problems/problem-catalogue.js'
import { ownTurn } from '../../process/own-turn.js'
import { type AdmissionDeps, addToGroup, type EventSender } from '../admission/admission.js'
import { unavailable } from '../admission/answers.js'
import { checkEvent, type EventIds, newEventIds } from '../admission/check-event.js'
import type { Group, Settler } from '../commit/commit-group.js'
import { EVENT_COUNTS } from '../commit/event-counts.js'
import type { Commit } from '../commit/log-writer.js'
import type { BulkItem, BulkItems } from './bulk-body.js'
import { DistinctIds } from './distinct-ids.js'

/** Events handled before yielding to the event loop: about 3 ms. */
export const SLICE = 500

/** What a request does with the result of each of its events; called once per event, in order. */
export interface EachResult {
  /**
   * The request's key, which its first event carries to the log; absent for a request without one.
   *
   * @param isKnown whether the log holds the event, so that the entry is there for the key alone
   */
  readonly keyFor?: (isKnown: boolean) => AdmissionKey
  /** @param ids of this event: copy them to keep them */
  accept(ids: EventIds, isDuplicate: boolean): void
  reject(item: BulkItem, problem: Problem): void
}

/**
 * Admits the events of one request, each by itself.
 *
 * @returns the answer when the log did not store all accepted events; undefined when it holds every one of them. A
 *   repeat recognises the stored ones by their event_id.
 */
export async function admitEach(
  items: BulkItems,
  caller: EventSender,
  receivedAtMs: number,
  deps: AdmissionDeps,
  result: EachResult,
): Promise<Problem | undefined> {
  const seen = new DistinctIds(items.count)
  const commits = new BulkCommits(seen, deps)
  let isKeySent = result.keyFor === undefined
  let [accepted, duplicates] = [0, 0]
  // Ids of the current event: copy them to keep them.
  const ids = newEventIds()

  for (const item of items) {
    if (item.index % SLICE === SLICE - 1) await ownTurn()
    const checked = item.problem ?? checkEvent(item, caller, deps, receivedAtMs, ids)
    if ('code' in checked) {
      EVENT_COUNTS.rejected++
      result.reject(item, checked)
      continue
    }
    const place = seen.add(ids.id)
    // Only what this gateway knows; stage A drops a repeat that came through another one.
    const isDuplicate = place < 0 || deps.recentEvents.has(ids.id, receivedAtMs)
    if (isDuplicate) duplicates++
    else accepted++
    result.accept(checked.ids, isDuplicate)
    const key = isKeySent ? undefined : result.keyFor?.(isDuplicate)
    if (isDuplicate && key === undefined) continue
    const sender = item.trustsCost === false ? { ...caller, trustsCost: false } : caller
    commits.sent(place, addToGroup(checked, item, sender, key, deps, commits))
    isKeySent = true
  }
  const missed = await commits.all()
  if (missed === undefined) {
    EVENT_COUNTS.accepted += accepted
    EVENT_COUNTS.duplicate += duplicates
    return undefined
  }
  EVENT_COUNTS.unavailable += accepted + duplicates
  const { reason, stored } = missed
  deps.log.warn(
    { tenantId: caller.tenantId, events: items.count, stored, reason },
    'answering 503: not all events are stored',
  )
  return unavailable(reason)
}

/** Why the log did not store all events of a request, and how many it did store. */
interface Missed {
  readonly reason: string
  readonly stored: number
}

/** Waits for the groups that hold a request's events. */
class BulkCommits implements Settler {
  private readonly ids: DistinctIds
  private readonly deps: AdmissionDeps
  /** The events of each unsettled group, by the index of their ids. */
  private readonly placesOf = new Map<Group, number[]>()
  /** Of the current event. */
  private readonly id = new Uint8Array(ID_BYTES)
  private reason: string | undefined
  private stored = 0
  private areAllSent = false
  private whenAllSettled: (() => void) | undefined

  constructor(ids: DistinctIds, deps: AdmissionDeps) {
    this.ids = ids
    this.deps = deps
  }

  /** @param group undefined when too many events are waiting for the log */
  sent(place: number, group: Group | undefined): void {
    if (group === undefined) {
      this.reason ??= 'Too many events are waiting for the log; try again.'
      return
    }
    const places = this.placesOf.get(group)
    if (places === undefined) this.placesOf.set(group, [place])
    else places.push(place)
  }

  foresee(): void {
    // Nothing that `settled` reads is far away.
  }

  settled(commit: Commit, group: Group): void {
    const hasStored = commit.kind === 'stored'
    const nowMs = this.deps.clock()
    for (const place of this.placesOf.get(group) ?? []) {
      if (!hasStored) continue
      this.stored++
      // An event that came twice has no place of its own.
      if (place < 0) continue
      this.ids.read(place, this.id)
      this.deps.recentEvents.add(this.id, nowMs)
    }
    if (!hasStored) this.reason ??= commit.detail
    this.placesOf.delete(group)
    if (this.areAllSent && this.placesOf.size === 0) this.whenAllSettled?.()
  }

  /** Call it when all are sent. @returns undefined when all are stored */
  async all(): Promise<Missed | undefined> {
    this.areAllSent = true
    if (this.placesOf.size > 0) {
      await new Promise<void>((resolve) => {
        this.whenAllSettled = resolve
      })
    }
    return this.reason === undefined ? undefined : { reason: this.reason, stored: this.stored }
  }
}
