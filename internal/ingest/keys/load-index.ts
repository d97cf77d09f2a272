import type { KeyHash } from '../../ids/key-hash.js'
import { hashOfInvocationId, wordsOf } from '../../ids/key-hash.js'
import { OWNER_SLOTS, type Slots, slotOf } from '../../ids/owner-slots.js'
import type { AdmittedInvocation } from '../../invocations/invocation-group.js'
import { untilAvailable } from '../../process/main.js'
import type { AdmissionIndex } from '../../repeats/admission-index.js'
import type { Fingerprint } from '../../repeats/key-table.js'
import type { RowBlock } from '../../store/fixed-rows.js'
import type { RecordedKey } from '../../store/queries/attribution/admission-keys.js'
import type { RecordedEvent } from '../../store/queries/records/sources.js'
import type { Logger } from '../../telemetry/log.js'
import { counter } from '../../telemetry/metrics.js'
import { STORED } from './event-answers.js'
import type { Confirmation, KeyConfirmation, Rechecked } from './key-confirmation.js'

const LOADS = counter(
  'admission_index_loads_total',
  'Loads of the keys and events that were admitted before: at the start, and of what may be missing after a ' +
    'gateway has left or was silent.',
)

/** Sources of the keys and events admitted before this process started. */
export interface AdmissionHistory {
  /** Events in the log that stage A has not recorded yet. */
  pending(): AsyncIterable<AdmittedInvocation>
  keysSince(slots: Slots, sinceMs: number): AsyncIterable<RowBlock<RecordedKey>>
  eventsSince(slots: Slots, sinceMs: number): AsyncIterable<RowBlock<RecordedEvent>>
}

export interface LoadedIndex {
  readonly keys: AdmissionIndex
  readonly events: AdmissionIndex
}

/** The owners of keys and of event ids, as this gateway sees them. */
export interface IndexOwners {
  /** The slots of this gateway. */
  readonly slots: Slots
  /** @param at index of the key's first of four words */
  owns(key: Int32Array, at?: number): boolean
}

/** What an index lacks because others decided in this gateway's place, or before it. */
export interface Missing {
  /** Slots that this gateway owns now and did not own before: everything. */
  readonly gained: Slots
  /** Of the other slots: what others admitted within this time. */
  readonly unheardMs: number
}

export const KEY_WINDOW_MS = 24 * 60 * 60 * 1000
export const EVENT_WINDOW_MS = 7 * 24 * 60 * 60 * 1000

/**
 * A silent peer admits nothing more: a search of the log for keys of all gateways that began after its last admission
 * is complete. A load of this gateway's own share is none.
 */
const SEARCH_AGAIN_AFTER_MS = 1_000

/**
 * Notices that did not arrive are of requests that ended shortly before their owner was found silent or dead: after 8 s
 * at most. The rest is for clocks that differ, for times are those of the gateway that admitted.
 */
const TAIL_MS = 10 * 60 * 1000

/** Rows loaded before yielding to the event loop. */
const YIELD_EVERY_ROWS = 2_000
const NO_FINGERPRINT: Fingerprint = new Int32Array(2)

export interface IndexLoader {
  /**
   * Whether this gateway owns the key and its index holds all that was admitted of it; until then each new key must be
   * confirmed, and each new event is unsure.
   */
  isLoaded(key: KeyHash): boolean
  /** The number of this gateway's slots whose history is being loaded. */
  loadingSlots(): number
  readonly confirmation: KeyConfirmation
  confirm(key: KeyHash, fingerprint: Fingerprint): Promise<Confirmation>
  /** `confirm` for a key whose owner does not answer: searches the log and the read model for its admissions. */
  recheck(key: KeyHash, fingerprint: Fingerprint): Promise<Rechecked>
  /**
   * Loads this gateway's share of the history on start, or what is missing of it. Resolves when the part that only the
   * log holds is loaded: the first request must wait for it, since its key may not be new. The read model's part is
   * loaded afterwards.
   */
  load(missing?: Missing): Promise<void>
  /** Resolves when everything is loaded that has been begun. */
  loaded(): Promise<void>
}

/** A load that has not ended. */
interface Load {
  /** Per slot: 1 if everything of it is loaded. */
  readonly gained: Uint8Array
  /** The other slots have what they lacked. */
  isTailLoaded: boolean
}

export interface LoaderSettings {
  readonly clock: () => number
  /** Whether the broker has answered in the last seconds. */
  readonly isBrokerAnswering: () => boolean
  readonly log: Logger
}

