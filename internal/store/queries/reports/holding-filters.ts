import type { ClickHouseClient } from '@clickhouse/client'
import { type FilterCell, holdingFilters } from '../../../cohorts/holding-filters.js'
import type { Condition } from '../../../filters/parse.js'
import type { GroupField } from '../../../filters/report-dimensions.js'
import { snapshotParams } from '../../snapshot.js'
import { Bindings } from '../records/conditions.js'
import { LIMITS } from './answer.js'
import { figureSteps } from './figures.js'
import { filterCellsSql, type ReportScope } from './groups.js'

/** More cells, or cells of more filters, are told apart only by which filters match: else they take too long to fold. */
const CELLS_MAX = 5_000
const FILTERS_BY_VALUE_MAX = 8

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
  const { filters } = scope
  const isHarmless = (first: number): boolean => filters.slice(0, first).every((filter) => namesNobody(filter, scope))
  if (isHarmless(filters.length)) return filters.length
  const cellsBy = async (isByValue: boolean): Promise<FilterCell[]> => {
    const bindings = new Bindings()
    const result = await store.query({
      query: `${filterCellsSql(scope, groupBy, { fewMax: k, isByValue, only }, bindings)} LIMIT ${CELLS_MAX + 1}`,
      query_params: { ...snapshotParams(scope.tenantId, scope.snapshotMs), ...bindings.params },
      format: 'JSONCompactEachRow',
      clickhouse_settings: LIMITS,
      abort_signal: signal,
    })
    const rows = await result.json<readonly [string[], number[], string[], string]>()
    return rows.map(([values, matches, few, cost]) => ({
      values,
      matches: matches.map(Boolean),
      few,
      cost: figureSteps(cost),
    }))
  }
  for (const isByValue of filters.length > FILTERS_BY_VALUE_MAX ? [false] : [true, false]) {
    const cells = await cellsBy(isByValue)
    if (cells.length <= CELLS_MAX) return holdingFilters(cells, filters.length, k, isHarmless)
  }
  return 0
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
