import type { ClickHouseClient } from '@clickhouse/client'
import { FILTER_FIELDS, type Field, type FilterField, type SortField } from '../../../filters/filter-fields.js'
import type { Condition, Sort } from '../../../filters/parse.js'
import { isTagField } from '../../../records/dimensions.js'
import { FUTURE_MS_MAX } from '../../../text/event-time.js'
import type { CopiedForPages } from '../../copied-instants.js'
import { isSetTooLarge } from '../../failures.js'
import { AS_OF_SNAPSHOT, BEGUN_BY_SNAPSHOT, snapshotParams } from '../../snapshot.js'
import { byIndexesOf } from '../../tables/record-storage.js'
import { columnOf, isCopied, tableSortedBy } from '../../tables/sorted-copies.js'
import { FROM_COPIES, FROM_RECORDS, type StoredAttribution } from './attributions.js'
import { closedAmong, versionKey } from './closed.js'
import { Bindings, clauseOf, operandOf } from './conditions.js'
import { providerSql } from './provider-sql.js'
import {
  type After,
  LONG_PAGES,
  likelyEnd,
  matchSample,
  mostSelectiveFirst,
  ordersOf,
  planReading,
  type ReadingPlan,
  recordsLeftOfValue,
  type SampleMatches,
} from './reading-plan.js'
import { keyOf, mergeInOrder } from './record-order.js'
import type { RecordSample } from './record-sample.js'

/**
 * A page of records by filters and sort. Settled records come from the sorted copy that needs the fewest rows read.
 * Newer records come from the base table, where they are few (`store/settling.ts`). Records of months that no copy
 * holds any more come from the base table, too (`store/old-copies.ts`).
 */

/** The part of a tenant's records that a partner may see: those of some layers, without residency-restricted ones. */
export interface AttributionView {
  readonly ingestionLayers: readonly string[]
}

export interface RecordsQuestion {
  readonly tenantId: string
  readonly snapshotMs: number
  /** A record must match all of them. */
  readonly conditions: readonly Condition[]
  readonly sort: Sort
  readonly after: After | undefined
  /** Maximum rows. */
  readonly limit: number
  readonly view?: AttributionView | undefined
}

/**
 * Limits of a page query; a query that exceeds them fails instead of making the client wait. Its threads yield to those
 * of inserts, so that readers do not delay ingestion.
 */
const READ_LIMITS = {
  max_execution_time: 5,
  max_memory_usage: '400000000',
  max_threads: 2,
  os_threads_nice_value_query: 5,
  // Keeps our order of conditions: the selective ones are read first, closed versions are excluded last.
  optimize_move_to_prewhere: 0,
  // The most values found by text that are looked up in indexes.
  use_index_for_in_with_subqueries_max_values: '1000',
  // Reads all columns only for the rows of the page.
  query_plan_optimize_lazy_materialization: 1,
  query_plan_max_limit_for_lazy_materialization: '1000',
  // The granules' indexes are evaluated before reading (20 ms); evaluated while reading, all rows are read (120 ms).
  use_skip_indexes_on_data_read: 0,
  // A page is full after a few rows: do not read ahead in each part.
  read_in_order_use_buffering: 0,
} as const

/**
 * A page found without the granules' indexes is found after a few rows, by one thread. With two threads the engine
 * splits parts, and the second thread reads a piece further back in the order, perhaps without any match, for a first
 * match that nobody needs (three million rows, 35 ms).
 */
const WITHOUT_GRANULES = { ...byIndexesOf(), max_threads: 1 } as const

/**
 * For sorting: read in the order of the base, whose key starts alike for all of them, each part would get one thread.
 */
const SORTED = { ...READ_LIMITS, optimize_read_in_order: 0 } as const

/** Newer records are sorted. Their times find their parts, and their granules in parts shared with older records. */
const NEWER_BY_TIME = { ...SORTED, ...byIndexesOf('valid_from') } as const

/**
 * Records of old months are found by all indexes, and sorted. The minimum and maximum of a granule tell during the read
 * whether any of its rows can be on the page: for ten million records by cost 0.1 s instead of 0.9 s for all rows.
 */
const OLDER = {
  ...SORTED,
  // A hundred million rows by a name take some seconds. A filter with a start time excludes them.
  max_execution_time: 30,
  use_skip_indexes_on_data_read: 1,
  use_skip_indexes_for_top_k: 1,
  use_top_k_dynamic_filtering: 1,
} as const

