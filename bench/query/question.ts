import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { ClickHouseClient } from '@clickhouse/client'
import type { SortField } from '../../internal/filters/filter-fields.js'
import type { Sort } from '../../internal/filters/parse.js'
import { formatId } from '../../internal/ids/ids.js'
import { freePort } from '../../internal/local/supervisor/supervised-instance.js'
import { connectStore } from '../../internal/store/client.js'
import type { CopiedForPages } from '../../internal/store/copied-instants.js'
import { storeProblem } from '../../internal/store/failures.js'
import { migrate } from '../../internal/store/migrations/migrate.js'
import { recordDropped } from '../../internal/store/old-copies.js'
import { listRecords } from '../../internal/store/queries/records/list-records.js'
import type { After } from '../../internal/store/queries/records/reading-plan.js'
import { keyOf } from '../../internal/store/queries/records/record-order.js'
import { type RecordSample, sampleRecords } from '../../internal/store/queries/records/record-sample.js'
import { settle } from '../../internal/store/settling.js'
import { AS_OF_SNAPSHOT, snapshotParams } from '../../internal/store/snapshot.js'
import { columnOf, RECORD_TABLES, tableSortedBy } from '../../internal/store/tables/sorted-copies.js'
import { provenance } from '../machine.js'
import { privateRun } from '../private-run.js'
import type { Processes } from '../processes.js'
import { readResult, writeResult } from '../results.js'
import { quantile } from '../statistics.js'
import { table } from '../table.js'
import { BY_COLUMNS } from './by-columns.js'
import { type Filter, filtersOf, type Known, since } from './cases.js'
import { closeRecords, generateRecords, LAST_AT_MS, validFromMs } from './generate.js'
import { startQueryStore } from './store.js'

/**
 * Question: does a page of any filter and any sort stay fast, whatever matches, while events arrive?
 *
 * Records of one tenant, made inside the engine, 10,000 of them closed; each filter of `cases.ts` in each sort, page 1
 * and page 1,000, beside the fastest of the queries that a person who knows the tables would write for the same answer.
 */
export interface QueryOptions {
  readonly checkout: string
  readonly rows: number
  readonly repeats: number
  /** Rows a second that come in meanwhile. */
  readonly ingest: number
  /** One case in so many, spread over all filters and sorts; 1: all. */
  readonly every: number
  /** After so long no further case is begun: of those that were, any number is spread over all. */
  readonly minutes: number
  /** Sorts to ask by. */
  readonly sorts: readonly SortField[]
  /** So many of the newest records are not settled when the pages are read. */
  readonly newer: number
  /**
   * So many of the newest records are in the sorted copies, as if the others were of old months; at least `rows`: all.
   */
  readonly copied: number
}

const TENANT = 'tnt_bench'
const SNAPSHOT_MS = LAST_AT_MS + 60_000
/** Records that arrive during the queries are valid after the snapshot, so that every answer can be checked. */
const AFTER_SNAPSHOT_MS = 120_000
const LIMIT = 50
const DEEP_PAGE = 1_000
const CLOSED = 10_000
/** Rows a batch at least: larger ones where there are more, so that merging does not take longer than making them. */
const BATCH_MIN = 100_000
/** As actors insert them when much arrives. */
const NEWER_BATCH = 5_000
const DAY_MS = 24 * 60 * 60 * 1000
const SETTLING_MS_MAX = 60 * 60 * 1000
const SINGLE_MS = 50
const COMBINED_MS = 100
/** Of a page of all records, where the copies do not hold all. */
const OLD_MS = 1_000

interface Figure {
  readonly filter: string
  readonly kind: Filter['kind']
  readonly sort: string
  readonly page: number
  readonly rows: number
  readonly p50_ms: number
  readonly max_ms: number
  readonly min_ms: number
  readonly by_hand_ms: number
  readonly bar_ms: number
}

export const query = (options: QueryOptions, signal: AbortSignal): Promise<void> =>
  privateRun(options.checkout, 'query', signal, (folder, processes) => answer(options, folder, processes))

