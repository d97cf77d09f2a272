import type { ClickHouseClient } from '@clickhouse/client'
import { OF_ID, OF_ID_AS_OF_SNAPSHOT, snapshotParams } from '../../snapshot.js'
import { ATTRIBUTIONS } from '../../tables/attributions.js'
import { absorberOf, MERGES_IN_A_ROW_MAX } from '../../tables/closed.js'

/**
 * The record that counts the call of another one, whose last version a merge closed.
 *
 * @param idHex of a record without a valid version as of the snapshot
 * @returns its hex id; undefined if the record was not merged
 */
export async function mergedInto(
  store: ClickHouseClient,
  tenantId: string,
  idHex: string,
  snapshotMs: number,
  signal: AbortSignal,
): Promise<string | undefined> {
  let id = idHex
  for (let i = 0; i < MERGES_IN_A_ROW_MAX; i++) {
    const next = await lastMergeOf(store, tenantId, id, snapshotMs, signal)
    if (next === undefined) return undefined
    if (next.isValid) return next.id
    id = next.id
  }
  return undefined
}

async function lastMergeOf(
  store: ClickHouseClient,
  tenantId: string,
  idHex: string,
  snapshotMs: number,
  abort_signal: AbortSignal,
): Promise<{ readonly id: string; readonly isValid: boolean } | undefined> {
  const ask = async <T>(query: string, id: string): Promise<T[]> => {
    const query_params = { ...snapshotParams(tenantId, snapshotMs), id }
    return (await store.query({ query, query_params, format: 'JSONCompactEachRow', abort_signal })).json<T>()
  }
  const [closing] = await ask<[string]>(
    `SELECT change_id FROM (SELECT * FROM closed UNION ALL SELECT * FROM closed_history)
     WHERE tenant_id = {tenant:String} AND ${OF_ID} AND closed_at <= fromUnixTimestamp64Milli({snapshot:Int64})
     ORDER BY closed_at DESC LIMIT 1`,
    idHex,
  )
  const id = closing === undefined ? undefined : absorberOf(idHex, closing[0])
  if (id === undefined) return undefined
  const valid = await ask<[number]>(
    `SELECT 1 FROM ${ATTRIBUTIONS.name} WHERE tenant_id = {tenant:String} AND ${OF_ID_AS_OF_SNAPSHOT} LIMIT 1`,
    id,
  )
  return { id, isValid: valid.length > 0 }
}