/**
 * Up to this many rows it is cheaper to sort them than to read in the order of the sort; both ways then cost the same.
 */
const SORTED_ROWS_MAX = 200_000

/**
 * With more closed versions of the tenant, only those of a page's rows are looked up: holding all in memory takes a
 * sixth of a millisecond per thousand, and a job that re-attributes a month closes millions.
 */
const CLOSED_MAX = 100_000
/** Rounds of such reads. Each reads twice as many rows: where all rows of a round were closed, open ones are rare. */
const ROUNDS_MAX = 4
/** The first round reads this many times the page's rows, since some of them are closed. */
const SPARE = 1.25

/** Holds all records, in the order of `event_time`. */
const BASE = tableSortedBy('event_time')

const SHOWN_OF_VIEW = "export_eligibility != 'residency_restricted'"

/**
 * A tenant's records as of a snapshot, in three steps: choose the table (`choosePlan`), build the query's parts
 * (`pageQuery`), and read the rows after the last page (`rowsBehind`): in one query that excludes closed versions, or
 * in rounds that remove them afterwards (`withoutClosed`).
 *
 * @param copied `copiedInstants`, now or a little earlier
 * @param sample of the tenant's records, if there is one; without it the page is the same but takes longer
 * @param signal aborts the query when the client disconnects
 */
export async function listRecords(
  store: ClickHouseClient,
  question: RecordsQuestion,
  copied: CopiedForPages,
  sample: RecordSample | undefined,
  signal: AbortSignal,
): Promise<StoredAttribution[]> {
  const sampled = matchSample(question.conditions, sample)
  const bindings = new Bindings()
  const clauses = mostSelectiveFirst(question.conditions, sampled).map((condition) => clauseOf(condition, bindings))
  if (clauses.includes(false)) return []
  const plan = await choosePlan(store, question, sampled, signal)
  const conditions = [
    ...clauses.filter((clause) => typeof clause === 'string'),
    ...conditionsOfView(question, bindings),
  ]
  const page = pageQuery({ store, question, copied, sampled, signal, bindings, conditions }, plan)
  try {
    if (sample === undefined || sample.closedRows <= CLOSED_MAX)
      return await rowsBehind(page, question.after, question.limit, VALID)
  } catch (cause) {
    if (!isSetTooLarge(cause)) throw cause
  }
  return withoutClosed(page)
}

/** What all queries of a page share. */
interface PageParts {
  readonly store: ClickHouseClient
  readonly question: RecordsQuestion
  readonly copied: CopiedForPages
  readonly sampled: SampleMatches | undefined
  readonly signal: AbortSignal
  readonly bindings: Bindings
  /** Of the question and its view, in SQL. */
  readonly conditions: readonly string[]
}

interface PageQuery extends PageParts {
  readonly table: string
  readonly settings: Settings
  /** `ORDER BY` without the tenant. */
  readonly order: string
  readonly direction: 'ASC' | 'DESC'
  /** Exclusive end of the records that the copies hold; then both ends in SQL. */
  readonly copiedEndMs: number
  readonly copiedFrom: string
  readonly copiedEnd: string
}

type Settings = Readonly<Record<string, string | number>>

function conditionsOfView({ view }: RecordsQuestion, bindings: Bindings): string[] {
  if (view === undefined) return []
  const layers = view.ingestionLayers.map((layer) => bindings.bind(layer, 'String')).join(', ')
  return [layers === '' ? '0' : `ingestion_layer IN (${layers})`, SHOWN_OF_VIEW]
}

function pageQuery(parts: PageParts, { table, byGranules }: ReadingPlan): PageQuery {
  const { bindings, copied, question } = parts
  const direction = question.sort.isDescending ? 'DESC' : 'ASC'
  const copiedEndMs = Math.max(copied.fromMs, copied.beforeMs)
  const instant = (ms: number): string => `fromUnixTimestamp64Milli(${bindings.bind(ms, 'Int64')})`
  return {
    ...parts,
    table,
    settings: settingsOf(table, byGranules, question),
    order: [sortSql(question.sort.field), 'id'].map((column) => `${column} ${direction}`).join(', '),
    direction,
    copiedEndMs,
    copiedFrom: instant(copied.fromMs),
    copiedEnd: instant(copiedEndMs),
  }
}

