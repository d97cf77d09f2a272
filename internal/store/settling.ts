import { setTimeout as sleep } from 'node:timers/promises'
import type { ClickHouseClient } from '@clickhouse/client'
import type { Logger } from '../telemetry/log.js'
import { copiedInstants } from './copied-instants.js'
import { storedRows } from './stored-rows.js'
import { SELECT_VALUES } from './tables/attribution-values.js'
import type { SettlingState } from './tables/settling.js'
import { COPIED_COLUMNS, RECORD_TABLES, SORTED_COPIES, type SortedCopy } from './tables/sorted-copies.js'

/**
 * Copies records into the sorted copies, range by range of `valid_from`. An insert of new records writes `attributions`
 * and the rollups only: with ten sorted copies in it, it would cost the engine four times as much, however few its
 * rows. A page reads the records of settled ranges from a sorted copy and the newest from `attributions`
 * (`list-records.ts`).
 *
 * A range is settled once no record can be added to it (`broker/watermark.ts`). Records in it still change: people are
 * erased, and old records are deleted. Both change `attributions` first. So after a range has been copied, both tables
 * are compared, and differences are repaired; what changes later is changed in the copies, too. An erasure that
 * runs during the comparison may still leave a difference, so a range is compared once more before the next one is
 * copied.
 *
 * Two processes may settle at once, if one was frozen while it owned this work. The plan of a range is inserted under a
 * token that its start determines, and so is its copy: both processes copy the same range, and the engine drops the
 * second.
 */

/** Limits memory: a copy is one block, and so one sorted part. */
const RANGE_ROWS_MAX = 250_000
/** More unsettled rows than this are settled at once: a page sorts them. */
const ROWS_WORTH_SETTLING = 50_000
/** Fewer rows wait for this long, since copying a few costs as much as copying thousands. */
const SETTLED_AFTER_MS = 60_000
const LOOK_EVERY_MS = 10_000

export interface SettlingDeps {
  readonly store: ClickHouseClient
  readonly isOwner: () => boolean
  /** The instant up to which the records are complete, milliseconds since the epoch. */
  readonly newestSnapshot: () => Promise<number>
  /** As long as it is the same, no record was stored. */
  readonly progress: () => number
  readonly log: Logger
}

/** Settles periodically until the signal aborts. Retries failures in the next round. */
export async function settleNowAndThen(deps: SettlingDeps, signal: AbortSignal): Promise<void> {
  const { store, isOwner, newestSnapshot, progress, log } = deps
  /** When nothing was left to settle. */
  let settledAt: number | undefined
  while (!signal.aborted) {
    await sleep(LOOK_EVERY_MS, undefined, { signal }).catch(() => undefined)
    if (signal.aborted || !isOwner() || settledAt === progress()) continue
    try {
      const progressBefore = progress()
      const beforeMs = (await newestSnapshot()) + 1
      const { count, oldestMs } = await unsettled(store, await endOfCopied(store), beforeMs)
      if (count >= ROWS_WORTH_SETTLING || (count > 0 && oldestMs < beforeMs - SETTLED_AFTER_MS)) {
        await settle(store, beforeMs, signal, isOwner)
      } else settledAt = count === 0 ? progressBefore : undefined
    } catch (cause) {
      if (!signal.aborted) log.warn({ err: cause }, 'could not copy records into the sorted tables; will retry')
    }
  }
}

/**
 * Settles all records that became valid before an instant. Safe to repeat, also after an interruption.
 *
 * @param beforeMs milliseconds since the epoch; no record that becomes valid before it may be inserted any more
 * @param isOwner false: stops before the next range
 * @param rowsMax of a range, except that rows of one instant stay together
 */
export async function settle(
  store: ClickHouseClient,
  beforeMs: number,
  signal: AbortSignal,
  isOwner: () => boolean = () => true,
  rowsMax = RANGE_ROWS_MAX,
): Promise<void> {
  const goesOn = (): boolean => !signal.aborted && isOwner()
  for (;;) {
    const last = await newest(store, 'settled')
    const { fromMs } = await copiedInstants(store)
    const range = await planRange(store, Math.max(last?.toMs ?? 0, fromMs), beforeMs, rowsMax)
    if (range === undefined) return
    // Months that were dropped from the copies are not compared.
    const compared = last !== undefined && { fromMs: Math.max(last.fromMs, fromMs), toMs: last.toMs }
    if (compared && compared.fromMs < compared.toMs && !(await copyRange(store, compared, goesOn))) return
    if (!(await copyRange(store, range, goesOn))) return
    await fillValues(store, range)
    await record(store, 'settled', range)
  }
}

