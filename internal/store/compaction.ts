import { setTimeout as sleep } from 'node:timers/promises'
import type { ClickHouseClient } from '@clickhouse/client'
import type { Logger } from '../telemetry/log.js'
import { SNAPSHOT_AGE_MS_MAX } from './snapshot.js'
import { storedRows } from './stored-rows.js'
import { KEPT } from './tables/closed.js'
import { RECORD_TABLES } from './tables/sorted-copies.js'

/**
 * Every read of a tenant's records excludes the versions in `closed`. Ten thousand entries cost nothing, millions do
 * (`reattribution-in-slices.md`). People close few versions; a job that re-attributes a window closes one per record.
 * So versions that such a job, or a trace, replaced are removed from the record tables once no snapshot can include
 * them, and their entries move to `closed_history`, where the history of a record finds them. Versions closed by
 * people's decisions stay, because undoing the decision restores them; what a merge of two events of one call closed
 * cannot be restored afterwards.
 */

/** An hour longer than snapshots are readable, for pages and exports in progress. */
export const COMPACTED_AFTER_MS = SNAPSHOT_AGE_MS_MAX + 60 * 60 * 1000
/** A tenant with fewer entries is not compacted. */
const ENTRIES_MIN = 5_000
/** Limits memory: a set of this size takes 200 MB. */
const ENTRIES_AT_ONCE = 2_000_000
const LOOK_EVERY_MS = 10 * 60 * 1000

export interface CompactionDeps {
  readonly store: ClickHouseClient
  readonly isOwner: () => boolean
  /** The newest readable snapshot: behind the clock while a batch is open. */
  readonly newestSnapshot: () => Promise<number>
  readonly log: Logger
}

/** Compacts periodically until the signal aborts. Retries failures in the next round. */
export async function compactNowAndThen(deps: CompactionDeps, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await sleep(LOOK_EVERY_MS, undefined, { signal }).catch(() => undefined)
    if (signal.aborted || !deps.isOwner()) continue
    try {
      const tenants = await compact(deps.store, (await deps.newestSnapshot()) - COMPACTED_AFTER_MS, ENTRIES_MIN)
      if (tenants.length > 0) deps.log.info({ tenants }, 'removed replaced versions of records')
    } catch (cause) {
      deps.log.warn({ err: cause }, 'could not remove replaced versions of records; will retry')
    }
  }
}

/**
 * One round. Each step is safe to repeat, and reads between two steps see the same records.
 *
 * @param closedBeforeMs compacts older entries only
 * @param entriesMin per tenant; tenants with fewer are skipped
 * @param entriesAtOnce approximate entries per step, the oldest first
 * @returns the tenants whose versions were removed
 */
export async function compact(
  store: ClickHouseClient,
  closedBeforeMs: number,
  entriesMin: number,
  entriesAtOnce = ENTRIES_AT_ONCE,
): Promise<readonly string[]> {
  const found = await storedRows<{ tenant_id: string }>(
    store,
    `SELECT tenant_id FROM closed WHERE ${IS_REPLACED} AND closed_at < fromUnixTimestamp64Milli({before:Int64})
     GROUP BY tenant_id HAVING count() >= {least:UInt32}`,
    { before: closedBeforeMs, least: entriesMin },
  )
  const tenants = found.map((tenant) => tenant.tenant_id)
  for (const tenantId of tenants) {
    for (;;) {
      const span = await oldestEntries(store, tenantId, closedBeforeMs, entriesAtOnce)
      if (span === undefined) break
      await compactSpan(store, { tenant: tenantId, ...span })
    }
  }
  return tenants
}

/** The undo of a bulk override (its id ends so) is final: what it closed is never restored. */
const IS_REPLACED = `(change IN ('reattribution', 'revaluation', 'correction', 'merge', 'undo_merge', 'perhaps_twice')
  OR endsWith(change_id, '.undo')) AND NOT endsWith(change_id, '${KEPT}')`
const IN_SPAN =
  'closed_at >= fromUnixTimestamp64Milli({first:Int64}) AND closed_at <= fromUnixTimestamp64Milli({last:Int64})'

/** The time span of a tenant's oldest entries, milliseconds since the epoch, inclusive; undefined if there are none. */
async function oldestEntries(
  store: ClickHouseClient,
  tenantId: string,
  beforeMs: number,
  entriesMax: number,
): Promise<{ readonly first: string; readonly last: string } | undefined> {
  const [span] = await storedRows<{ first: string; last: string }>(
    store,
    `SELECT toUnixTimestamp64Milli(min(closed_at)) AS first, toUnixTimestamp64Milli(max(closed_at)) AS last
     FROM (
       SELECT closed_at FROM closed
       WHERE tenant_id = {tenant:String} AND ${IS_REPLACED} AND closed_at < fromUnixTimestamp64Milli({before:Int64})
       ORDER BY closed_at LIMIT {entries:UInt32})
     HAVING count() > 0`,
    { tenant: tenantId, before: beforeMs, entries: entriesMax },
  )
  return span
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
  // Last: the entry hides the version for as long as any table still holds it.
  await run(`DELETE FROM closed WHERE ${ofSpan}`)
}