/**
 * For what no copy is sorted by or filtered by: by another order than that of the base table, all matches are sorted; so
 * are those of an operation, of which the table has no index: the first may be anywhere.
 */
function settingsOf(table: string, byGranules: boolean, { conditions, sort }: RecordsQuestion): Settings {
  const isSorted = sort.field !== 'event_time' || conditions.some(isOfOperation)
  if (table === BASE && isSorted && !conditions.some(findsFew)) return OLDER
  return { ...READ_LIMITS, ...(byGranules ? byIndexesOf(...conditions.map(indexedColumn)) : WITHOUT_GRANULES) }
}

const indexedColumn = ({ field }: Condition): string => (isTagField(field) ? 'dimensions' : columnOf(field))

/** Up to `rowsMax` rows after a record, in the page's order. */
async function rowsBehind(
  page: PageQuery,
  last: After | undefined,
  rowsMax: number,
  validity: Validity,
): Promise<StoredAttribution[]> {
  const stretches = last === undefined ? [EVERYTHING] : stretchesBehind(last, page)
  const rows: StoredAttribution[] = []
  for (const stretch of likelyPartsFirst(stretches, page, last)) {
    rows.push(...(await readStretch(page, stretch, rowsMax - rows.length, validity)))
    if (rows.length === rowsMax) break
  }
  return rows
}

/** The first rows of a stretch, merged from all tables that may hold some. */
async function readStretch(
  page: PageQuery,
  stretch: Stretch,
  rowsMax: number,
  validity: Validity,
): Promise<StoredAttribution[]> {
  const found = await Promise.all(sourcesOf(page, stretch).map((source) => readSource(page, source, rowsMax, validity)))
  return found.reduce((merged, rows) => mergeInOrder(merged, rows, page.question.sort, rowsMax), [])
}

function sourcesOf(page: PageQuery, { bounds, left }: Stretch): Source[] {
  const { table, question, copied, copiedEndMs, copiedFrom, copiedEnd, settings } = page
  const conditions = [...page.conditions, ...bounds]
  if (table === BASE) return [{ from: BASE, conditions, left, settings, inOrder: true }]
  const within = [`valid_from >= ${copiedFrom}`, `valid_from < ${copiedEnd}`]
  const copies = { from: table, conditions, left: [...within, ...left], settings, inOrder: true }
  const sorted = { from: BASE, left, inOrder: false }
  const newer = { ...sorted, conditions: [`valid_from >= ${copiedEnd}`, ...conditions], settings: NEWER_BY_TIME }
  const older = { ...sorted, conditions: [`valid_from < ${copiedFrom}`, ...conditions], settings: OLDER }
  return [
    ...(copied.fromMs < copiedEndMs ? [copies] : []),
    ...(question.snapshotMs >= copiedEndMs && copied.hasNewest !== true ? [newer] : []),
    ...(reachesBefore(copied.fromMs, question.conditions) ? [older] : []),
  ]
}

async function readSource(
  { store, question, bindings, order, direction, signal }: PageQuery,
  { from, conditions, left, settings, inOrder }: Source,
  rowsMax: number,
  validity: Validity,
): Promise<StoredAttribution[]> {
  const { select, rowOf } = from === BASE ? FROM_RECORDS : FROM_COPIES
  const result = await store.query({
    query: `SELECT ${select} FROM ${from} PREWHERE ${ofTenant(conditions)}
            WHERE ${[validity.clause, ...left].join(' AND ')}
            ORDER BY ${inOrder ? `tenant_id ${direction}, ` : ''}${order} LIMIT ${bindings.bind(rowsMax, 'UInt32')}`,
    query_params: { ...snapshotParams(question.tenantId, question.snapshotMs), ...bindings.params },
    format: 'JSONEachRow',
    clickhouse_settings: { ...settings, max_rows_in_set: String(validity.closedMax) },
    abort_signal: signal,
  })
  return (await result.json<Record<string, string>>()).map(rowOf)
}

