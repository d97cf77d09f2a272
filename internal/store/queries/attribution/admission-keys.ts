import type { ClickHouseClient } from '@clickhouse/client'
import { KEY_HASH_BYTES } from '../../../invocations/invocation-group.js'
import { idPortions } from '../../id-portions.js'
import { hasRows, storedRows } from '../../stored-rows.js'
import { ADMISSION_KEYS, type AdmissionKeyRow } from '../../tables/admission-keys.js'

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
    const rows = await storedRows<{ hash: string; first: string; bits: number; at: string }>(
      store,
      `SELECT lower(hex(key_hash)) AS hash, hex(argMin(fingerprint, (admitted_at, fingerprint))) AS first,
         argMin(flags, (admitted_at, fingerprint)) AS bits, toUnixTimestamp64Milli(min(admitted_at)) AS at
       FROM ${ADMISSION_KEYS.name}
       WHERE key_hash IN (
         SELECT CAST(unhex(arrayJoin({hashes:Array(String)})) AS FixedString(${KEY_HASH_BYTES})))
         AND admitted_at >= fromUnixTimestamp64Milli({since:Int64})
       GROUP BY key_hash`,
      { hashes: asked, since: sinceMs },
    )
    for (const { hash, first, bits, at } of rows) {
      found.set(hash, { fingerprint: Buffer.from(first, 'hex'), flags: bits, admittedAtMs: Number(at) })
    }
  }
  return found
}

/** Whether a key was admitted from `fromMs` on and before `toMs`. */
export const hasAdmissionKeys = (store: ClickHouseClient, fromMs: number, toMs: number): Promise<boolean> =>
  hasRows(
    store,
    `SELECT 1 FROM ${ADMISSION_KEYS.name} WHERE admitted_at >= fromUnixTimestamp64Milli({from:Int64})
       AND admitted_at < fromUnixTimestamp64Milli({to:Int64}) LIMIT 1`,
    { from: fromMs, to: toMs },
  )
