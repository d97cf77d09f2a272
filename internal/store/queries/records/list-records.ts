import type { ClickHouseClient } from '@clickhouse/client'
import { FILTER_FIELDS, type Field } from '../../../filters/filter-fields.js'
import type { Condition, Sort } from '../../../filters/parse.js'
import { FUTURE_MS_MAX } from '../../../text/event-time.js'
import type { CopiedInstants } from '../../copied-instants.js'
import { isSetTooLarge } from '../../failures.js'
import { AS_OF_SNAPSHOT, BEGUN_BY_SNAPSHOT, snapshotParams } from '../../snapshot.js'
import { INDEXES_OF_GRANULES, TIME_INDEX } from '../../tables/record-storage.js'
import { columnOf, tableSortedBy } from '../../tables/sorted-copies.js'
import { namedRecord, RECORD, type StoredAttribution } from './attributions.js'
import { closedAmong, versionKey } from './closed.js'
import { Bindings, clauseOf, operandOf } from './conditions.js'
import {
  type After,
  type Look,
  leftOfValue,
  lookAt,
  mostSelectiveFirst,
  ordersOf,
  planReading,
  type ReadingPlan,
} from './reading-plan.js'
import { keyOf, mergeInOrder } from './record-order.js'
import type { RecordSample } from './record-sample.js'

/**
 * A page of records by filters and sort: settled records from the copy that answers it with the fewest rows read, newer
 * ones from the base, where they are few (`store/settling.ts`), and those of months that no copy holds any more, from there, too
 * (`store/old-copies.ts`).
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
 * Limits of a page query; a query that exceeds them fails instead of making the client wait. Its threads yield to those of
 * inserts, so that readers do not delay ingestion.
 */
const READ_LIMITS = {
  max_execution_time: 5,
  max_memory_usage: '400000000',
  max_threads: 2,
  os_threads_nice_value_query: 5,
  // What decides is read first, as it is written; what was closed is looked at for what is left.
  optimize_move_to_prewhere: 0,
  // Up to so many values found by text are looked for in indexes.
  use_index_for_in_with_subqueries_max_values: '1000',
  // Reads all columns only for the rows of the page.
  query_plan_optimize_lazy_materialization: 1,
  query_plan_max_limit_for_lazy_materialization: '1000',
  // Looked through first, the granules' indexes leave out what need not be read (20 ms); looked at one by one, all is read (120).
  use_skip_indexes_on_data_read: 0,
  // A page is full after few rows: do not read ahead in parts.
  read_in_order_use_buffering: 0,
} as const

/**
 * Without `use_skip_indexes`, parts would not be left out by their times either: what came in since the snapshot was read to
 * its end, for a first match that is not there.
 */
const IGNORING_GRANULES = { ignore_data_skipping_indices: INDEXES_OF_GRANULES.join(', ') } as const

/**
 * A page that is found without the granules' indexes is found after few rows, by one thread: for two, parts are cut in pieces,
 * and one that lies further back in the order, where perhaps nothing matches, is read for its first match, which nobody
 * waits for (three million rows, 35 ms).
 */
const WITHOUT_GRANULES = { ...IGNORING_GRANULES, max_threads: 1 } as const

/** For records that are sorted: in the order of the base, of whose key they all have the beginning, one thread would read each part. */
const SORTED = { ...READ_LIMITS, optimize_read_in_order: 0 } as const

/** Newer records are sorted. Their parts are found by their times, and so are their granules in parts that older records share. */
const NEWER_BY_TIME = {
  ...SORTED,
  ignore_data_skipping_indices: INDEXES_OF_GRANULES.filter((name) => name !== TIME_INDEX).join(', '),
} as const

/**
 * Records of old months are found by all indexes, and sorted. The least and the greatest value of a granule say, while it is
 * read, whether any of its rows can be on the page: of ten million records by cost, 0.1 s where all rows take 0.9.
 */
const OLDER = {
  ...SORTED,
  // A hundred million rows by a name take some seconds. A filter from a time on excludes them.
  max_execution_time: 30,
  use_skip_indexes_on_data_read: 1,
  use_skip_indexes_for_top_k: 1,
  use_top_k_dynamic_filtering: 1,
} as const

/**
 * Up to so many rows are rather sorted than looked for in the order of the sort: about what both ways cost alike.
 */
const SORTED_ROWS_MAX = 200_000

/**
 * With more closed versions of the tenant, a page's rows are compared with these alone: to hold all in memory takes a sixth of
 * a millisecond a thousand, and a job that attributes a month again closes millions.
 */
const CLOSED_MAX = 100_000
/** Rounds that are read so, each of twice as many rows as the one before: where all were closed, what was not is rare. */
const ROUNDS_MAX = 4
/** So many times a page is read at first: some of its rows are closed. */
const SPARE = 1.25

/** Holds all records, in the order of `event_time`. */
const BASE = tableSortedBy('event_time')

