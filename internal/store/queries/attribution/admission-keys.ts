import type { ClickHouseClient } from '@clickhouse/client'
import type { Slots } from '../../../ids/owner-slots.js'
import { KEY_FINGERPRINT_BYTES, KEY_HASH_BYTES } from '../../../invocations/invocation-group.js'
import { type RowBlock, readUint64, streamFixedBlocks } from '../../fixed-rows.js'
import { idPortions } from '../../id-portions.js'
import { ADMISSION_KEYS, type AdmissionKeyRow } from '../../tables/admission-keys.js'
import { inSlots } from '../owner-slots.js'

const ROW_BYTES = KEY_HASH_BYTES + KEY_FINGERPRINT_BYTES + 1 + 8

/** A key that was admitted, as words, low byte first. */
export interface RecordedKey {
  readonly hash: Int32Array
  readonly fingerprint: Int32Array
  flags: number
  admittedAtMs: number
}

/**
 * Every key of these slots that was admitted since an instant, in any order, as they come. A key comes once for each
 * event that was admitted under it.
 */
export function admissionKeysSince(
  store: ClickHouseClient,
  slots: Slots,
  sinceMs: number,
): AsyncGenerator<RowBlock<RecordedKey>> {
  const { sql, params } = inSlots('key_hash', slots)
  const query = `SELECT key_hash, fingerprint, flags, admitted_at FROM ${ADMISSION_KEYS.name}
    WHERE admitted_at >= fromUnixTimestamp64Milli({since:Int64}) AND ${sql}`
  return streamFixedBlocks(store, query, { ...params, since: sinceMs }, ROW_BYTES, readRow)
}

function readRow(bytes: Buffer, at: number, into: RecordedKey): void {
  const { hash, fingerprint } = into
  const fingerprintAt = at + KEY_HASH_BYTES
  const flagsAt = fingerprintAt + KEY_FINGERPRINT_BYTES
  for (let i = 0; i < hash.length; i++) hash[i] = bytes.readInt32LE(at + 4 * i)
  for (let i = 0; i < fingerprint.length; i++) fingerprint[i] = bytes.readInt32LE(fingerprintAt + 4 * i)
  into.flags = bytes.readUInt8(flagsAt)
  into.admittedAtMs = readUint64(bytes, flagsAt + 1)
}

export type FirstAdmission = Omit<AdmissionKeyRow, 'hash'>

/**
 * Which of the keys were admitted since an instant, each with its earliest admission. Found by the primary key.
 *
 * @param hashes 16 bytes each
 * @returns by lower-case hex of the hash; a key that was not admitted is not there
 */
export async function findAdmissionKeys(
  store: ClickHouseClient,
  hashes: readonly Uint8Array[],
  sinceMs: number,
): Promise<Map<string, FirstAdmission>> {
  const found = new Map<string, FirstAdmission>()
  for (const portion of idPortions(hashes)) {
    const asked = portion.map((hash) => Buffer.from(hash.buffer, hash.byteOffset, hash.length).toString('hex'))
    const result = await store.query({
      query: `SELECT lower(hex(key_hash)), hex(argMin(fingerprint, (admitted_at, fingerprint))),
                     argMin(flags, (admitted_at, fingerprint)),
                     toUnixTimestamp64Milli(min(admitted_at))
              FROM ${ADMISSION_KEYS.name}
              WHERE key_hash IN (
                SELECT CAST(unhex(arrayJoin({hashes:Array(String)})) AS FixedString(${KEY_HASH_BYTES})))
                AND admitted_at >= fromUnixTimestamp64Milli({since:Int64})
              GROUP BY key_hash`,
      query_params: { hashes: asked, since: sinceMs },
      format: 'JSONCompactEachRow',
    })
    for (const [hash, fingerprint, flags, admittedAtMs] of await result.json<[string, string, number, string]>()) {
      found.set(hash, { fingerprint: Buffer.from(fingerprint, 'hex'), flags, admittedAtMs: Number(admittedAtMs) })
    }
  }
  return found
}