/** Whether records that became valid before an instant can meet all conditions. */
const reachesBefore = (ms: number, conditions: readonly Condition[]): boolean =>
  ms > 0 &&
  !conditions.some(({ field, operator, values }) => {
    if (operator !== 'gt' && operator !== 'gte') return false
    // Calls are materialized after they were received.
    const from = Number(values[0])
    return (field === 'materialized_at' && from >= ms) || (field === 'event_time' && from >= ms + FUTURE_MS_MAX)
  })

/** Which versions a query excludes. It fails with more than `closedMax` closed versions to exclude; 0: no limit. */
interface Validity {
  readonly clause: string
  readonly closedMax: number
}
const VALID: Validity = { clause: AS_OF_SNAPSHOT, closedMax: CLOSED_MAX }
const VALID_AT_ANY_COST: Validity = { clause: AS_OF_SNAPSHOT, closedMax: 0 }
const BEGUN: Validity = { clause: BEGUN_BY_SNAPSHOT, closedMax: 0 }

/** A page of a tenant with more closed versions than a query can exclude: they are removed after each read. */
async function withoutClosed(page: PageQuery): Promise<StoredAttribution[]> {
  const { tenantId, snapshotMs, sort, after, limit } = page.question
  const open: StoredAttribution[] = []
  let last = after
  for (let round = 0; round < ROUNDS_MAX; round++) {
    const rowsMax = Math.ceil(limit * SPARE) * 2 ** round
    const read = await rowsBehind(page, last, rowsMax, BEGUN)
    const isEnd = read.length < rowsMax
    // Versions of one record may be adjacent, and the next round begins after all of them.
    const rows = isEnd ? read : read.slice(0, read.findLastIndex(({ id }) => id !== read.at(-1)?.id) + 1)
    const closed = await closedAmong(page.store, tenantId, rows, snapshotMs, page.signal)
    open.push(...rows.filter((row) => !closed.has(versionKey(row))))
    if (open.length >= limit || isEnd) return open.slice(0, limit)
    const lastRow = rows.at(-1)
    if (lastRow === undefined) break
    const [value, idHex] = keyOf(lastRow, sort.field)
    last = { value, idHex }
  }
  return [...open, ...(await rowsBehind(page, last, limit - open.length, VALID_AT_ANY_COST))]
}

/** A table to read, with the conditions for `PREWHERE` and those for the remaining rows. */
interface Source {
  readonly from: string
  readonly conditions: readonly string[]
  readonly left: readonly string[]
  readonly settings: Settings
  /** Whether it is read in the order of its key, which begins with the tenant. */
  readonly inOrder: boolean
}

/** A range of the order in which the page's rows are. */
interface Stretch {
  /** For the primary index. */
  readonly bounds: readonly string[]
  /** For the remaining rows. */
  readonly left: readonly string[]
}

const EVERYTHING: Stretch = { bounds: [], left: [] }

/**
 * The one place that adds the tenant: no query over records is written without it. It comes last, since the primary key
 * already excludes nearly all rows of other tenants.
 */
const ofTenant = (conditions: readonly string[]): string =>
  [...conditions, 'tenant_id = {tenant:String}'].map((condition) => `(${condition})`).join(' AND ')

/**
 * What comes after a record in the order, as one range or two. Where many records share few sort values, the index must
 * skip by the id too: otherwise a page deep within one value reads everything before it (1.7 million records for page
 * 1,000 of a model). Where hardly any value is shared, a plain bound is faster: it is found by bisection. So is the
 * rest of one value as a range of its own: combined with the other values, each later granule would be examined (10 ms
 * for ten million records).
 */
function stretchesBehind(after: After, { question, table, sampled, bindings }: PageQuery): Stretch[] {
  const { field, isDescending } = question.sort
  const { value, idHex } = after
  const column = sortSql(field)
  const { kind } = typeOf(field)
  const bound = operandOf(kind, value, bindings)
  const id = operandOf('id', idHex, bindings)
  const than = isDescending ? '<' : '>'
  if (kind !== 'text' && kind !== 'confidence') {
    return [{ bounds: [`${column} ${than}= ${bound}`], left: [`(${column}, id) ${than} (${bound}, ${id})`] }]
  }
  const [ofValue, ofOthers] = [`${column} = ${bound} AND id ${than} ${id}`, `${column} ${than} ${bound}`]
  const isInOrder = table === tableSortedBy(field)
  // The value has so many records left that the page almost always ends within them.
  const isLong = isInOrder && recordsLeftOfValue(after, question.sort, sampled) > LONG_PAGES * question.limit
  if (!isLong) return [{ bounds: [`${ofOthers} OR (${ofValue})`], left: [] }]
  return [ofValue, ofOthers].map((stretch) => ({ bounds: [stretch], left: [] }))
}

