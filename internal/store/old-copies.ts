import { setTimeout as sleep } from 'node:timers/promises'
import type { ClickHouseClient } from '@clickhouse/client'
import type { Logger } from '../telemetry/log.js'
import { copiedInstants } from './copied-instants.js'
import { storedRows } from './stored-rows.js'
import { SORTED_COPIES } from './tables/sorted-copies.js'

/**
 * Drops old months from the sorted copies, which take several times the disk of the records themselves. Pages that may
 * show records of those months read them from `attributions` and sort them when asked (`list-records.ts`).
 *
 * First the instant before which the copies count as empty is recorded, and only at a later look the months before it
 * are dropped: by then every reader that could still ask for the newest instants has done so.
 */

/** Much longer than a reader goes on with the instants that it knows (`copied-instants.ts`), and a query takes. */
export const DROPPED_AFTER_MS = 10 * 60_000
const DAY_MS = 24 * 60 * 60 * 1000

export interface OldCopiesDeps {
  readonly store: ClickHouseClient
  /** The copies keep each month until its end is so long ago. */
  readonly days: number
  readonly isOwner: () => boolean
  readonly log: Logger
}

/** Drops periodically until the signal aborts. Retries failures in the next round. */
export async function dropNowAndThen(deps: OldCopiesDeps, signal: AbortSignal): Promise<void> {
  const look = lookForOldMonths(deps)
  while (!signal.aborted) {
    await sleep(DROPPED_AFTER_MS, undefined, { signal }).catch(() => undefined)
    if (signal.aborted) return
    await look(Date.now()).catch((cause: unknown) => {
      if (!signal.aborted) deps.log.warn({ err: cause }, 'could not drop old months of the sorted tables; will retry')
    })
  }
}

/** @returns a look: records the instant, and drops the months before the one that was recorded at the look before */
export function lookForOldMonths(deps: OldCopiesDeps): (nowMs: number) => Promise<void> {
  const { store, days, isOwner, log } = deps
  let seenMs = 0
  return async (nowMs) => {
    const droppedMs = seenMs
    seenMs = 0
    if (!isOwner()) return
    const { fromMs } = await copiedInstants(store)
    const dueMs = startOfMonth(nowMs - days * DAY_MS)
    if (dueMs > fromMs) await recordDropped(store, dueMs)
    seenMs = Math.max(fromMs, dueMs)
    for (const { table } of SORTED_COPIES) {
      for (const month of await monthsBefore(store, table, droppedMs)) {
        if (!isOwner()) return
        await dropMonth(store, table, month)
        log.info({ table, month }, 'dropped a month of a sorted table')
      }
    }
  }
}

const startOfMonth = (ms: number): number => {
  const date = new Date(ms)
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth())
}

/** From now on, pages read records that became valid before an instant from `attributions`. */
export const recordDropped = (store: ClickHouseClient, beforeMs: number): Promise<unknown> =>
  store.command({
    query: `INSERT INTO settling SELECT 'dropped', fromUnixTimestamp64Milli(0, 'UTC'),
            fromUnixTimestamp64Milli({before:Int64}, 'UTC')`,
    query_params: { before: beforeMs },
  })

/** @returns months as YYYYMM, which the table has rows of */
async function monthsBefore(store: ClickHouseClient, table: string, beforeMs: number): Promise<readonly string[]> {
  if (beforeMs === 0) return []
  const found = await storedRows<{ month: number }>(
    store,
    `SELECT DISTINCT toYYYYMM(valid_from) AS month FROM ${table}
     WHERE valid_from < fromUnixTimestamp64Milli({before:Int64}) ORDER BY month`,
    { before: beforeMs },
  )
  return found.map(({ month }) => String(month))
}

const dropMonth = (store: ClickHouseClient, table: string, month: string): Promise<unknown> =>
  store.command({
    query: `ALTER TABLE ${table} DROP PARTITION ${month}`,
    // The engine's own limit is there for a person's mistakes.
    clickhouse_settings: { max_partition_size_to_drop: '0', max_execution_time: 600 },
  })