/** Where the next range begins: after what is copied, and after what the copies no longer hold. */
async function endOfCopied(store: ClickHouseClient): Promise<number> {
  const { fromMs, beforeMs } = await copiedInstants(store)
  return Math.max(fromMs, beforeMs)
}

/** Instants of `valid_from`, milliseconds since the epoch: from the first, before the second. */
interface Range {
  readonly fromMs: number
  readonly toMs: number
}

const IN_RANGE =
  'valid_from >= fromUnixTimestamp64Milli({from:Int64}) AND valid_from < fromUnixTimestamp64Milli({to:Int64})'
const rangeParams = ({ fromMs, toMs }: Range) => ({ from: fromMs, to: toMs })

async function unsettled(
  store: ClickHouseClient,
  fromMs: number,
  toMs: number,
): Promise<{ readonly count: number; readonly oldestMs: number }> {
  const [found] = await storedRows<{ count: string; oldest: string }>(
    store,
    `SELECT count() AS count, toUnixTimestamp64Milli(min(valid_from)) AS oldest FROM attributions WHERE ${IN_RANGE}`,
    rangeParams({ fromMs, toMs }),
  )
  return { count: Number(found?.count ?? 0), oldestMs: Number(found?.oldest ?? 0) }
}

/** The next range: planned but unsettled, or a new one. @returns undefined when there is nothing to settle */
async function planRange(
  store: ClickHouseClient,
  fromMs: number,
  beforeMs: number,
  rowsMax: number,
): Promise<Range | undefined> {
  if (fromMs >= beforeMs) return undefined
  const planned = await newest(store, 'planned')
  if (planned?.fromMs === fromMs) return planned
  const { count, oldestMs } = await unsettled(store, fromMs, beforeMs)
  if (count === 0) return undefined
  const toMs = count <= rowsMax ? beforeMs : await endOfFullRange(store, { fromMs, toMs: beforeMs }, oldestMs, rowsMax)
  await record(store, 'planned', { fromMs, toMs })
  return newest(store, 'planned')
}

async function newest(store: ClickHouseClient, state: SettlingState): Promise<Range | undefined> {
  const [found] = await storedRows<{ from: string; to: string }>(
    store,
    `SELECT toUnixTimestamp64Milli(starts_at) AS from, toUnixTimestamp64Milli(ends_at) AS to FROM settling
     WHERE state = {state:String} ORDER BY ends_at DESC LIMIT 1`,
    { state },
  )
  return found === undefined ? undefined : { fromMs: Number(found.from), toMs: Number(found.to) }
}

/** Rows that became valid at the same instant, as those of one batch do, stay together. */
async function endOfFullRange(
  store: ClickHouseClient,
  range: Range,
  oldestMs: number,
  rowsMax: number,
): Promise<number> {
  const [found] = await storedRows<{ at: string }>(
    store,
    `SELECT toUnixTimestamp64Milli(valid_from) AS at FROM attributions WHERE ${IN_RANGE}
     ORDER BY valid_from LIMIT 1 OFFSET {rows:UInt32}`,
    { ...rangeParams(range), rows: rowsMax },
  )
  return Math.max(Number(found?.at ?? range.toMs), oldestMs + 1)
}

async function record(store: ClickHouseClient, state: SettlingState, { fromMs, toMs }: Range): Promise<void> {
  await store.command({
    query: `INSERT INTO settling SELECT {state:String}, fromUnixTimestamp64Milli({from:Int64}, 'UTC'),
            fromUnixTimestamp64Milli({to:Int64}, 'UTC')`,
    query_params: { state, ...rangeParams({ fromMs, toMs }) },
    clickhouse_settings: {
      insert_deduplicate: 1,
      deduplicate_insert_select: 'force_enable',
      insert_deduplication_token: `${state}.${fromMs}`,
    },
  })
}

/** A repair can be overtaken by an erasure; the next round goes on. */
const ATTEMPTS_MAX = 4

/** Makes the copies of a range equal to the records. @returns false if it was stopped */
async function copyRange(store: ClickHouseClient, range: Range, goesOn: () => boolean): Promise<boolean> {
  for (let attempt = 0; ; attempt++) {
    const differing = await differingCopies(store, range)
    const [first] = differing
    if (first === undefined) return true
    if (attempt > ATTEMPTS_MAX) throw new Error(`${first.copy.table} differs from the records after ${attempt} repairs`)
    for (const { copy, isEmpty } of differing) {
      if (!goesOn()) return false
      // The engine drops a copy whose token was used before.
      await (isEmpty && attempt === 0 ? fill(store, copy, range) : repair(store, copy, range))
    }
  }
}