/** Of so many pages a sample does not err by one. */
const LONG_PAGES = 8

const SHOWN_OF_VIEW = "export_eligibility != 'residency_restricted'"

/**
 * A tenant's records as of a snapshot, in three steps: where to look (`choosePlan`), the query's parts (`pageQuery`), and
 * the rows behind the last page (`rowsBehind`), either without closed versions at once, or (`withoutClosed`) in rounds.
 *
 * @param copied `copiedInstants`, now or a little earlier
 * @param sample of the tenant's records, if there is one; without it the page is the same, but takes longer
 * @param signal aborts the query when the client disconnects
 */
export async function listRecords(
  store: ClickHouseClient,
  question: RecordsQuestion,
  copied: CopiedInstants,
  sample: RecordSample | undefined,
  signal: AbortSignal,
): Promise<StoredAttribution[]> {
  const look = lookAt(question.conditions, sample)
  const bindings = new Bindings()
  const clauses = mostSelectiveFirst(question.conditions, look).map((condition) => clauseOf(condition, bindings))
  if (clauses.includes(false)) return []
  const plan = await choosePlan(store, question, look, signal)
  const conditions = [
    ...clauses.filter((clause) => typeof clause === 'string'),
    ...conditionsOfView(question, bindings),
  ]
  const page = pageQuery({ store, question, copied, look, signal, bindings, conditions }, plan)
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
  readonly copied: CopiedInstants
  readonly look: Look | undefined
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
  /** Exclusive end of the records that the copies hold, and both ends in SQL. */
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
    settings: byGranules ? READ_LIMITS : { ...READ_LIMITS, ...WITHOUT_GRANULES },
    order: [columnOf(question.sort.field), 'id'].map((column) => `${column} ${direction}`).join(', '),
    direction,
    copiedEndMs,
    copiedFrom: instant(copied.fromMs),
    copiedEnd: instant(copiedEndMs),
  }
}

/** Up to `rowsMax` rows of the page's order, behind a record. */
async function rowsBehind(
  page: PageQuery,
  last: After | undefined,
  rowsMax: number,
  validity: Validity,
): Promise<StoredAttribution[]> {
  const stretches = last === undefined ? [EVERYTHING] : stretchesBehind(last, page)
  const rows: StoredAttribution[] = []
  for (const stretch of stretches) {
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
    ...(question.snapshotMs >= copiedEndMs ? [newer] : []),
    ...(reachesBefore(copied.fromMs, question.conditions) ? [older] : []),
  ]
}

