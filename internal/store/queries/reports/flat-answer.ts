import type { ClickHouseClient } from '@clickhouse/client'
import { type FlatGroup, foldOneLevel } from '../../../cohorts/fold-one-level.js'
import { snapshotParams } from '../../snapshot.js'
import { Bindings } from '../records/conditions.js'
import {
  type AnswerPage,
  type AnswerRow,
  extraTotals,
  foldsIntervals,
  LIMITS,
  type ReportQuery,
  TOTALLED,
} from './answer.js'
import { type FigureName, figureSteps, figureText } from './figures.js'
import { orderOf } from './flat-order.js'
import { countedGroupsSql, presentSql } from './groups.js'

/**
 * Answers with one label or less, folded and sorted in this process: ClickHouse needs longer to plan these two steps
 * than to carry them out. Groups come from one plain `GROUP BY`.
 */

/** More groups are left to ClickHouse. */
const GROUPS_MAX = 5_000

/** Whether `readFlatAnswer` knows how to answer it. */
export const isFlat = ({ grouping, previous, spreadBy = [] }: ReportQuery): boolean =>
  grouping.groupBy.length + (grouping.interval === undefined ? 0 : 1) < 2 &&
  previous === undefined &&
  spreadBy.every(({ weights }) => weights.length === 0)

/** @returns the first rows and the totals of an answer; undefined when it has too many groups */
export async function readFlatAnswer(
  store: ClickHouseClient,
  query: ReportQuery,
  limit: number,
  signal: AbortSignal,
): Promise<AnswerPage | undefined> {
  const groups = await readGroups(store, query, signal)
  if (groups.length > GROUPS_MAX) return undefined
  const folds = query.grouping.groupBy.length > 0 || foldsIntervals(query)
  const { own, folded, few, joined } = folds
    ? foldOneLevel(groups, query.cohortMin, byLabel)
    : { own: groups, folded: [], few: new Set<string>(), joined: undefined }
  const rows = own.map(({ row }) => row)
  if (folded.length > 0) {
    const all = joined === undefined ? folded : [...folded, joined]
    const count =
      joined === undefined ? few.size : joined.people + few.size - (await presentIn(store, query, joined, few, signal))
    rows.push(foldedRow(all, count, query.figures))
  }
  return {
    rows: rows.sort(orderOf(query)).slice(0, limit),
    totals: {
      rows: rows.length,
      costUsd: figureText(groups.reduce((sum, { cost }) => sum + cost, 0n)),
      ...extraTotals(
        query,
        TOTALLED.map((_, i) => figureText(groups.reduce((sum, { extras }) => sum + (extras[i] ?? 0n), 0n))),
      ),
    },
  }
}

interface Group extends FlatGroup {
  readonly startS: number
  readonly row: AnswerRow
  /** In the order of `TOTALLED`. */
  readonly extras: readonly bigint[]
}
type WireGroup = readonly (string | readonly string[])[]

async function readGroups(store: ClickHouseClient, query: ReportQuery, signal: AbortSignal): Promise<Group[]> {
  const { scope, grouping, figures, cohortMin } = query
  const bindings = new Bindings()
  const result = await store.query({
    query: `${countedGroupsSql(scope, grouping, figures, bindings, cohortMin)} LIMIT ${GROUPS_MAX + 1}`,
    query_params: { ...snapshotParams(scope.tenantId, scope.snapshotMs), ...bindings.params },
    format: 'JSONCompactEachRow',
    clickhouse_settings: { ...LIMITS, date_time_output_format: 'unix_timestamp' },
    abort_signal: signal,
  })
  return (await result.json<WireGroup>()).map((wire) => groupOf(wire, query))
}

/** Start and end of the interval; then labels, the number of people, some of them, and the figures. */
const LEADING = 2

function groupOf(wire: WireGroup, { figures, grouping }: ReportQuery): Group {
  const depth = grouping.groupBy.length
  const [people, few] = wire.slice(LEADING + depth) as [string, string[]]
  const named = Object.fromEntries(
    figures.map((name, i) => [name, String(wire[LEADING + depth + 2 + i] ?? '0')]),
  ) as AnswerRow['figures']
  const [startS, endS] = [Number(wire[0]), Number(wire[1])]
  const row: AnswerRow = {
    interval: grouping.interval === undefined ? undefined : { fromMs: startS * 1000, toMs: endS * 1000 },
    labels: wire.slice(LEADING, LEADING + depth).map(String),
    isFolded: false,
    groups: 1,
    people: Number(people),
    figures: named,
  }
  const extras = TOTALLED.map((name) => figureSteps(named[name] ?? '0'))
  return { startS, row, people: row.people, few, cost: figureSteps(named.cost_usd), extras }
}

/** By the bytes, as ClickHouse compares. */
const byLabel = (one: Group, other: Group): number =>
  one.startS - other.startS || Buffer.compare(labelOf(one.row), labelOf(other.row))
const labelOf = ({ labels }: AnswerRow): Buffer => Buffer.from(labels[0] ?? '')

/** How many of some people are among those of a group. */
async function presentIn(
  store: ClickHouseClient,
  { scope, grouping }: ReportQuery,
  { startS, row }: Group,
  people: Iterable<string>,
  signal: AbortSignal,
): Promise<number> {
  const bindings = new Bindings()
  const result = await store.query({
    query: presentSql(scope, grouping, { startS, labels: row.labels }, people, bindings),
    query_params: { ...snapshotParams(scope.tenantId, scope.snapshotMs), ...bindings.params },
    format: 'JSONCompactEachRow',
    clickhouse_settings: LIMITS,
    abort_signal: signal,
  })
  const [present] = await result.json<readonly [string]>()
  return Number(present?.[0] ?? 0)
}

/** A row that has lost its label, or its interval. */
function foldedRow(groups: readonly Group[], people: number, figures: readonly FigureName[]): AnswerRow {
  const sumOf = (name: FigureName): string =>
    figureText(groups.reduce((sum, { row }) => sum + figureSteps(row.figures[name]), 0n))
  return {
    interval: undefined,
    labels: [],
    isFolded: true,
    groups: groups.length,
    people,
    figures: Object.fromEntries(figures.map((name) => [name, sumOf(name)])) as AnswerRow['figures'],
  }
}