/** A version of a record, and what erasure changes in it. */
const VERSION = '(id, valid_from, owner, dimensions)'

async function differingCopies(
  store: ClickHouseClient,
  range: Range,
): Promise<readonly { readonly copy: SortedCopy; readonly isEmpty: boolean }[]> {
  const digests = RECORD_TABLES.map(
    (table) => `SELECT '${table}' AS table, toString(count()) AS count, toString(sum(cityHash64${VERSION})) AS sum
                FROM ${table} WHERE ${IN_RANGE}`,
  )
  const found = await storedRows<{ table: string; count: string; sum: string }>(
    store,
    digests.join(' UNION ALL '),
    rangeParams(range),
  )
  const digestOf = new Map(found.map(({ table, ...digest }) => [table, digest]))
  const base = digestOf.get('attributions')
  return SORTED_COPIES.flatMap((copy) => {
    const digest = digestOf.get(copy.table)
    if (digest?.count === base?.count && digest?.sum === base?.sum) return []
    return [{ copy, isEmpty: digest?.count === '0' }]
  })
}

/** One block, hence one atomic part per month. */
const ONE_BLOCK = {
  max_threads: 1,
  max_insert_threads: '1',
  min_insert_block_size_rows: String(4 * 1024 ** 2),
  min_insert_block_size_bytes: '0',
  max_insert_block_size: String(4 * 1024 ** 2),
  // Pages have priority.
  os_threads_nice_value_query: 10,
  max_execution_time: 600,
  wait_end_of_query: 1,
} as const

async function fill(store: ClickHouseClient, { table }: SortedCopy, range: Range): Promise<void> {
  await store.command({
    query: `INSERT INTO ${table} (${COPIED_COLUMNS}) SELECT ${COPIED_COLUMNS} FROM attributions WHERE ${IN_RANGE}`,
    query_params: rangeParams(range),
    clickhouse_settings: {
      ...ONE_BLOCK,
      insert_deduplicate: 1,
      deduplicate_insert_select: 'force_enable',
      insert_deduplication_token: `${table}.${range.fromMs}.${range.toMs}`,
    },
  })
}

/** The records' writers have done so, except for a value that was deleted and came back (`known-values.ts`). */
async function fillValues(store: ClickHouseClient, range: Range): Promise<void> {
  await store.command({
    query: `INSERT INTO attribution_values (tenant_id, field, value) ${SELECT_VALUES} WHERE ${IN_RANGE}`,
    query_params: rangeParams(range),
    clickhouse_settings: { ...ONE_BLOCK, deduplicate_insert_select: 'disable' },
  })
}

/** Deletes what the copy should not have, adds what is missing, and removes duplicates. */
async function repair(store: ClickHouseClient, { table, key }: SortedCopy, range: Range): Promise<void> {
  const query_params = rangeParams(range)
  const versionsOf = (from: string) => `(SELECT ${VERSION} FROM ${from} WHERE ${IN_RANGE})`
  await store.command({
    query: `DELETE FROM ${table} WHERE ${IN_RANGE} AND ${VERSION} NOT IN ${versionsOf('attributions')}`,
    query_params,
    clickhouse_settings: {
      max_execution_time: 600,
      lightweight_deletes_sync: '2',
      mutations_execute_subqueries_on_initiator: 1,
      mutations_max_literal_size_to_replace: '100000000',
    },
  })
  await store.command({
    query: `INSERT INTO ${table} (${COPIED_COLUMNS}) SELECT ${COPIED_COLUMNS} FROM attributions
            WHERE ${IN_RANGE} AND ${VERSION} NOT IN ${versionsOf(table)}`,
    query_params,
    // What is inserted again was deleted in between.
    clickhouse_settings: { ...ONE_BLOCK, deduplicate_insert_select: 'disable' },
  })
  const [found] = await storedRows<{ doubles: string; partitions: string[] }>(
    store,
    `SELECT count() - uniqExact(id, valid_from) AS doubles, groupUniqArray(_partition_id) AS partitions
     FROM ${table} WHERE ${IN_RANGE}`,
    query_params,
  )
  if (found === undefined || found.doubles === '0') return
  const columns = [...new Set(['tenant_id', ...key, 'id', 'valid_from'])].join(', ')
  for (const partition of found.partitions) {
    // Does nothing while parts of the partition are being merged; the comparison then finds the difference.
    await store.command({
      query: `OPTIMIZE TABLE ${table} PARTITION ID '${partition}' FINAL DEDUPLICATE BY ${columns}`,
      clickhouse_settings: { max_execution_time: 600 },
    })
  }
}
