import type { ClickHouseClient } from '@clickhouse/client'
import { RECORD_TABLES } from './tables/sorted-copies.js'

/**
 * Deletes what is known of a tenant's calls that were made before an instant: records in all their orders, what closed
 * them, and the rollups, so that reports go on saying what the records say. Safe to repeat; a deletion that was broken
 * off is completed by the next one.
 *
 * Deleted rows are gone from every query at once, and from the disk with the merges that follow.
 *
 * @param beforeMs milliseconds since the epoch, on the quarter of an hour
 * @returns whether there was anything to delete
 */
export async function deleteCallsBefore(store: ClickHouseClient, tenantId: string, beforeMs: number): Promise<boolean> {
  const query_params = { tenant: tenantId, before: beforeMs }
  let hasDeleted = false
  for (const [table, column] of TABLES) {
    const where = `tenant_id = {tenant:String} AND ${column} < fromUnixTimestamp64Milli({before:Int64})`
    if (!(await holdsAny(store, table, where, query_params))) continue
    await store.command({ query: `DELETE FROM ${table} WHERE ${where}`, query_params, clickhouse_settings: LIMITS })
    hasDeleted = true
  }
  return hasDeleted
}

/**
 * In this order: the copies before what they are copies of; and `closed` after all of them, since while a version is in any
 * table its entry keeps it out of what is read.
 */
const TABLES = [
  ['usage_15m', 'bucket'],
  ...[...RECORD_TABLES].reverse().map((table) => [table, 'event_time'] as const),
  ['closed', 'event_time'],
  // Where compaction moves entries to, and so after it.
  ['closed_history', 'event_time'],
] as const

/** A deletion waits for its turn among merges. */
const LIMITS = { max_execution_time: 600, lightweight_deletes_sync: '2' } as const

async function holdsAny(
  store: ClickHouseClient,
  table: string,
  where: string,
  query_params: Record<string, unknown>,
): Promise<boolean> {
  const result = await store.query({
    query: `SELECT 1 FROM ${table} WHERE ${where} LIMIT 1`,
    query_params,
    format: 'JSONCompactEachRow',
  })
  return (await result.json()).length > 0
}
