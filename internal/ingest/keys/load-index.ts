import type { KeyHash } from '../../ids/key-hash.js'
import { hashOfInvocationId } from '../../ids/key-hash.js'
import type { AdmittedInvocation } from '../../invocations/group.js'
import { untilAvailable } from '../../process/main.js'
import type { Logger } from '../../telemetry/log.js'
import type { AdmissionIndex } from './admission-index.js'
import type { Confirmation, KeyConfirmation } from './key-confirmation.js'
import type { Fingerprint } from './key-table.js'

/** What was admitted before this process, and where it is found. */
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

/** A peer that has fallen silent has admitted nothing since: what was loaded after that holds all of it. */
const RELOAD_AFTER_MS = 1_000

/** Rows taken in before others have their turn. */
const SLICE = 2_000
const NO_FINGERPRINT: Fingerprint = new Int32Array(2)

export interface IndexLoader {
  /** Whether the index holds what was admitted elsewhere and before; until then each new key is to be confirmed. */
  isLoaded(): boolean
  readonly confirmation: KeyConfirmation
  confirm(key: KeyHash, fingerprint: Fingerprint): Promise<Confirmation>
  /** The same when a key's owner does not answer: what it may have admitted is looked for in log and read model. */
  recheck(key: KeyHash, fingerprint: Fingerprint): Promise<Confirmation>
  /**
   * Loads the history, on start and when a peer has gone. Resolves when what only the log knows is in: until then the
   * first request must wait, since nobody could say whether its key is new. The read model's part follows behind.
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
        log.info({ keys: index.keys.exactKeys, events: index.events.exactKeys }, 'the admission index is loaded')
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

/** Brings what only the log knows into the index. */
async function loadPending(history: AdmissionHistory, { keys, events }: LoadedIndex): Promise<void> {
  for await (const { id, key, receivedAtMs } of history.pending()) {
    if (key !== undefined) keys.admit(wordsOf(key.hash), wordsOf(key.fingerprint), key.flags, receivedAtMs)
    events.admit(eventKeyOf(id), NO_FINGERPRINT, 0, receivedAtMs)
  }
}

/** Brings what the read model knows into the index. */
async function loadRecorded(history: AdmissionHistory, index: LoadedIndex, nowMs: number): Promise<void> {
  let taken = 0
  for await (const { hash, fingerprint, flags, admittedAtMs } of history.keysSince(nowMs - KEY_WINDOW_MS)) {
    index.keys.admit(wordsOf(hash), wordsOf(fingerprint), flags, admittedAtMs)
    if (++taken % SLICE === 0) await nextTurn()
  }
  for await (const { id, validFromMs } of history.eventsSince(nowMs - EVENT_WINDOW_MS)) {
    index.events.admit(eventKeyOf(id), NO_FINGERPRINT, 0, validFromMs)
    if (++taken % SLICE === 0) await nextTurn()
  }
}

/** Four or two words, low byte first. */
const wordsOf = (bytes: Uint8Array): Int32Array => new Int32Array(Uint8Array.from(bytes).buffer)

function eventKeyOf(id: Uint8Array): KeyHash {
  const key: KeyHash = new Int32Array(4)
  hashOfInvocationId(id, key)
  return key
}

/** A broker that is away must not hold a request: what only the log knows is then not known. */
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
