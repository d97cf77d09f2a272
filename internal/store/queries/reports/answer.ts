import { randomBytes } from 'node:crypto'
import type { ClickHouseClient } from '@clickhouse/client'
import { FOLD_SETTINGS, foldedSql, GROUPS, KEPT } from '../../../cohorts/folded.js'
import type { GroupField } from '../../../filters/report-dimensions.js'
import { snapshotParams } from '../../snapshot.js'
import { CLOSED } from '../../tables/closed.js'
import { REPORT_ROWS } from '../../tables/report-rows.js'
import { Bindings } from '../records/conditions.js'
import {
  COMPARED_COLUMN,
  type Compared,
  comparedSql,
  MEMBERS,
  membersSql,
  PREVIOUS_PEOPLE,
  PREVIOUS_TOTAL,
  previousColumn,
  previousSumColumn,
  SIDE,
} from './compared.js'
import { type FigureName, figureColumn, figureType } from './figures.js'
import { type Grouping, groupsSql, labelColumn, PEOPLE, QUERY_BYTES_MAX, type ReportScope, START } from './groups.js'
import { intervalEnd } from './intervals.js'
import { type SpreadMonth, spreadSql } from './spread-pools.js'

/** The calls that an answer covers. */
export interface AnswerScope {
  readonly scope: ReportScope
  /** Months by whose weights pools are spread; undefined: they are not. */
  readonly spreadBy?: readonly SpreadMonth[] | undefined
}

/** The answer to a report: grouped, folded, sorted and paged by ClickHouse. */
export interface ReportQuery extends AnswerScope {
  readonly grouping: Grouping
  readonly figures: readonly FigureName[]
  /** k of the cohort rule. */
  readonly cohortMin: number
  readonly sort: ReportSort
  /** The period that each row is compared with; undefined: none. */
  readonly previous?: AnswerScope | undefined
  /** Whether the filters may hold in that period too; else nothing of it is shown. Default: they may. */
  readonly isPreviousShown?: boolean
  /** Figures that are summed up over all rows of both periods, for an answer that is not staged. Default: none. */
  readonly summed?: readonly FigureName[]
}

/**
 * By time, a label, a figure or the number of people; by a quotient of two figures; by how much one of these changed.
 */
export type SortKey =
  | ValueKey
  | {
      readonly kind: 'change'
      readonly of: ValueKey
      readonly isPercent: boolean
      /** By its size alone. Default: false. */
      readonly isAbsolute?: true
    }
export type ValueKey =
  | { readonly kind: 'start' }
  | { readonly kind: 'people' }
  | { readonly kind: 'label'; readonly name: GroupField }
  | { readonly kind: 'figure'; readonly name: FigureName }
  | { readonly kind: 'quotient'; readonly of: FigureName; readonly by: readonly FigureName[] }
export type ReportSort = readonly { readonly key: SortKey; readonly isDescending: boolean }[]

export interface AnswerRow {
  /** Undefined when it is folded into the whole period, or there is no interval. */
  readonly interval: { readonly fromMs: number; readonly toMs: number } | undefined
  /** The labels that it keeps, the coarsest first; fewer than asked for in a folded row. */
  readonly labels: readonly string[]
  readonly isFolded: boolean
  readonly groups: number
  readonly people: number
  readonly figures: Readonly<Record<FigureName, string>>
  /** Only where periods are compared. */
  readonly previous?: PreviousRow | undefined
}

/** What a row had in the period before; only where `compared` is not `not_shown`. */
export interface PreviousRow {
  readonly compared: Compared
  readonly people: number
  readonly figures: Readonly<Record<FigureName, string>>
}

/** Of all rows of an answer, whatever the page. */
export interface AnswerTotals {
  readonly rows: number
  readonly costUsd: string
  /** Only where it is among the figures. */
  readonly notionalCostUsd?: string | undefined
  /** Likewise. */
  readonly unspreadCostUsd?: string | undefined
  /** Of the period before; undefined where it is not compared or must not be shown. */
  readonly previousCostUsd?: string | undefined
  /** Only where asked for: of both periods, whether their rows are shown or not. */
  readonly sums?: { readonly now: AnswerRow['figures']; readonly before: AnswerRow['figures'] } | undefined
}

export interface AnswerPage {
  readonly rows: readonly AnswerRow[]
  readonly totals: AnswerTotals
}