export function createIndexLoader(
  index: LoadedIndex,
  owners: IndexOwners,
  history: AdmissionHistory,
  readModel: KeyConfirmation,
  { clock, isBrokerAnswering, log }: LoaderSettings,
): IndexLoader {
  let hasBegun = false
  const loads = new Map<Load, Promise<void>>()
  /**
   * Of all loads, the part that only the log holds; a search for one key must not be over when a later load of less is.
   */
  let pending: Promise<unknown> = Promise.resolve()
  let pendingLoads = 0
  let searchedAtMs = Number.NEGATIVE_INFINITY

  const confirmation: KeyConfirmation = {
    ask(key, fingerprint, answer) {
      if (pendingLoads > 0) void untilSearched().then(() => readModel.ask(key, fingerprint, answer))
      else readModel.ask(key, fingerprint, answer)
    },
  }
  const untilSearched = (): Promise<void> => waitPatiently(pending, isBrokerAnswering)
  const confirmIn = (source: KeyConfirmation, key: KeyHash, fingerprint: Fingerprint): Promise<Rechecked> =>
    askAndKeep(source, index.keys, key, fingerprint)

  /** @param isForAll whether to keep what the log holds of other gateways, too */
  const begin = (missing: Missing, isForAll: boolean): Promise<void> => {
    LOADS.inc()
    const startedAtMs = clock()
    if (isForAll) searchedAtMs = startedAtMs
    const load: Load = { gained: bitmapOf(missing.gained), isTailLoaded: false }
    // Loads what this gateway owns when the answers come, which may be less than when they were asked for.
    const into = isForAll ? undefined : owners
    pendingLoads++
    const ofLog = untilAvailable('the log', () => loadPending(history, index, into), log).then(() => {
      pendingLoads--
    })
    pending = Promise.all([pending, ofLog])
    // A silence is measured by a clock with fractions; the read model takes whole milliseconds.
    const sinceMs = Math.floor(startedAtMs - missing.unheardMs - TAIL_MS)
    const loadAll = async (): Promise<void> => {
      await untilAvailable('the admission history', () => loadTail(history, index, owners, load, sinceMs), log)
      load.isTailLoaded = true
      await untilAvailable('the admission history', () => loadGained(history, index, owners, missing, startedAtMs), log)
      loads.delete(load)
      const [keys, events] = [index.keys.exactKeys, index.events.exactKeys]
      const slots = { key_slots: missing.gained.length, event_slots: missing.gained.length }
      log.info({ keys, events, ...slots, ms: Math.round(clock() - startedAtMs) }, 'admission index loaded')
    }
    loads.set(load, ofLog.then(loadAll))
    return ofLog
  }

  return {
    isLoaded(key) {
      if (!hasBegun || !owners.owns(key)) return false
      // On the hot path of every event: no iterator for nothing.
      if (loads.size === 0) return true
      for (const load of loads.keys()) if (!load.isTailLoaded || load.gained[slotOf(key)] === 1) return false
      return true
    },
    loadingSlots() {
      const { slots } = owners
      const loading = [...loads.keys()]
      if (!hasBegun || loading.some((load) => !load.isTailLoaded)) return slots.length
      return slots.filter((slot) => loading.some((load) => load.gained[slot] === 1)).length
    },
    confirmation,
    confirm: async (key, fingerprint) => (await confirmIn(confirmation, key, fingerprint)).found,

    load(missing) {
      if (missing !== undefined) return begin(missing, false)
      hasBegun = true
      return begin({ gained: owners.slots, unheardMs: 0 }, false)
    },

    async loaded() {
      while (loads.size > 0) await Promise.all(loads.values())
    },

    async recheck(key, fingerprint) {
      // Its owner may have died a moment ago, and other gateways with it.
      if (clock() - searchedAtMs > SEARCH_AGAIN_AFTER_MS) void begin(NOTHING_GAINED, true)
      await untilSearched()
      const verdict = index.keys.lookup(key, fingerprint, clock())
      if (verdict === 'same' || verdict === 'conflict') return { found: verdict, flags: index.keys.flags }
      return confirmIn(readModel, key, fingerprint)
    },
  }
}

/** An unavailable broker must not hold up a request; a slow one is waited for. */
async function waitPatiently(pending: Promise<unknown>, isBrokerAnswering: () => boolean): Promise<void> {
  if (!(await isDoneWithin(PATIENCE_MS, pending)) && isBrokerAnswering()) await isDoneWithin(PATIENCE_MORE_MS, pending)
}

/** Asks for a key, and adds what is found to the index. */
const askAndKeep = (
  source: KeyConfirmation,
  keys: LoadedIndex['keys'],
  key: KeyHash,
  fingerprint: Fingerprint,
): Promise<Rechecked> =>
  new Promise((resolve) => {
    source.ask(key, fingerprint, (found, admittedAtMs, flags, recorded) => {
      // A conflict, too: it must not be forgotten while the read model is unavailable.
      if (found !== 'unknown') keys.admit(key, recorded, flags, admittedAtMs)
      resolve({ found, flags })
    })
  })

