import type { RowBinaryWriter } from '../row-binary.js'

/** An Idempotency-Key under which an event was admitted, for as long as a replay of it must be recognised. */
export interface AdmissionKeyRow {
  /** 16 bytes: keyed hash of tenant and key. */
  readonly keyHash: Uint8Array
  /** 8 bytes: keyed hash of the request's body. */
  readonly fingerprint: Uint8Array
  readonly admittedAtMs: number
}

export const ADMISSION_KEYS = 'admission_keys'

/** Hours are dropped whole, a day after they ended. */
export const CREATE_ADMISSION_KEYS = `
CREATE TABLE IF NOT EXISTS ${ADMISSION_KEYS} (
  key_hash FixedString(16),
  fingerprint FixedString(8),
  admitted_at DateTime64(3, 'UTC')
)
ENGINE = MergeTree
PARTITION BY toStartOfInterval(admitted_at, INTERVAL 6 HOUR)
ORDER BY key_hash
TTL toDateTime(admitted_at) + INTERVAL 25 HOUR
SETTINGS non_replicated_deduplication_window = 10000, ttl_only_drop_parts = 1`

export const ADMISSION_KEY_COLUMNS = ['key_hash', 'fingerprint', 'admitted_at'] as const

export function writeAdmissionKey(to: RowBinaryWriter, row: AdmissionKeyRow): void {
  to.fixed(row.keyHash)
  to.fixed(row.fingerprint)
  to.dateTime64(row.admittedAtMs)
}
