import type { ClickHouseClient } from '@clickhouse/client'
import { hasRows } from './stored-rows.js'
import { VALUES_OF_TAGS } from './tables/attribution-values.js'
import { RECORD_TABLES } from './tables/sorted-copies.js'

/**
 * Deletes a tenant's calls before an instant: records and their sorted copies, closed versions, and rollups, so that
 * reports stay equal to the records. Safe to repeat; the next run completes an interrupted deletion.
 *
 * Queries stop seeing deleted rows at once; later merges free the disk.
 *
 * @param beforeMs milliseconds since the epoch, on the quarter of an hour
 * @returns whether there was anything to delete
 */
export async function deleteCallsBefore(store: ClickHouseClient, tenantId: string, beforeMs: number): Promise<boolean> {
  const query_params = { tenant: tenantId, before: beforeMs }
  let hasDeleted = false
  for (const [table, column] of TABLES) {
    const where = `tenant_id = {tenant:String} AND ${column} < fromUnixTimestamp64Milli({before:Int64})`
    if (!(await hasRows(store, `SELECT 1 FROM ${table} WHERE ${where} LIMIT 1`, query_params))) continue
    await store.command({ query: `DELETE FROM ${table} WHERE ${where}`, query_params, clickhouse_settings: LIMITS })
    hasDeleted = true
  }
  if (hasDeleted) await store.command({ query: FORGET_TAG_VALUES, query_params, clickhouse_settings: LIMITS })
  return hasDeleted
}

/**
 * Values of declared tags that no record has any more do not count against the limit of distinct values. One that a new
 * record states in this very moment is added again when that record is settled (`settling.ts`).
 */
const FORGET_TAG_VALUES = `DELETE FROM attribution_values
  WHERE tenant_id = {tenant:String} AND field = '${VALUES_OF_TAGS}' AND value NOT IN (
    SELECT DISTINCT arrayJoin(dimensions) FROM attributions WHERE tenant_id = {tenant:String})`

/**
 * The order matters: the base before its copies (`settling.ts`), and `closed` after all of them, because its entry
 * hides a closed version for as long as any table still holds it.
 */
const TABLES = [
  ['usage_15m', 'bucket'],
  ...RECORD_TABLES.map((table) => [table, 'event_time'] as const),
  ['closed', 'event_time'],
  // After `closed`, from which compaction moves entries here.
  ['closed_history', 'event_time'],
] as const

/** A deletion may wait for merges. */
const LIMITS = { max_execution_time: 600, lightweight_deletes_sync: '2' } as const