const NOTHING_GAINED: Missing = { gained: [], unheardMs: 0 }

function bitmapOf(slots: Slots): Uint8Array {
  const bitmap = new Uint8Array(OWNER_SLOTS)
  for (const slot of slots) bitmap[slot] = 1
  return bitmap
}

/** Adds the keys and events that only the log holds. @param owners to add only what this gateway owns */
async function loadPending(
  history: AdmissionHistory,
  index: LoadedIndex,
  owners: IndexOwners | undefined,
): Promise<void> {
  for await (const invocation of history.pending()) noteAdmitted(invocation, index, owners)
}

/** Adds an event of the log, and its key. @param owners to add only what this gateway owns */
export function noteAdmitted(
  { id, key, receivedAtMs }: AdmittedInvocation,
  { keys, events }: LoadedIndex,
  owners: IndexOwners | undefined,
): void {
  const hash = key === undefined ? undefined : wordsOf(key.hash)
  if (key !== undefined && hash !== undefined && (owners === undefined || owners.owns(hash))) {
    keys.admit(hash, wordsOf(key.fingerprint), key.flags, receivedAtMs)
  }
  const event = eventKeyOf(id)
  if (owners === undefined || owners.owns(event)) events.set(event, NO_FINGERPRINT, STORED, receivedAtMs)
}

/** Adds what this gateway may not have heard of in the slots that it owned before. */
async function loadTail(
  history: AdmissionHistory,
  index: LoadedIndex,
  owners: IndexOwners,
  load: Load,
  sinceMs: number,
): Promise<void> {
  const kept = (): Slots => owners.slots.filter((slot) => load.gained[slot] === 0)
  await loadKeys(history, index, owners, kept(), sinceMs)
  await loadEvents(history, index, owners, kept(), sinceMs)
}

/**
 * Adds everything that the read model holds of the slots gained, as far as they are still this gateway's: after an
 * outage of the broker, in which each gateway saw all others depart, they are not.
 */
async function loadGained(
  history: AdmissionHistory,
  index: LoadedIndex,
  owners: IndexOwners,
  { gained }: Missing,
  nowMs: number,
): Promise<void> {
  const owned = (): Slots => {
    const own = bitmapOf(owners.slots)
    return gained.filter((slot) => own[slot] === 1)
  }
  await loadKeys(history, index, owners, owned(), nowMs - KEY_WINDOW_MS)
  await loadEvents(history, index, owners, owned(), nowMs - EVENT_WINDOW_MS)
}

async function loadKeys(
  history: AdmissionHistory,
  { keys }: LoadedIndex,
  owners: IndexOwners,
  slots: Slots,
  sinceMs: number,
): Promise<void> {
  if (slots.length === 0) return
  const row: RecordedKey = { hash: new Int32Array(4), fingerprint: new Int32Array(2), flags: 0, admittedAtMs: 0 }
  const { hash, fingerprint } = row
  for await (const rows of history.keysSince(slots, sinceMs)) {
    for (let i = 0; i < rows.count; i++) {
      rows.read(i, row)
      if (owners.owns(hash)) keys.admit(hash, fingerprint, row.flags, row.admittedAtMs)
      if (i % YIELD_EVERY_ROWS === YIELD_EVERY_ROWS - 1) await nextTurn()
    }
    await nextTurn()
  }
}

async function loadEvents(
  history: AdmissionHistory,
  { events }: LoadedIndex,
  owners: IndexOwners,
  slots: Slots,
  sinceMs: number,
): Promise<void> {
  if (slots.length === 0) return
  const row: RecordedEvent = { key: new Int32Array(4), validFromMs: 0 }
  const { key } = row
  for await (const rows of history.eventsSince(slots, sinceMs)) {
    for (let i = 0; i < rows.count; i++) {
      rows.read(i, row)
      if (owners.owns(key)) events.set(key, NO_FINGERPRINT, STORED, row.validFromMs)
      if (i % YIELD_EVERY_ROWS === YIELD_EVERY_ROWS - 1) await nextTurn()
    }
    await nextTurn()
  }
}

export function eventKeyOf(id: Uint8Array): KeyHash {
  const key: KeyHash = new Int32Array(4)
  hashOfInvocationId(id, key)
  return key
}

/** Keys that only the log holds are unknown afterwards. */
const PATIENCE_MS = 500
const PATIENCE_MORE_MS = 1_000

const isDoneWithin = (ms: number, work: Promise<unknown>): Promise<boolean> =>
  new Promise((resolve) => {
    const timer = setTimeout(() => resolve(false), ms)
    void work.finally(() => {
      clearTimeout(timer)
      resolve(true)
    })
  })

const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))