/** No report is refused for its size: what does not fit into memory is sorted and grouped on disk. */
export const LIMITS = {
  max_execution_time: 120,
  max_memory_usage: '1500000000',
  max_bytes_before_external_group_by: '500000000',
  max_bytes_before_external_sort: '300000000',
  max_query_size: String(QUERY_BYTES_MAX),
  // Figures come as texts, which is cheaper to plan than a conversion of each.
  output_format_json_quote_decimals: 1,
  output_format_json_quote_64bit_integers: 1,
  ...FOLD_SETTINGS,
} as const

/** The first rows of an answer. */
export async function readAnswer(
  store: ClickHouseClient,
  query: ReportQuery,
  limit: number,
  signal: AbortSignal,
): Promise<AnswerPage> {
  const bindings = new Bindings()
  const rows = rowsSql(query, bindings)
  const result = await store.query({
    query: `SELECT ${rows.columns.join(', ')} FROM (${rows.from}) ORDER BY ${rows.order}
            LIMIT ${bindings.bind(limit, 'UInt32')}`,
    query_params: { ...snapshotParams(query.scope.tenantId, query.scope.snapshotMs), ...bindings.params },
    format: 'JSONCompactEachRow',
    clickhouse_settings: LIMITS,
    abort_signal: signal,
  })
  return pageOf(await result.json<WireRow>(), query)
}

/** Stages all rows of an answer in their order. @returns its name for `readStaged` */
export async function stageAnswer(store: ClickHouseClient, query: ReportQuery, signal: AbortSignal): Promise<string> {
  const bindings = new Bindings()
  const rows = rowsSql(query, bindings)
  const answer = randomBytes(16).toString('hex')
  const row = `formatRowNoNewline('JSONCompactEachRow', ${rows.columns.map((_, i) => `c${i}`).join(', ')})`
  await store.command({
    query: `INSERT INTO ${REPORT_ROWS} (tenant_id, answer, position, row)
            SELECT {tenant:String}, unhex(${bindings.bind(answer, 'String')}), rowNumberInAllBlocks(), ${row}
            FROM (SELECT ${rows.columns.map((column, i) => `${column} AS c${i}`).join(', ')} FROM (${rows.from})
              ORDER BY ${rows.order})`,
    query_params: { ...snapshotParams(query.scope.tenantId, query.scope.snapshotMs), ...bindings.params },
    clickhouse_settings: { ...LIMITS, max_insert_threads: '1', deduplicate_insert_select: 'disable' },
    abort_signal: signal,
  })
  return answer
}

/** Rows of a staged answer from a position on; none once they have expired. */
export async function readStaged(
  store: ClickHouseClient,
  query: ReportQuery,
  answer: string,
  position: number,
  limit: number,
  signal: AbortSignal,
): Promise<AnswerPage> {
  const result = await store.query({
    query: `SELECT row FROM ${REPORT_ROWS}
            WHERE tenant_id = {tenant:String} AND answer = unhex({answer:String})
              AND position >= {position:UInt64} AND position < {end:UInt64}
            ORDER BY position`,
    query_params: { tenant: query.scope.tenantId, answer, position, end: position + limit },
    format: 'JSONCompactEachRow',
    abort_signal: signal,
  })
  const rows = await result.json<readonly [string]>()
  return pageOf(
    rows.map(([row]) => JSON.parse(row) as WireRow),
    query,
  )
}

/** Whether versions of records in a period were closed by an instant: else nothing has to be left out. */
export async function hasClosedIn(
  store: ClickHouseClient,
  { tenantId, snapshotMs, fromMs, toMs }: Pick<ReportScope, 'tenantId' | 'snapshotMs' | 'fromMs' | 'toMs'>,
  signal: AbortSignal,
): Promise<boolean> {
  const result = await store.query({
    query: `SELECT 1 FROM ${CLOSED.name} WHERE tenant_id = {tenant:String}
              AND event_time >= fromUnixTimestamp64Milli({from:Int64})
              AND event_time < fromUnixTimestamp64Milli({to:Int64})
              AND closed_at <= fromUnixTimestamp64Milli({snapshot:Int64}) LIMIT 1`,
    query_params: { ...snapshotParams(tenantId, snapshotMs), from: fromMs, to: toMs },
    format: 'JSONCompactEachRow',
    abort_signal: signal,
  })
  return (await result.json()).length > 0
}

