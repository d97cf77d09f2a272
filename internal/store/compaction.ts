import { setTimeout as sleep } from 'node:timers/promises'
import type { ClickHouseClient } from '@clickhouse/client'
import type { Logger } from '../telemetry/log.js'
import { SNAPSHOT_AGE_MS_MAX } from './snapshot.js'
import { RECORD_TABLES } from './tables/sorted-copies.js'

/**
 * Every read of a tenant leaves out what is in `closed`: some ten thousand entries cost it nothing, millions do
 * (`reattribution-in-slices.md`). People close few versions; a job that attributes a window again closes as many as it has
 * records. So versions that such a job, or a trace, has replaced are removed from the tables of records when nobody can
 * read as of then any more, and their entries move to `closed_history`, where a record's history finds them. What people
 * have decided stays: undone, a record is again what it was.
 */

/** An hour more than a snapshot is read: for a page or an export that is under way. */
export const COMPACTED_AFTER_MS = SNAPSHOT_AGE_MS_MAX + 60 * 60 * 1000
/** Fewer entries of a tenant are left where they are. */
const ENTRIES_MIN = 5_000
/** More are not held in memory: a set of so many takes 200 MB. */
const ENTRIES_AT_ONCE = 2_000_000
const LOOK_EVERY_MS = 10 * 60 * 1000

export interface CompactionDeps {
  readonly store: ClickHouseClient
  readonly isOwner: () => boolean
  /** The newest snapshot that anybody reads as of: behind the clock while a batch is open. */
  readonly newestSnapshot: () => Promise<number>
  readonly log: Logger
}

/** Compacts now and then, until the signal aborts. What fails is tried again in the next round. */
export async function compactNowAndThen(deps: CompactionDeps, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await sleep(LOOK_EVERY_MS, undefined, { signal }).catch(() => undefined)
    if (signal.aborted || !deps.isOwner()) continue
    try {
      const tenants = await compact(deps.store, (await deps.newestSnapshot()) - COMPACTED_AFTER_MS, ENTRIES_MIN)
      if (tenants.length > 0) deps.log.info({ tenants }, 'removed versions of records that were replaced')
    } catch (cause) {
      deps.log.warn({ err: cause }, 'versions that were replaced are not removed yet')
    }
  }
}

/**
 * One round. Each step is safe to repeat, and whoever reads between two of them sees the same.
 *
 * @param closedBeforeMs entries that are older
 * @param entriesMin of a tenant
 * @param entriesAtOnce about so many at a time, the oldest first
 * @returns the tenants whose versions were removed
 */
export async function compact(
  store: ClickHouseClient,
  closedBeforeMs: number,
  entriesMin: number,
  entriesAtOnce = ENTRIES_AT_ONCE,
): Promise<readonly string[]> {
  const result = await store.query({
    query: `SELECT tenant_id FROM closed
            WHERE ${IS_REPLACED} AND closed_at < fromUnixTimestamp64Milli({before:Int64})
            GROUP BY tenant_id HAVING count() >= {least:UInt32}`,
    query_params: { before: closedBeforeMs, least: entriesMin },
    format: 'JSONCompactEachRow',
  })
  const tenants = (await result.json<[string]>()).map(([tenantId]) => tenantId)
  for (const tenantId of tenants) {
    for (;;) {
      const span = await oldestEntries(store, tenantId, closedBeforeMs, entriesAtOnce)
      if (span === undefined) break
      await compactSpan(store, { tenant: tenantId, ...span })
    }
  }
  return tenants
}

const IS_REPLACED = "change IN ('reattribution', 'revaluation', 'correction')"
const IN_SPAN =
  'closed_at >= fromUnixTimestamp64Milli({first:Int64}) AND closed_at <= fromUnixTimestamp64Milli({last:Int64})'

/** When the oldest entries of a tenant were made, milliseconds since the epoch, both in it; undefined where there are none. */
async function oldestEntries(
  store: ClickHouseClient,
  tenantId: string,
  beforeMs: number,
  entriesMax: number,
): Promise<{ readonly first: string; readonly last: string } | undefined> {
  const result = await store.query({
    query: `SELECT toUnixTimestamp64Milli(min(closed_at)) AS first, toUnixTimestamp64Milli(max(closed_at)) AS last FROM (
              SELECT closed_at FROM closed
              WHERE tenant_id = {tenant:String} AND ${IS_REPLACED}
                AND closed_at < fromUnixTimestamp64Milli({before:Int64})
              ORDER BY closed_at LIMIT {entries:UInt32})
            HAVING count() > 0`,
    query_params: { tenant: tenantId, before: beforeMs, entries: entriesMax },
    format: 'JSONEachRow',
  })
  return (await result.json<{ first: string; last: string }>())[0]
}

async function compactSpan(
  store: ClickHouseClient,
  query_params: { readonly tenant: string; readonly first: string; readonly last: string },
): Promise<void> {
  const run = (query: string): Promise<unknown> => store.command({ query, query_params })
  const ofSpan = `tenant_id = {tenant:String} AND ${IS_REPLACED} AND ${IN_SPAN}`
  await run(`INSERT INTO closed_history SELECT * FROM closed WHERE ${ofSpan} AND (id, valid_from) NOT IN (
               SELECT id, valid_from FROM closed_history WHERE tenant_id = {tenant:String} AND ${IN_SPAN})`)
  for (const table of RECORD_TABLES) {
    await run(`DELETE FROM ${table} WHERE tenant_id = {tenant:String}
                 AND (id, valid_from) IN (SELECT id, valid_from FROM closed WHERE ${ofSpan})`)
  }
  // Last: while a version is in any table, its entry keeps it out of what is read.
  await run(`DELETE FROM closed WHERE ${ofSpan}`)
}