/** A page by time is read to where it likely ends, without the parts of other months; what is beyond only if needed. */
function likelyPartsFirst(
  stretches: readonly Stretch[],
  { question, table, sampled, bindings }: PageQuery,
  after: After | undefined,
): readonly Stretch[] {
  const endMs = likelyEnd({ ...question, afterValue: after?.value }, sampled)
  if (endMs === undefined || table !== BASE) return stretches
  const end = operandOf('instant', String(endMs), bindings)
  return (question.sort.isDescending ? ['>=', '<'] : ['<=', '>']).flatMap((than) =>
    stretches.map(({ bounds, left }) => ({ bounds: [...bounds, `event_time ${than} ${end}`], left })),
  )
}

/** Providers are sorted as they are shown, by their one names, which no table is sorted by. */
const sortSql = (field: SortField): string => (field === 'provider' ? providerSql('provider') : columnOf(field))

const typeOf = (field: keyof typeof FILTER_FIELDS): Field['type'] => FILTER_FIELDS[field].type

/**
 * Chooses the table for a page: by the sample, if it can tell. Otherwise the engine estimates what the tables sorted by
 * a filter's field would read, which takes it some ten milliseconds; if that is too much, the table sorted like the
 * page is read with the granules' indexes.
 */
async function choosePlan(
  store: ClickHouseClient,
  { tenantId, snapshotMs, conditions, sort, after, limit }: RecordsQuestion,
  sampled: SampleMatches | undefined,
  signal: AbortSignal,
): Promise<ReadingPlan> {
  const isOfBase = sort.field === 'provider' || conditions.some((one) => findsFew(one) || !isInCopies(one.field))
  if (isOfBase) return { table: BASE, byGranules: true }
  const plan = planReading({ conditions, sort, afterValue: after?.value, limit }, sampled)
  if (plan !== undefined) return plan
  const sorted = { table: tableSortedBy(sort.field), byGranules: true }
  // `ne` usually excludes hardly any record.
  const candidates = ordersOf({ conditions, sort }).filter(({ known }) =>
    known.some(({ operator }) => operator !== 'ne'),
  )
  if (candidates.length === 0) return sorted

  const bindings = new Bindings()
  const clauses = conditions.map((condition) => clauseOf(condition, bindings)).filter((clause) => clause !== true)
  const where = ofTenant([...clauses.map(String), BEGUN_BY_SNAPSHOT])
  const reads = candidates.map(({ table }) => `SELECT 1 FROM ${table} WHERE ${where}`)
  const result = await store.query({
    query: `EXPLAIN ESTIMATE ${reads.join(' UNION ALL ')}`,
    query_params: { ...snapshotParams(tenantId, snapshotMs), ...bindings.params },
    format: 'JSONEachRow',
    clickhouse_settings: { ...READ_LIMITS, ...byIndexesOf(...conditions.map(indexedColumn)) },
    abort_signal: signal,
  })
  const estimates = await result.json<{ table: string; rows: string }>()
  // A table of which nothing would be read is missing from the estimates.
  const rowsOf = new Map(estimates.map(({ table, rows }) => [table, Number(rows)]))
  const [best] = candidates
    .map(({ table }) => ({ table, rows: rowsOf.get(table) ?? 0 }))
    .sort((one, other) => one.rows - other.rows)
  return best !== undefined && best.rows <= SORTED_ROWS_MAX ? { table: best.table, byGranules: true } : sorted
}

/** Ids and traces: the base table finds them by their own indexes. */
const findsFew = ({ field, operator, values }: Condition): boolean =>
  (field === 'id' || field === 'invocation_id' || field === 'trace_id') &&
  (operator === 'eq' || operator === 'in') &&
  !values.includes('')

const isOfOperation = ({ field, operator, values }: Condition): boolean =>
  field === 'operation_id' && (operator === 'eq' || operator === 'in') && !values.includes('')

const isInCopies = (field: FilterField): boolean => isTagField(field) || isCopied(field)