async function readSource(
  { store, question, bindings, order, direction, signal }: PageQuery,
  { from, conditions, left, settings, inOrder }: Source,
  rowsMax: number,
  validity: Validity,
): Promise<StoredAttribution[]> {
  const result = await store.query({
    query: `SELECT ${RECORD} FROM ${from} PREWHERE ${ofTenant(conditions)}
            WHERE ${[validity.clause, ...left].join(' AND ')}
            ORDER BY ${inOrder ? `tenant_id ${direction}, ` : ''}${order} LIMIT ${bindings.bind(rowsMax, 'UInt32')}`,
    query_params: { ...snapshotParams(question.tenantId, question.snapshotMs), ...bindings.params },
    format: 'JSONEachRow',
    clickhouse_settings: { ...settings, max_rows_in_set: String(validity.closedMax) },
    abort_signal: signal,
  })
  return (await result.json<StoredAttribution & { id_hex: string }>()).map(namedRecord)
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

/** Which versions a query leaves out; `closedMax`: more values to hold rows against make it fail, 0: none do. */
interface Validity {
  readonly clause: string
  readonly closedMax: number
}
const VALID: Validity = { clause: AS_OF_SNAPSHOT, closedMax: CLOSED_MAX }
const VALID_AT_ANY_COST: Validity = { clause: AS_OF_SNAPSHOT, closedMax: 0 }
const BEGUN: Validity = { clause: BEGUN_BY_SNAPSHOT, closedMax: 0 }

/** A page of a tenant with so many closed versions that its rows are looked up among them instead. */
async function withoutClosed(page: PageQuery): Promise<StoredAttribution[]> {
  const { tenantId, snapshotMs, sort, after, limit } = page.question
  const open: StoredAttribution[] = []
  let last = after
  for (let round = 0; round < ROUNDS_MAX; round++) {
    const rowsMax = Math.ceil(limit * SPARE) * 2 ** round
    const read = await rowsBehind(page, last, rowsMax, BEGUN)
    const isEnd = read.length < rowsMax
    // Versions of one record may be next to each other, and the next round begins behind all of them.
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

/** A table to read, with conditions for `PREWHERE` and for what they leave. */
interface Source {
  readonly from: string
  readonly conditions: readonly string[]
  readonly left: readonly string[]
  readonly settings: Settings
  /** Whether it is read in the order of its key, which begins with the tenant. */
  readonly inOrder: boolean
}

/** A stretch of the order, in which a page is looked for. */
interface Stretch {
  /** For the primary index. */
  readonly bounds: readonly string[]
  /** For what it leaves. */
  readonly left: readonly string[]
}

const EVERYTHING: Stretch = { bounds: [], left: [] }

/**
 * The one place where the tenant comes in: no query over records is written without it. It comes last, since the primary
 * key leaves hardly a row of others to look at.
 */
const ofTenant = (conditions: readonly string[]): string =>
  [...conditions, 'tenant_id = {tenant:String}'].map((condition) => `(${condition})`).join(' AND ')

/**
 * What comes behind a record in the order, one stretch after the other. Where few sort values are shared by many records,
 * the index has to skip by the id too: else a page deep within one value reads all of it that comes before (1.7 million
 * records for page 1,000 of a model). Where hardly any is shared, a plain bound is found faster, by bisection. So is the rest
 * of one value, as a stretch of its own: as part of one question, each granule behind is looked at (10 ms for ten
 * million records).
 */
function stretchesBehind(after: After, { question, table, look, bindings }: PageQuery): Stretch[] {
  const { field, isDescending } = question.sort
  const { value, idHex } = after
  const column = columnOf(field)
  const { kind } = typeOf(field)
  const bound = operandOf(kind, value, bindings)
  const id = operandOf('id', idHex, bindings)
  const than = isDescending ? '<' : '>'
  if (kind !== 'text' && kind !== 'confidence') {
    return [{ bounds: [`${column} ${than}= ${bound}`], left: [`(${column}, id) ${than} (${bound}, ${id})`] }]
  }
  const [ofValue, ofOthers] = [`${column} = ${bound} AND id ${than} ${id}`, `${column} ${than} ${bound}`]
  const isInOrder = table === tableSortedBy(field)
  // So many records are left of the value that the page is hardly ever longer.
  const isLong = isInOrder && leftOfValue(after, question.sort, look) > LONG_PAGES * question.limit
  if (!isLong) return [{ bounds: [`${ofOthers} OR (${ofValue})`], left: [] }]
  return [ofValue, ofOthers].map((stretch) => ({ bounds: [stretch], left: [] }))
}

const typeOf = (field: keyof typeof FILTER_FIELDS): Field['type'] => FILTER_FIELDS[field].type

/**
 * Where the page is looked for: as the sample advises; where that does not know, the orders of filters are asked what they
 * would read, which takes the engine some ten milliseconds, and the order of the sort is read by the granules' indexes
 * where that is too much.
 */
async function choosePlan(
  store: ClickHouseClient,
  { tenantId, snapshotMs, conditions, sort, after, limit }: RecordsQuestion,
  look: Look | undefined,
  signal: AbortSignal,
): Promise<ReadingPlan> {
  if (conditions.some(findsFew)) return { table: BASE, byGranules: true }
  const plan = planReading({ conditions, sort, afterValue: after?.value, limit }, look)
  if (plan !== undefined) return plan
  const sorted = { table: tableSortedBy(sort.field), byGranules: true }
  // As a rule, `ne` excludes hardly any record.
  const candidates = ordersOf({ conditions, sort }).filter(({ known }) =>
    known.some(({ operator }) => operator !== 'ne'),
  )
  if (candidates.length === 0) return sorted

  const bindings = new Bindings()
  const clauses = conditions.map((condition) => clauseOf(condition, bindings)).filter((clause) => clause !== true)
  const where = ofTenant([...clauses.map(String), BEGUN_BY_SNAPSHOT])
  const result = await store.query({
    query: `EXPLAIN ESTIMATE ${candidates.map(({ table }) => `SELECT 1 FROM ${table} WHERE ${where}`).join(' UNION ALL ')}`,
    query_params: { ...snapshotParams(tenantId, snapshotMs), ...bindings.params },
    format: 'JSONEachRow',
    // The order of one filter knows that filter by its primary key; of further ones the granules' indexes know.
    clickhouse_settings: conditions.length > 1 ? READ_LIMITS : { ...READ_LIMITS, ...IGNORING_GRANULES },
    abort_signal: signal,
  })
  const estimates = await result.json<{ table: string; rows: string }>()
  // A table of which nothing would be read is not among the estimates.
  const rowsOf = new Map(estimates.map(({ table, rows }) => [table, Number(rows)]))
  const [best] = candidates
    .map(({ table }) => ({ table, rows: rowsOf.get(table) ?? 0 }))
    .sort((one, other) => one.rows - other.rows)
  return best !== undefined && best.rows <= SORTED_ROWS_MAX ? { table: best.table, byGranules: true } : sorted
}

/** Ids and traces: the base table finds them by their own indexes. */
const findsFew = ({ field, operator }: Condition): boolean =>
  (field === 'id' || field === 'invocation_id' || field === 'trace_id') && (operator === 'eq' || operator === 'in')