async function answer(options: QueryOptions, folder: string, processes: Processes): Promise<void> {
  const { checkout, rows, repeats, ingest, every, minutes, sorts, newer, copied: copiedRows } = options
  const port = await freePort()
  const connection = await startQueryStore(checkout, folder, port, processes)
  const store = connectStore(connection)
  const say = (what: string): void => void process.stderr.write(`${what}\n`)
  await migrate(store)
  const stopping = new AbortController()
  const startedAt = performance.now()
  const loading = connectStore({ ...connection, silenceMsMax: SETTLING_MS_MAX })
  const settled = rows - newer
  await loadRecords(loading, settled, rows, say)
  const beforeMs = validFromMs(settled, rows)
  await closeRecords(loading, TENANT, CLOSED, settled, beforeMs - 1)
  const loadS = (performance.now() - startedAt) / 1000
  const fromMs = copiedRows >= rows ? 0 : validFromMs(rows - copiedRows, rows)
  if (fromMs > 0) await recordDropped(store, fromMs)
  await settle(loading, beforeMs, stopping.signal)
  const settleS = (performance.now() - startedAt) / 1000 - loadS
  await mergeAll(loading)
  // Parts of minutes are not merged with those of months.
  for (let from = settled; from < rows; from += NEWER_BATCH) {
    await generateRecords(store, { tenantId: TENANT, from, to: Math.min(rows, from + NEWER_BATCH), total: rows })
  }
  // Queries by hand find them in the copies; pages take them from the base, as if they were not settled.
  await settle(store, SNAPSHOT_MS, stopping.signal)
  const copied = { fromMs, beforeMs }

  // A gateway has one when a tenant has asked for a second.
  const sample = await sampleRecords(store, TENANT, new AbortController().signal)
  const all = casesOf(filtersOf(await knownValues(store, rows)), sorts, fromMs)
  const cases = spread(all).slice(0, Math.ceil(all.length / every))
  const incoming = arrive(connectStore(connection), rows, ingest, stopping.signal)
  const figures: Figure[] = []
  let arrived = 0
  try {
    let saidAt = performance.now()
    const endsAt = saidAt + minutes * 60_000
    for (const [i, { filter, sort }] of cases.entries()) {
      if (performance.now() > endsAt) break
      const tables = holdingAll(filter, sort, fromMs)
      figures.push(...(await measurePages(store, { filter, sort, copied, sample, tables, repeats })))
      if (performance.now() - saidAt > 20_000) {
        say(`${i} of ${cases.length} cases`)
        saidAt = performance.now()
      }
    }
  } finally {
    stopping.abort()
    arrived = await incoming
  }
  const sizes = await sizesOf(store)
  await store.close()

  const file = join(checkout, 'bench', 'results', `query-${rows / 1_000_000}m.json`)
  const previous = readResult<{ figures: Figure[] }>(file)
  writeResult(file, {
    question: 'does a page of any filter and any sort stay fast, whatever matches, while events arrive',
    provenance: provenance(checkout),
    load: {
      rows,
      sorts,
      closed: CLOSED,
      ingest_rows_per_s: ingest,
      arrived,
      newer,
      repeats,
      limit: LIMIT,
      loading_s: loadS,
      settling_s: settleS,
    },
    sizes,
    summary: summaryOf(figures),
    missed: figures.filter(isMissed),
    figures,
  })
  report(figures, previous?.figures)
}

/** Every filter, and if records begin at `fromMs` the same since then, by every sort. */
function casesOf(asked: ReturnType<typeof filtersOf>, sorts: QueryOptions['sorts'], fromMs: number) {
  const filters = fromMs === 0 ? asked : [...asked, ...asked.map((filter) => since(filter, fromMs + 2 * DAY_MS))]
  return filters.flatMap((filter, i) =>
    sorts.map((field, j) => ({ filter, sort: { field, isDescending: (i + j) % 2 === 0 } satisfies Sort })),
  )
}

async function loadRecords(
  store: ClickHouseClient,
  settled: number,
  total: number,
  say: (what: string) => void,
): Promise<void> {
  const startedAt = performance.now()
  const batch = Math.max(BATCH_MIN, Math.ceil(total / 200))
  for (let from = 0; from < settled; from += batch) {
    await generateRecords(store, { tenantId: TENANT, from, to: Math.min(settled, from + batch), total })
    if (from % (10 * batch) === 0) say(`${from} rows after ${Math.round((performance.now() - startedAt) / 1000)} s`)
  }
}

/** The first page, and a deep one if there are as many records. */
async function measurePages(store: ClickHouseClient, asked: Asked): Promise<Figure[]> {
  const first = await measure(store, asked, undefined)
  const deep = await positionBefore(store, asked.tables[0], asked.filter, asked.sort, (DEEP_PAGE - 1) * LIMIT)
  return deep === undefined ? [first] : [first, await measure(store, asked, deep)]
}

