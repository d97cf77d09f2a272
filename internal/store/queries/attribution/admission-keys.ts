import type { ClickHouseClient } from '@clickhouse/client'
import { KEY_HASH_BYTES } from '../../../invocations/invocation-group.js'
import { idPortions } from '../../id-portions.js'
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

/** Whether a key was admitted from `fromMs` on and before `toMs`. */
export async function hasAdmissionKeys(store: ClickHouseClient, fromMs: number, toMs: number): Promise<boolean> {
  const result = await store.query({
    query: `SELECT 1 FROM ${ADMISSION_KEYS.name}
            WHERE admitted_at >= fromUnixTimestamp64Milli({from:Int64})
              AND admitted_at < fromUnixTimestamp64Milli({to:Int64})
            LIMIT 1`,
    query_params: { from: fromMs, to: toMs },
    format: 'JSONCompactEachRow',
  })
  return (await result.json()).length > 0
}
