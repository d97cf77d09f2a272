import type { AdmissionIndex } from '../../admission/admission-index.js'
import { hashOfInvocationId } from '../../admission/key-hash.js'
import type { Fingerprint, KeyHash } from '../../admission/key-table.js'
import type { AdmittedInvocation } from '../../invocations/group.js'

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
  readonly admittedAtMs: number
}

export interface LoadedIndex {
  readonly keys: AdmissionIndex
  readonly events: AdmissionIndex
}

export const KEY_WINDOW_MS = 24 * 60 * 60 * 1000
export const EVENT_WINDOW_MS = 7 * 24 * 60 * 60 * 1000

/** Rows taken in before others have their turn. */
const SLICE = 2_000
const NO_FINGERPRINT: Fingerprint = new Int32Array(2)

/**
 * Brings what only the log knows into the index. To be done before the first request is taken: neither the index nor
 * the read model would know these keys.
 */
export async function loadPending(history: AdmissionHistory, { keys, events }: LoadedIndex): Promise<void> {
  for await (const { id, key, receivedAtMs } of history.pending()) {
    if (key !== undefined) keys.admit(wordsOf(key.hash), wordsOf(key.fingerprint), 0, receivedAtMs)
    events.admit(eventKeyOf(id), NO_FINGERPRINT, 0, receivedAtMs)
  }
}

/** Brings what the read model knows into the index. Until it has, each new key is asked for there. */
export async function loadRecorded(history: AdmissionHistory, index: LoadedIndex, nowMs: number): Promise<void> {
  let taken = 0
  for await (const { hash, fingerprint, admittedAtMs } of history.keysSince(nowMs - KEY_WINDOW_MS)) {
    index.keys.admit(wordsOf(hash), wordsOf(fingerprint), 0, admittedAtMs)
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

const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))