function unlessTooMuch(cause: unknown): undefined {
  if (storeProblem(cause) === undefined) throw cause
}

/** In an order whose beginning, of any length, is spread over all: by the fractions of the golden ratio's multiples. */
const spread = <T>(cases: readonly T[]): readonly T[] => {
  const places = cases.map((_, i) => (i * ((Math.sqrt(5) - 1) / 2)) % 1)
  return cases
    .map((one, i) => ({ one, place: places[i] ?? 0 }))
    .sort((a, b) => a.place - b.place)
    .map(({ one }) => one)
}

/** Rows that come in at a constant rate, as a batch a second. @returns how many came */
async function arrive(store: ClickHouseClient, first: number, rate: number, signal: AbortSignal): Promise<number> {
  let from = 0
  try {
    while (rate > 0 && !signal.aborted) {
      const next = sleep(1_000)
      const numbers = { from: first + from, to: first + from + rate, total: first }
      await generateRecords(store, { tenantId: TENANT, ...numbers, laterMs: AFTER_SNAPSHOT_MS })
      from += rate
      await next
    }
  } finally {
    await store.close()
  }
  return from
}

type Tables = readonly [first: string, ...others: string[]]

/** Tables in which a person finds all records that a filter is about, the one of the sort first. */
const holdingAll = (filter: Filter, sort: Sort, copiedFromMs: number): Tables =>
  copiedFromMs === 0 || filter.kind === 'recent' ? [tableSortedBy(sort.field), ...filter.tables] : ['attributions']

interface Asked {
  readonly filter: Filter
  readonly sort: Sort
  readonly copied: CopiedForPages
  readonly sample: RecordSample | undefined
  readonly tables: Tables
  readonly repeats: number
}

async function measure(
  store: ClickHouseClient,
  { filter, sort, copied, sample, tables, repeats }: Asked,
  after: After | undefined,
): Promise<Figure> {
  const never = new AbortController().signal
  const question = {
    tenantId: TENANT,
    snapshotMs: SNAPSHOT_MS,
    conditions: filter.conditions,
    sort,
    after,
    limit: LIMIT + 1,
  }
  const ours: number[] = []
  let ids: string[] = []
  // Once to warm up: the first read of a file is not measured.
  for (let repeat = 0; repeat <= repeats; repeat++) {
    const startedAt = performance.now()
    const rows = await listRecords(store, question, copied, sample, never)
    if (repeat > 0) ours.push(performance.now() - startedAt)
    ids = rows.map(({ id }) => id)
  }
  ours.sort((one, other) => one - other)
  let byHand = Number.POSITIVE_INFINITY
  for (const from of new Set(tables)) {
    // A slow query is not tried again.
    for (let repeat = 0; repeat < Math.max(3, repeats); repeat++) {
      // A query that takes too long or too much memory is not a usable alternative.
      const answer = await askByHand(store, filter, sort, after, from).catch(unlessTooMuch)
      if (answer === undefined) break
      const [ms, found] = answer
      if (found.join() !== ids.join()) throw new Error(`${filter.name} by ${sort.field}: another answer from ${from}`)
      byHand = Math.min(byHand, ms)
      if (ms > 4 * byHand) break
    }
  }
  return {
    filter: filter.name,
    kind: filter.kind,
    sort: `${sort.isDescending ? '-' : ''}${sort.field}`,
    page: after === undefined ? 1 : DEEP_PAGE,
    rows: ids.length,
    p50_ms: ours[Math.floor(ours.length / 2)] ?? Number.NaN,
    max_ms: ours.at(-1) ?? Number.NaN,
    min_ms: ours[0] ?? Number.NaN,
    by_hand_ms: byHand,
    bar_ms: barOf(filter.kind, copied.fromMs),
  }
}

