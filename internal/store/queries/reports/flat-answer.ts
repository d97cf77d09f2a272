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
import { comparedRows, type FoldedSide } from './flat-compared.js'
import { inOrder } from './flat-order.js'
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
  (previous === undefined || grouping.interval === undefined) &&
  [...spreadBy, ...(previous?.spreadBy ?? [])].every(({ weights }) => weights.length === 0)

/** @returns the first rows and the totals of an answer; undefined when it has too many groups */
export async function readFlatAnswer(
  store: ClickHouseClient,
  query: ReportQuery,
  limit: number,
  signal: AbortSignal,
): Promise<AnswerPage | undefined> {
  const { figures, previous, isPreviousShown = true } = query
  const groups = await readGroups(store, query, signal)
  if (groups.length > GROUPS_MAX) return undefined
  if (previous === undefined) {
    const { own, folded } = await foldedSide(store, query, groups, signal)
    const rows = folded === undefined ? own : [...own, folded]
    return { rows: inOrder(rows, query).slice(0, limit), totals: totalsOf(query, rows.length, groups) }
  }
  const now = groups.filter(({ startS }) => startS !== BEFORE_S)
  const before = groups.filter(({ startS }) => startS === BEFORE_S)
  const sides = await Promise.all([
    foldedSide(store, query, now, signal),
    foldedSide(store, { ...query, ...previous }, before, signal),
  ])
  const rows = comparedRows(...sides, figures, isPreviousShown)
  return {
    rows: inOrder(rows, query).slice(0, limit),
    totals: {
      ...totalsOf(query, rows.length, now),
      ...(isPreviousShown && rows.length > 0 && { previousCostUsd: sumOf('cost_usd', before) }),
      ...(query.summed !== undefined &&
        rows.length > 0 && { sums: { now: sumsOf(query.summed, now), before: sumsOf(query.summed, before) } }),
    },
  }
}

/** The start of groups of the period before, where there are two. */
const BEFORE_S = 1

/** The groups of a period, of which those of few people are one row. */
async function foldedSide(
  store: ClickHouseClient,
  query: ReportQuery,
  groups: readonly Group[],
  signal: AbortSignal,
): Promise<FoldedSide> {
  if (query.grouping.groupBy.length === 0 && !foldsIntervals(query)) {
    return { own: groups.map(({ row }) => row), folded: undefined, members: new Set() }
  }
  const { own, folded, few, joined } = foldOneLevel(groups, query.cohortMin, byLabel)
  const rows = own.map(({ row }) => row)
  if (folded.length === 0) return { own: rows, folded: undefined, members: new Set() }
  const all = joined === undefined ? folded : [...folded, joined]
  const count =
    joined === undefined ? few.size : joined.people + few.size - (await presentIn(store, query, joined, few, signal))
  return {
    own: rows,
    folded: foldedRow(all, count, query.figures),
    members: new Set(all.map(({ row }) => row.labels[0] ?? '')),
  }
}

const totalsOf = (query: ReportQuery, rows: number, groups: readonly Group[]): AnswerPage['totals'] => ({
  rows,
  costUsd: sumOf('cost_usd', groups),
  ...extraTotals(
    query,
    TOTALLED.map((name) => (query.figures.includes(name) ? sumOf(name, groups) : '0')),
  ),
})

const sumOf = (name: FigureName, groups: readonly Group[]): string =>
  figureText(groups.reduce((sum, { row }) => sum + figureSteps(row.figures[name]), 0n))

const sumsOf = (names: readonly FigureName[], groups: readonly Group[]): AnswerRow['figures'] =>
  Object.fromEntries(names.map((name) => [name, sumOf(name, groups)])) as AnswerRow['figures']

interface Group extends FlatGroup {
  readonly startS: number
  readonly row: AnswerRow
}
type WireGroup = readonly (string | readonly string[])[]

async function readGroups(store: ClickHouseClient, query: ReportQuery, signal: AbortSignal): Promise<Group[]> {
  const { grouping, figures, cohortMin, previous } = query
  // Both periods at once: nothing but the time tells them apart.
  const scope = previous === undefined ? query.scope : { ...query.scope, before: previous.scope }
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
  return { startS, row, people: row.people, few, cost: figureSteps(named.cost_usd) }
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
const foldedRow = (groups: readonly Group[], people: number, figures: readonly FigureName[]): AnswerRow => ({
  interval: undefined,
  labels: [],
  isFolded: true,
  groups: groups.length,
  people,
  figures: sumsOf(figures, groups),
})
