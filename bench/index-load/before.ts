import type { ClickHouseClient } from '@clickhouse/client'
import { hashOfInvocationId, type KeyHash } from '../../internal/ids/key-hash.js'
import { STORED } from '../../internal/ingest/keys/event-answers.js'
import { EVENT_WINDOW_MS, KEY_WINDOW_MS, type LoadedIndex } from '../../internal/ingest/keys/load-index.js'
import { readUint64, streamFixedRows } from '../../internal/store/fixed-rows.js'

const YIELD_EVERY_ROWS = 2_000
const NO_FINGERPRINT = new Int32Array(2)

/**
 * How a gateway loaded its index before gateways had shares of it: everything, sorted by time, an object per row. Kept
 * here to be compared with, as it was on 2026-11-27.
 */
export async function loadAsBefore(
  store: ClickHouseClient,
  { keys, events }: LoadedIndex,
  nowMs: number,
): Promise<void> {
  let loaded = 0
  const keysQuery = `SELECT key_hash, fingerprint, flags, admitted_at FROM admission_keys
    WHERE admitted_at >= fromUnixTimestamp64Milli({since:Int64}) ORDER BY admitted_at`
  const keyRows = streamFixedRows(store, keysQuery, { since: nowMs - KEY_WINDOW_MS }, 33, (bytes, at) => ({
    hash: bytes.subarray(at, at + 16),
    fingerprint: bytes.subarray(at + 16, at + 24),
    flags: bytes.readUInt8(at + 24),
    admittedAtMs: readUint64(bytes, at + 25),
  }))
  for await (const { hash, fingerprint, flags, admittedAtMs } of keyRows) {
    keys.admit(wordsOf(hash), wordsOf(fingerprint), flags, admittedAtMs)
    if (++loaded % YIELD_EVERY_ROWS === 0) await nextTurn()
  }
  const since = 'valid_from >= fromUnixTimestamp64Milli({since:Int64})'
  const eventsQuery = `SELECT * FROM (SELECT id, valid_from FROM attributions WHERE ${since}
    UNION ALL SELECT id, valid_from FROM closed_history
      WHERE change = 'merge' AND endsWith(change_id, lower(hex(id))) AND ${since}) ORDER BY valid_from`
  const eventRows = streamFixedRows(store, eventsQuery, { since: nowMs - EVENT_WINDOW_MS }, 24, (bytes, at) => ({
    id: bytes.subarray(at, at + 16),
    validFromMs: readUint64(bytes, at + 16),
  }))
  for await (const { id, validFromMs } of eventRows) {
    const key: KeyHash = new Int32Array(4)
    hashOfInvocationId(id, key)
    events.set(key, NO_FINGERPRINT, STORED, validFromMs)
    if (++loaded % YIELD_EVERY_ROWS === 0) await nextTurn()
  }
}

const wordsOf = (bytes: Uint8Array): Int32Array => new Int32Array(Uint8Array.from(bytes).buffer)
const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))