async function askByHand(
  store: ClickHouseClient,
  filter: Filter,
  { field, isDescending }: Sort,
  after: After | undefined,
  from: string,
): Promise<[ms: number, ids: string[]]> {
  const key = columnOf(field)
  const direction = isDescending ? 'DESC' : 'ASC'
  const than = isDescending ? '<' : '>'
  const literal = (value: string): string => {
    if (key === 'event_time' || key === 'valid_from') return `fromUnixTimestamp64Milli(toInt64(${value}))`
    if (key === 'confidence') return `toDecimal32('${value}', 4)`
    return ['cost_usd', 'energy_wh', 'carbon_gco2e'].includes(key) ? `toDecimal128('${value}', 18)` : `'${value}'`
  }
  const position =
    after === undefined
      ? ''
      : `AND ${key} ${than}= ${literal(after.value)}
         AND (${key}, id) ${than} (${literal(after.value)}, toFixedString(unhex('${after.idHex}'), 16))`
  const startedAt = performance.now()
  const result = await store.query({
    query: `SELECT ${BY_COLUMNS.select} FROM ${from} WHERE tenant_id = {tenant:String} AND ${AS_OF_SNAPSHOT}
            AND ${filter.sql} ${position}
            ORDER BY tenant_id ${direction}, ${key} ${direction}, id ${direction} LIMIT ${LIMIT + 1}`,
    query_params: snapshotParams(TENANT, SNAPSHOT_MS),
    format: 'JSONEachRow',
    clickhouse_settings: { max_threads: 2 },
  })
  const rows = await result.json<{ id_hex: string }>()
  return [performance.now() - startedAt, rows.map(({ id_hex }) => id_hex)]
}

/** The record behind which a page begins; undefined when there are not so many. */
async function positionBefore(
  store: ClickHouseClient,
  from: string,
  filter: Filter,
  { field, isDescending }: Sort,
  offset: number,
): Promise<After | undefined> {
  const direction = isDescending ? 'DESC' : 'ASC'
  const key = columnOf(field)
  const result = await store.query({
    query: `SELECT ${BY_COLUMNS.select} FROM ${from} WHERE tenant_id = {tenant:String} AND ${AS_OF_SNAPSHOT} AND id = (
              SELECT id FROM ${from} WHERE tenant_id = {tenant:String} AND ${AS_OF_SNAPSHOT} AND ${filter.sql}
              ORDER BY tenant_id ${direction}, ${key} ${direction}, id ${direction} LIMIT 1 OFFSET ${offset - 1})`,
    query_params: snapshotParams(TENANT, SNAPSHOT_MS),
    format: 'JSONEachRow',
  })
  const [row] = await result.json<Record<string, string>>()
  if (row === undefined) return undefined
  const [value, idHex] = keyOf(BY_COLUMNS.rowOf(row), field)
  return { value, idHex }
}

async function knownValues(store: ClickHouseClient, rows: number): Promise<Known> {
  // The exact quantiles of more rows exceed the store's memory limit.
  const every = Math.ceil(rows / 10_000_000)
  const one = async <T>(text: string): Promise<T> => {
    const result = await store.query({ query: text, query_params: { tenant: TENANT, every }, format: 'JSONEachRow' })
    return (await result.json<T>())[0] as T
  }
  const quantiles = async (field: string) =>
    (
      await one<{ q: string[] }>(
        `SELECT arrayMap(x -> toString(x), quantilesExactHigh(0.99999, 0.999, 0.9, 0.5)(${field})) AS q
         FROM attributions WHERE tenant_id = {tenant:String} AND cityHash64(id) % {every:UInt64} = 0`,
      )
    ).q
  const record = await one<Record<string, string>>(
    `SELECT lower(hex(id)) AS id_hex, trace_id, cost_usd, energy_wh, carbon_gco2e FROM attributions
     WHERE tenant_id = {tenant:String} AND trace_id != '' AND cityHash64(id) % 1000 = 7 ORDER BY event_time
     LIMIT 1 OFFSET 300`,
  )
  const span = await one<{ first: string; last: string }>(
    `SELECT toUnixTimestamp64Milli(min(event_time)) AS first, toUnixTimestamp64Milli(max(event_time)) AS last
     FROM attributions WHERE tenant_id = {tenant:String}`,
  )
  const idHex = record['id_hex'] ?? ''
  return {
    id: formatId('attr', Buffer.from(idHex, 'hex')),
    invocationId: formatId('inv', Buffer.from(idHex, 'hex')),
    idHex,
    traceId: record['trace_id'] ?? '',
    costUsd: record['cost_usd'] ?? '',
    energyWh: record['energy_wh'] ?? '',
    carbonGco2e: record['carbon_gco2e'] ?? '',
    quantiles: {
      cost_usd: await quantiles('cost_usd'),
      energy_wh: await quantiles('energy_wh'),
      carbon_gco2e: await quantiles('carbon_gco2e'),
    },
    firstMs: Number(span.first),
    lastMs: Number(span.last),
  }
}