type WireRow = readonly (string | number)[]
/** Before the labels and the figures. */
const LEADING = ['start', 'end', 'kept', 'groups', 'people', 'rows', 'cost', 'notional', 'unspread'] as const

/**
 * Whether intervals fold like labels. Without filters an interval is a root, which is always shown: it is all calls of
 * the tenant. With filters it may be the calls of one person, so that the period is the root.
 */
export const foldsIntervals = ({ scope, grouping }: ReportQuery): boolean =>
  grouping.interval !== undefined && scope.filters.length > 0

/** @returns a query of the folded rows, and the columns and the order of an answer over it */
function rowsSql(query: ReportQuery, bindings: Bindings) {
  const { grouping, figures, sort, previous, summed = [] } = query
  const own = grouping.groupBy.map((_, i) => labelColumn(i))
  const from =
    previous === undefined
      ? foldedRows(query, query, bindings)
      : comparedSql(rowsOfBoth(query, previous, bindings), { ...query, leaf: leafOf(query) }, bindings)
  const columns = [
    `toUnixTimestamp(${START})`,
    `toUnixTimestamp(${intervalEnd(grouping.interval, START, bindings.bind(grouping.zone, 'String'))})`,
    `toUInt32(${KEPT})`,
    `toString(${GROUPS})`,
    `toString(${PEOPLE_COUNT})`,
    'toString(count() OVER ())',
    `toString(sum(${figureColumn('cost_usd')}) OVER ())`,
    ...TOTALLED.map((name) => (figures.includes(name) ? `toString(sum(${figureColumn(name)}) OVER ())` : "''")),
    ...own,
    ...figures.map(figureColumn),
    ...(previous === undefined
      ? []
      : [PREVIOUS_TOTAL, COMPARED_COLUMN, `toString(${PREVIOUS_PEOPLE})`, ...figures.map(previousColumn)]),
    ...summed.map((name) => `sum(${figureColumn(name)}) OVER ()`),
    ...summed.map(previousSumColumn),
  ]
  const asked = sort.map(({ key, isDescending }) => {
    const value = key.kind === 'change' ? changeSql(key, grouping) : valueSql(key, grouping, 'now')
    return `${value} ${isDescending ? 'DESC' : 'ASC'} NULLS LAST`
  })
  // Rows of equal keys have one order, too, whatever the threads did.
  const order = [...asked, START, `${KEPT} DESC`, ...own].join(', ')
  return { from, columns, order }
}

/** The rows of both periods with their side, read and folded at once where nothing but the period tells them apart. */
function rowsOfBoth(query: ReportQuery, previous: AnswerScope, bindings: Bindings): string {
  const { grouping, scope } = query
  if (grouping.interval === undefined && [query, previous].every(({ spreadBy = [] }) => spreadBy.length === 0)) {
    const both = foldedRows(query, { scope: { ...scope, before: previous.scope } }, bindings)
    return `SELECT *, toUInt8(toUnixTimestamp(${START})) AS ${SIDE} FROM (${both})`
  }
  const labels = grouping.groupBy.map((_, i) => labelColumn(i))
  const columns = [START, ...labels, KEPT, GROUPS, PEOPLE, ...query.figures.map(figureColumn), MEMBERS].join(', ')
  return [query, previous]
    .map((of, side) => `SELECT ${columns}, toUInt8(${side}) AS ${SIDE} FROM (${foldedRows(query, of, bindings)})`)
    .join(' UNION ALL ')
}

/** The rows of a period, folded by themselves. */
function foldedRows(query: ReportQuery, { scope, spreadBy }: AnswerScope, bindings: Bindings): string {
  const { grouping, figures, cohortMin, previous } = query
  const own = grouping.groupBy.map((_, i) => labelColumn(i))
  const folds = foldsIntervals(query)
  const labels = folds ? [START, ...own] : own
  const isCompared = previous !== undefined
  const groups = groupsSql(scope, grouping, figures, bindings)
  const folded = foldedSql(
    {
      from: isCompared ? `(SELECT *, ${membersSql(grouping)} FROM (${groups}))` : `(${groups})`,
      root: folds ? [] : [START],
      labels,
      people: PEOPLE,
      cost: figureColumn('cost_usd'),
      sums: Object.fromEntries(figures.map((name) => [figureColumn(name), figureType(name)])),
      lists: isCompared ? [MEMBERS] : [],
    },
    cohortMin,
  )
  const spreading = { scope, grouping, figures, months: spreadBy ?? [], cohortMin, leaf: labels.length, isCompared }
  return spreadSql(folded, spreading, bindings)
}

