import { createHash } from 'node:crypto'
import type { ClickHouseClient } from '@clickhouse/client'
import { type FilterCell, holdingFilters } from '../../../cohorts/holding-filters.js'
import type { Condition } from '../../../filters/parse.js'
import type { GroupField } from '../../../filters/report-dimensions.js'
import { snapshotParams } from '../../snapshot.js'
import { Bindings } from '../records/conditions.js'
import { LIMITS } from './answer.js'
import { figureSteps } from './figures.js'
import { filterCellsSql, type ReportScope } from './groups.js'

/** More cells take too long to fold. */
const CELLS_MAX = 5_000
/** Further filters are dropped: each doubles what there is to check. */
const CHECKED_MAX = 8
/** Fields whose values name single calls: nothing folds by them, and each call would be a cell. */
const OF_CALLS: ReadonlySet<GroupField> = new Set(['trace_id', 'operation_id'])
/** `break` ends each thread above the limit: what it leaves is more than `CELLS_MAX` cells. */
const CELL_LIMITS = { max_rows_to_group_by: String(CELLS_MAX), group_by_overflow_mode: 'break' } as const

/**
 * How many of the first filters of a scope may hold (`internal/cohorts/holding-filters.ts`).
 *
 * @param groupBy what else the question tells people apart by
 * @param k people that an answer, and what it leaves out, has at least
 * @param only a further condition over records
 */
export async function countHoldingFilters(
  store: ClickHouseClient,
  scope: ReportScope,
  groupBy: readonly GroupField[],
  k: number,
  signal: AbortSignal,
  only = 'true',
): Promise<number> {
  const isHarmless = (first: number): boolean =>
    scope.filters.slice(0, first).every((filter) => namesNobody(filter, scope))
  if (isHarmless(scope.filters.length)) return scope.filters.length
  const filters = scope.filters.slice(0, CHECKED_MAX)
  const cellsBy = async (fields: readonly GroupField[]): Promise<FilterCell[] | undefined> => {
    const bindings = new Bindings()
    const sql = filterCellsSql({ ...scope, filters }, groupBy, { fewMax: k, fields, only }, bindings)
    const result = await store.query({
      query: `${sql} LIMIT ${CELLS_MAX + 1}`,
      query_params: { ...snapshotParams(scope.tenantId, scope.snapshotMs), ...bindings.params },
      format: 'JSONCompactEachRow',
      clickhouse_settings: { ...LIMITS, ...CELL_LIMITS },
      abort_signal: signal,
    })
    const rows = await result.json<readonly [string[], number[], string[], string]>()
    if (fields.length > 0 && rows.length > CELLS_MAX) return undefined
    return rows.map(([values, matches, few, cost]) => ({
      values,
      matches: matches.map(Boolean),
      few,
      cost: figureSteps(cost),
    }))
  }
  const tables = await smallEnough([...new Set(filters.map(({ field }) => field))].filter(isOfMany), cellsBy)
  let holding = filters.length
  for (let before = -1; before !== holding; ) {
    before = holding
    for (const cells of tables) {
      // What is left out costs the total: no dollars are told apart.
      const counted = scope.selectsFreeCalls ? cells.filter(({ matches }) => matches.every(Boolean)) : cells
      holding = holdingFilters(counted, holding, k, isHarmless)
    }
  }
  return holding
}
const isOfMany = (field: GroupField): boolean => !OF_CALLS.has(field)

/** Everything that the answer of `countHoldingFilters` depends on. */
export function holdingKey(scope: ReportScope, groupBy: readonly GroupField[], k: number): string {
  const bindings = new Bindings()
  const fields = scope.filters.map(({ field }) => field)
  const sql = filterCellsSql(scope, groupBy, { fewMax: k, fields, only: 'true' }, bindings)
  const params = [snapshotParams(scope.tenantId, scope.snapshotMs), bindings.params]
  const others = [scope.selectsFreeCalls, ...scope.filters.map((filter) => namesNobody(filter, scope))]
  return createHash('sha256')
    .update(JSON.stringify([sql, params, others]))
    .digest('base64url')
}

/** The cells by all fields; where these are too many by each field alone, which shows as much; else by what matches. */
async function smallEnough(
  fields: readonly GroupField[],
  cellsBy: (fields: readonly GroupField[]) => Promise<FilterCell[] | undefined>,
): Promise<FilterCell[][]> {
  const cells = await cellsBy(fields)
  if (cells !== undefined) return [cells]
  const fewer = fields.length > 1 ? fields.map((field) => [field]) : [[]]
  const tables: FilterCell[][] = []
  for (const each of fewer) tables.push(...(await smallEnough(each, cellsBy)))
  return tables
}

/** Whether a filter names people nowhere, for a tenant that lets cost objects be named: by no name, or by theirs. */
function namesNobody(
  { field, operator, values }: Condition<GroupField>,
  { costObjects, personalTags }: ReportScope,
): boolean {
  if (costObjects === undefined) return false
  if (field === 'owner' || field === 'service') {
    const known = new Set(field === 'owner' ? costObjects.owners : costObjects.services)
    return operator !== 'contains' && values.every((value) => known.has(value))
  }
  return field !== 'credential' && !personalTags.some((tag) => tag === field)
}
