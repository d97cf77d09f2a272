import type { KeyHash } from '../../ids/key-hash.js'
import { hashOfInvocationId } from '../../ids/key-hash.js'
import type { AdmittedInvocation } from '../../invocations/group.js'
import { untilAvailable } from '../../process/main.js'
import type { Logger } from '../../telemetry/log.js'
import { counter } from '../../telemetry/metrics.js'
import type { AdmissionIndex } from './admission-index.js'
import { STORED } from './event-answers.js'
import type { Confirmation, KeyConfirmation } from './key-confirmation.js'
import type { Fingerprint } from './key-table.js'

const LOADS = counter(
  'admission_index_loads_total',
  'Loads of the keys and events that were admitted before: at the start, and when another gateway has left.',
)

/** Sources of the keys and events admitted before this process started. */
export interface AdmissionHistory {
  /** Events in the log that stage A has not recorded yet. */
  pending(): AsyncIterable<AdmittedInvocation>
  keysSince(sinceMs: number): AsyncIterable<KnownKey>
  eventsSince(sinceMs: number): AsyncIterable<{ readonly id: Uint8Array; readonly validFromMs: number }>
}

interface KnownKey {
  readonly hash: Uint8Array
  readonly fingerprint: Uint8Array
  readonly flags: number
  readonly admittedAtMs: number
}

export interface LoadedIndex {
  readonly keys: AdmissionIndex
  readonly events: AdmissionIndex
}

export const KEY_WINDOW_MS = 24 * 60 * 60 * 1000
export const EVENT_WINDOW_MS = 7 * 24 * 60 * 60 * 1000

/** A silent peer admits nothing more: a load that began after its last admission is complete. */
const RELOAD_AFTER_MS = 1_000

/** Rows loaded before yielding to the event loop. */
const YIELD_EVERY_ROWS = 2_000
const NO_FINGERPRINT: Fingerprint = new Int32Array(2)

export interface IndexLoader {
  /** Whether the index holds the whole history; until then each new key must be confirmed. */
  isLoaded(): boolean
  readonly confirmation: KeyConfirmation
  confirm(key: KeyHash, fingerprint: Fingerprint): Promise<Confirmation>
  /** `confirm` for a key whose owner does not answer: searches the log and the read model for its admissions. */
  recheck(key: KeyHash, fingerprint: Fingerprint): Promise<Confirmation>
  /**
   * Loads the history, on start and when a peer has departed. Resolves when the part that only the log holds is loaded:
   * the first request must wait for it, since its key may not be new. The read model's part is loaded afterwards.
   */
  load(): Promise<void>
}

export function createIndexLoader(
  index: LoadedIndex,
  history: AdmissionHistory,
  readModel: KeyConfirmation,
  { clock, log }: { readonly clock: () => number; readonly log: Logger },
): IndexLoader {
  let loads = 0
  let isLoaded = false
  let pending: Promise<void> = Promise.resolve()
  let isPending = false
  let loadedAtMs = 0

  const confirmation: KeyConfirmation = {
    ask(key, fingerprint, answer) {
      if (isPending) void soon(pending).then(() => readModel.ask(key, fingerprint, answer))
      else readModel.ask(key, fingerprint, answer)
    },
  }
  const confirm = (key: KeyHash, fingerprint: Fingerprint): Promise<Confirmation> =>
    new Promise((resolve) => {
      confirmation.ask(key, fingerprint, (found, admittedAtMs, flags) => {
        if (found === 'same') index.keys.admit(key, fingerprint, flags, admittedAtMs)
        resolve(found)
      })
    })

  const load = (): Promise<void> => {
    const own = ++loads
    LOADS.inc()
    loadedAtMs = clock()
    isLoaded = false
    isPending = true
    pending = untilAvailable('the log', () => loadPending(history, index), log).then(() => {
      if (own === loads) isPending = false
    })
    void pending
      .then(() => untilAvailable('the admission history', () => loadRecorded(history, index, clock()), log))
      .then(() => {
        if (own !== loads) return
        isLoaded = true
        log.info({ keys: index.keys.exactKeys, events: index.events.exactKeys }, 'admission index loaded')
      })
    return pending
  }

  return {
    isLoaded: () => isLoaded,
    confirmation,
    confirm,
    load,

    async recheck(key, fingerprint) {
      if (clock() - loadedAtMs > RELOAD_AFTER_MS) void load()
      await soon(pending)
      const verdict = index.keys.lookup(key, fingerprint, clock())
      return verdict === 'same' || verdict === 'conflict' ? verdict : confirm(key, fingerprint)
    },
  }
}

/** Adds the keys and events that only the log holds. */
async function loadPending(history: AdmissionHistory, { keys, events }: LoadedIndex): Promise<void> {
  for await (const { id, key, receivedAtMs } of history.pending()) {
    if (key !== undefined) keys.admit(wordsOf(key.hash), wordsOf(key.fingerprint), key.flags, receivedAtMs)
    events.set(eventKeyOf(id), NO_FINGERPRINT, STORED, receivedAtMs)
  }
}

/** Adds the keys and events that the read model holds. */
async function loadRecorded(history: AdmissionHistory, index: LoadedIndex, nowMs: number): Promise<void> {
  let loaded = 0
  for await (const { hash, fingerprint, flags, admittedAtMs } of history.keysSince(nowMs - KEY_WINDOW_MS)) {
    index.keys.admit(wordsOf(hash), wordsOf(fingerprint), flags, admittedAtMs)
    if (++loaded % YIELD_EVERY_ROWS === 0) await nextTurn()
  }
  for await (const { id, validFromMs } of history.eventsSince(nowMs - EVENT_WINDOW_MS)) {
    index.events.set(eventKeyOf(id), NO_FINGERPRINT, STORED, validFromMs)
    if (++loaded % YIELD_EVERY_ROWS === 0) await nextTurn()
  }
}

/** Four or two words, low byte first. */
const wordsOf = (bytes: Uint8Array): Int32Array => new Int32Array(Uint8Array.from(bytes).buffer)

function eventKeyOf(id: Uint8Array): KeyHash {
  const key: KeyHash = new Int32Array(4)
  hashOfInvocationId(id, key)
  return key
}

/** An unavailable broker must not hold up a request; keys that only the log holds are then unknown. */
const PATIENCE_MS = 500

const soon = (work: Promise<void>): Promise<void> =>
  new Promise((resolve) => {
    const timer = setTimeout(resolve, PATIENCE_MS)
    void work.finally(() => {
      clearTimeout(timer)
      resolve()
    })
  })

const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))