/** Figures whose totals are there only where these are asked for. */
export const TOTALLED = ['notional_cost_usd', 'unspread_cost_usd'] as const
/** @param usd in the order of `TOTALLED` */
export const extraTotals = ({ figures }: Pick<ReportQuery, 'figures'>, usd: readonly string[]) => ({
  ...(figures.includes('notional_cost_usd') && { notionalCostUsd: usd[0] ?? '0' }),
  ...(figures.includes('unspread_cost_usd') && { unspreadCostUsd: usd[1] ?? '0' }),
})

const PEOPLE_COUNT = `finalizeAggregation(${PEOPLE})`

const leafOf = (query: ReportQuery): number => query.grouping.groupBy.length + (foldsIntervals(query) ? 1 : 0)

/** What rows are sorted by, in their own period or the one before. */
function valueSql(key: ValueKey, { groupBy }: Grouping, of: 'now' | 'before'): string {
  const column = of === 'now' ? figureColumn : previousColumn
  switch (key.kind) {
    case 'start':
      return START
    case 'people':
      return of === 'now' ? PEOPLE_COUNT : PREVIOUS_PEOPLE
    case 'label':
      return labelColumn(groupBy.indexOf(key.name))
    case 'figure':
      return column(key.name)
    case 'quotient':
      return `toFloat64(${column(key.of)}) / nullIf(${key.by.map(column).join(' + ')}, 0)`
  }
}

function changeSql({ of, isPercent, isAbsolute }: Extract<SortKey, { kind: 'change' }>, grouping: Grouping): string {
  const [now, before] = [valueSql(of, grouping, 'now'), valueSql(of, grouping, 'before')]
  // The numbers of people have no sign.
  const change = of.kind === 'people' ? `toInt64(${now}) - toInt64(${before})` : `${now} - ${before}`
  const value = isPercent ? `toFloat64(${change}) / nullIf(toFloat64(${before}), 0)` : change
  return `if(${COMPARED_COLUMN} = 'not_shown', NULL, ${isAbsolute ? `abs(${value})` : value})`
}

function pageOf(rows: readonly WireRow[], query: ReportQuery): AnswerPage {
  const { grouping, figures, summed } = query
  const depth = grouping.groupBy.length
  const [first] = rows
  const ofFigures = (row: WireRow, from: number, names = figures) =>
    Object.fromEntries(names.map((name, i) => [name, String(row[from + i] ?? '0')])) as AnswerRow['figures']
  /** Where the columns of the previous period begin. */
  const before = LEADING.length + depth + figures.length
  const at = (row: WireRow, name: (typeof LEADING)[number]): string | number => row[LEADING.indexOf(name)] ?? ''
  return {
    totals: {
      rows: first === undefined ? 0 : Number(at(first, 'rows')),
      costUsd: first === undefined ? '0' : String(at(first, 'cost')),
      ...extraTotals(
        query,
        first === undefined ? ['0', '0'] : [String(at(first, 'notional')), String(at(first, 'unspread'))],
      ),
      previousCostUsd: query.previous === undefined ? undefined : String(first?.[before] ?? '') || undefined,
      sums: first &&
        summed && {
          now: ofFigures(first, first.length - 2 * summed.length, summed),
          before: ofFigures(first, first.length - summed.length, summed),
        },
    },
    rows: rows.map((row) => {
      const folds = foldsIntervals(query)
      const kept = Number(at(row, 'kept'))
      const keptLabels = folds ? Math.max(kept - 1, 0) : kept
      const isOfPeriod = grouping.interval === undefined || (folds && kept === 0)
      return {
        interval: isOfPeriod
          ? undefined
          : { fromMs: Number(at(row, 'start')) * 1000, toMs: Number(at(row, 'end')) * 1000 },
        labels: row.slice(LEADING.length, LEADING.length + keptLabels).map(String),
        isFolded: kept < depth + (folds ? 1 : 0),
        groups: Number(at(row, 'groups')),
        people: Number(at(row, 'people')),
        figures: ofFigures(row, LEADING.length + depth),
        ...(query.previous !== undefined && {
          previous: {
            compared: row[before + 1] as Compared,
            people: Number(row[before + 2]),
            figures: ofFigures(row, before + 3),
          },
        }),
      }
    }),
  }
}