/** Brings the tables where a day brings them (`SETTLED_AFTER_S`): two months of records do not come within minutes. */
async function mergeAll(store: ClickHouseClient): Promise<void> {
  await mergesAreOver(store)
  for (const table of RECORD_TABLES) await store.command({ query: `OPTIMIZE TABLE ${table} FINAL` })
  await mergesAreOver(store)
  await store.close()
}

async function mergesAreOver(store: ClickHouseClient): Promise<void> {
  for (let calm = 0; calm < 3; ) {
    const result = await store.query({ query: 'SELECT count() AS count FROM system.merges', format: 'JSONEachRow' })
    const [{ count = '0' } = {}] = await result.json<{ count: string }>()
    calm = count === '0' ? calm + 1 : 0
    await sleep(500)
  }
}

async function sizesOf(store: ClickHouseClient): Promise<unknown> {
  const result = await store.query({
    query: `SELECT table, sum(rows) AS rows, count() AS parts, sum(bytes_on_disk) AS bytes,
              sum(secondary_indices_compressed_bytes) AS index_bytes
            FROM system.parts WHERE active AND table LIKE 'attribution%' GROUP BY table ORDER BY table`,
    format: 'JSONEachRow',
  })
  return result.json()
}

function barOf(kind: Filter['kind'], copiedFromMs: number): number {
  if (copiedFromMs > 0 && kind !== 'recent') return OLD_MS
  return kind === 'none' || kind === 'single' ? SINGLE_MS : COMBINED_MS
}
const isMissed = (figure: Figure): boolean => figure.max_ms >= figure.bar_ms

function summaryOf(figures: readonly Figure[]) {
  const groups = (['none', 'single', 'contains', 'combination', 'recent'] as const).flatMap((kind) =>
    [1, DEEP_PAGE].map((page) => ({
      kind,
      page,
      of: figures.filter((figure) => figure.kind === kind && figure.page === page),
    })),
  )
  return groups
    .filter(({ of }) => of.length > 0)
    .map(({ kind, page, of }) => ({
      kind,
      page,
      cases: of.length,
      p50_ms: quantile(
        of.map(({ p50_ms }) => p50_ms),
        0.5,
      ),
      p99_ms: quantile(
        of.map(({ p50_ms }) => p50_ms),
        0.99,
      ),
      slowest_ms: Math.max(...of.map(({ max_ms }) => max_ms)),
      missed: of.filter(isMissed).length,
      missed_in_the_middle: of.filter((figure) => figure.p50_ms >= figure.bar_ms).length,
      to_by_hand_p50: quantile(
        of.map(({ min_ms, by_hand_ms }) => min_ms / by_hand_ms),
        0.5,
      ),
      to_by_hand_p99: quantile(
        of.map(({ min_ms, by_hand_ms }) => min_ms / by_hand_ms),
        0.99,
      ),
    }))
}

function report(figures: readonly Figure[], previous: readonly Figure[] | undefined): void {
  const before = previous === undefined ? undefined : summaryOf(previous)
  const rows = summaryOf(figures).map((group) => {
    const was = before?.find(({ kind, page }) => kind === group.kind && page === group.page)
    return [
      `${group.kind}, page ${group.page}`,
      String(group.cases),
      group.p50_ms.toFixed(1),
      group.p99_ms.toFixed(1),
      group.slowest_ms.toFixed(0),
      `${group.missed} (${group.missed_in_the_middle})`,
      group.to_by_hand_p50.toFixed(2),
      group.to_by_hand_p99.toFixed(2),
      was === undefined ? '' : was.p99_ms.toFixed(1),
    ]
  })
  const head = [
    'filter',
    'cases',
    'p50 ms',
    'p99 ms',
    'slowest',
    'missed (in the middle)',
    '/ by hand',
    'p99',
    'p99 before',
  ]
  process.stdout.write(`\n${table([head, ...rows])}\n`)
  const missed = figures.filter(isMissed).toSorted((one, other) => other.p50_ms - one.p50_ms)
  for (const { filter, sort, page, p50_ms, max_ms, by_hand_ms } of missed.slice(0, 60)) {
    process.stdout.write(
      `  missed: ${filter}  sort=${sort}  page ${page}: ` +
        `${p50_ms.toFixed(0)} / ${max_ms.toFixed(0)} ms, by hand ${by_hand_ms.toFixed(0)}\n`,
    )
  }
}
