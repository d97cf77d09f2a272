import type { ClickHouseClient } from '@clickhouse/client'
import { DIMENSION_NAMES, type DimensionName, type GroupField } from '../../../filters/report-dimensions.js'
import { isTagField, NOT_DECLARED, tagFieldOf } from '../../../records/dimensions.js'
import { UNASSIGNED } from '../../../records/interpretation.js'
import { asOfSnapshotWithin, IN_PERIOD, snapshotParams } from '../../snapshot.js'
import { ATTRIBUTIONS } from '../../tables/attributions.js'
import { USAGE_DIMENSIONS } from '../../tables/usage.js'
import { Bindings } from '../records/conditions.js'
import { dimensionCondition, dimensionSql } from './dimensions.js'
import { IS_PLAUSIBLE } from './plausible.js'

/** Selects calls that match all its fields; an empty filter selects all calls. */
export type SpendFilter = { readonly [D in DimensionName]?: string } & {
  /** Values of declared tags, by folded key. */
  readonly tags?: Readonly<Record<string, string>>
}

/** Milliseconds since the epoch, on a quarter hour; the end is exclusive. */
export interface SpendWindow {
  readonly fromMs: number
  readonly toMs: number
}

export interface SpendSelection extends SpendWindow {
  readonly filter: SpendFilter
}

/** Cost of the calls of one group in a window. */
export interface GroupSpend {
  readonly group: string
  /** Decimal text. */
  readonly costUsd: string
}

const READ_LIMITS = { max_execution_time: 30, max_memory_usage: '1000000000' } as const

/** Sums per query: their conditions and parameters are part of its URL. */
const SUMS_MAX = 100

/**
 * What current spend is summed from: the rollups where they have all dimensions that are asked for, else the records.
 * For some milliseconds a record that changes may count twice in either.
 */
interface Source {
  /** Table and condition on the tenant and a span of time. */
  readonly from: (span: SpendWindow, bindings: Bindings) => string
  readonly within: (window: SpendWindow, bindings: Bindings) => string
  /** Whether there are calls. */
  readonly hasCalls: string
}

const ROLLUPS: Source = {
  from: (span, bindings) => `usage_15m WHERE ${OF_TENANT} AND ${ROLLUPS.within(span, bindings)}`,
  within: ({ fromMs, toMs }, bindings) =>
    `bucket >= toDateTime(${bindings.bind(fromMs / 1000, 'UInt32')})
     AND bucket < toDateTime(${bindings.bind(toMs / 1000, 'UInt32')})`,
  hasCalls: 'sum(calls) > 0',
}

/** Later than any version: all that are stored have begun, and all that are closed count as closed. */
const NEWEST_MS = Date.UTC(2200, 0)

const RECORDS: Source = {
  from(span, bindings) {
    const within = RECORDS.within(span, bindings)
    const snapshot = bindings.bind(NEWEST_MS, 'Int64')
    return `${ATTRIBUTIONS.name} WHERE ${OF_TENANT} AND ${within}
            AND ${asOfSnapshotWithin(within).replaceAll('{snapshot:Int64}', snapshot)}`
  },
  within: ({ fromMs, toMs }, bindings) =>
    `event_time >= fromUnixTimestamp64Milli(${bindings.bind(fromMs, 'Int64')})
     AND event_time < fromUnixTimestamp64Milli(${bindings.bind(toMs, 'Int64')})`,
  hasCalls: 'count() > 0',
}

const IN_ROLLUPS: ReadonlySet<string> = new Set<DimensionName>(
  DIMENSION_NAMES.filter((name) => name === 'pool' || USAGE_DIMENSIONS.includes(name)),
)
const sourceOf = (filter: SpendFilter, per?: GroupField): Source =>
  [...Object.keys(filter), ...(per === undefined ? [] : [per])].every((name) => IN_ROLLUPS.has(name))
    ? ROLLUPS
    : RECORDS

/**
 * Cost of calls by selection: one query for many selections, however many groups the tenant has. Decimal texts in the
 * order of the selections.
 */
export async function spendOf(
  store: ClickHouseClient,
  tenantId: string,
  selections: readonly SpendSelection[],
  signal?: AbortSignal,
): Promise<string[]> {
  const spent: string[] = []
  for (const source of [ROLLUPS, RECORDS]) {
    const indexes = [...selections.keys()].filter((i) => sourceOf(selections[i]?.filter ?? {}) === source)
    for (let at = 0; at < indexes.length; at += SUMS_MAX) {
      const chunk = indexes.slice(at, at + SUMS_MAX)
      const asked = chunk.map((i) => selections[i] as SpendSelection)
      const bindings = new Bindings()
      const sums = asked.map(
        (each) => `sumIf(cost_usd, ${[source.within(each, bindings), ...equal(each.filter, bindings)].join(' AND ')})`,
      )
      const [row = []] = await rows<readonly string[]>(
        store,
        `SELECT ${sums.join(', ')} FROM ${source.from(spanOf(asked), bindings)}`,
        { ...bindings.params, tenant: tenantId },
        signal,
      )
      for (const [place, i] of chunk.entries()) spent[i] = row[place] ?? '0'
    }
  }
  return spent
}

/** The groups of a dimension, and windows of which each is summed on its own. */
export interface GroupSelection {
  readonly filter: SpendFilter
  readonly per: GroupField
}

/**
 * Groups whose cost reaches an amount in at least one of several windows, in one query.
 *
 * @param windows `atLeastUsd` is decimal text
 * @returns their cost in each window
 */
export async function groupsAbove(
  store: ClickHouseClient,
  tenantId: string,
  { filter, per }: GroupSelection,
  windows: readonly (SpendWindow & { readonly atLeastUsd: string })[],
  signal?: AbortSignal,
): Promise<{ readonly group: string; readonly costsUsd: readonly string[] }[]> {
  const bindings = new Bindings()
  const source = sourceOf(filter, per)
  const sums = windows.map((window, i) => `sumIf(cost_usd, ${source.within(window, bindings)}) AS s${i}`)
  const reached = windows.map(({ atLeastUsd }, i) => `s${i} >= ${bindings.bind(atLeastUsd, 'Decimal(76, 18)')}`)
  const found = await rows<readonly [string, ...string[]]>(
    store,
    `SELECT ${dimensionSql(per)} AS value, ${sums.join(', ')}
     FROM ${source.from(spanOf(windows), bindings)} AND ${ofGroups({ filter, per }, bindings).join(' AND ')}
     GROUP BY value HAVING ${reached.join(' OR ')}`,
    { ...bindings.params, tenant: tenantId },
    signal,
  )
  return found.map(([group, ...costsUsd]) => ({ group, costsUsd }))
}

/** The groups of a dimension that cost most in a window, with the number and the cost of all groups. */
export async function topGroups(
  store: ClickHouseClient,
  tenantId: string,
  selection: GroupSelection,
  window: SpendWindow,
  limit: number,
  signal?: AbortSignal,
): Promise<{ readonly count: number; readonly costUsd: string; readonly top: readonly GroupSpend[] }> {
  const bindings = new Bindings()
  const source = sourceOf(selection.filter, selection.per)
  const where = `${source.from(window, bindings)} AND ${ofGroups(selection, bindings).join(' AND ')}`
  const found = await rows<readonly [string, string, string, string]>(
    store,
    `SELECT value, cost, count() OVER (), sum(cost) OVER () FROM (
       SELECT ${dimensionSql(selection.per)} AS value, sum(cost_usd) AS cost FROM ${where} GROUP BY value
       HAVING ${source.hasCalls}
     ) ORDER BY cost DESC, value LIMIT {most:UInt32}`,
    { ...bindings.params, tenant: tenantId, most: limit },
    signal,
  )
  const [, , count = '0', costUsd = '0'] = found[0] ?? []
  return { count: Number(count), costUsd, top: found.map(([group, cost]) => ({ group, costUsd: cost })) }
}

/**
 * A page of the groups of a dimension, from the records as of an instant: the highest cost first, then by name.
 *
 * @param after cost and name of the last group of the previous page
 */
export async function listGroups(
  store: ClickHouseClient,
  tenantId: string,
  snapshotMs: number,
  { filter, per, fromMs, toMs }: GroupSelection & SpendWindow,
  { after, limit }: { readonly after: GroupSpend | undefined; readonly limit: number },
  signal?: AbortSignal,
): Promise<GroupSpend[]> {
  const bindings = new Bindings()
  const where = [OF_TENANT, IN_PERIOD, ...ofGroups({ filter, per }, bindings), asOfSnapshotWithin(IN_PERIOD)].join(
    ' AND ',
  )
  const rest = after && {
    cost: bindings.bind(after.costUsd, 'Decimal(38, 18)'),
    value: bindings.bind(after.group, 'String'),
  }
  const beyond = rest && `HAVING cost < ${rest.cost} OR (cost = ${rest.cost} AND value > ${rest.value})`
  const found = await rows<readonly [string, string]>(
    store,
    `SELECT ${dimensionSql(per)} AS value, sum(cost_usd) AS cost FROM ${ATTRIBUTIONS.name} WHERE ${where}
     GROUP BY value ${beyond ?? ''} ORDER BY cost DESC, value LIMIT {most:UInt32}`,
    { ...bindings.params, ...snapshotParams(tenantId, snapshotMs), from: fromMs, to: toMs, most: limit },
    signal,
  )
  return found.map(([group, costUsd]) => ({ group, costUsd }))
}

/** Cost of a tenant's calls in a window that match a filter, from the records as of an instant. Decimal text. */
export async function exactSpendOf(
  store: ClickHouseClient,
  tenantId: string,
  snapshotMs: number,
  { fromMs, toMs }: SpendWindow,
  filter: SpendFilter,
): Promise<string> {
  const bindings = new Bindings()
  const where = [OF_TENANT, IN_PERIOD, ...equal(filter, bindings), asOfSnapshotWithin(IN_PERIOD)].join(' AND ')
  const [row] = await rows<readonly [string]>(store, `SELECT sum(cost_usd) FROM ${ATTRIBUTIONS.name} WHERE ${where}`, {
    ...bindings.params,
    ...snapshotParams(tenantId, snapshotMs),
    from: fromMs,
    to: toMs,
  })
  return row?.[0] ?? '0'
}

/** Names are part of the query's URL: of more groups, all are read. */
const NAMED_MAX = 500

/** The same for groups of a dimension. Other groups may be returned as well. */
export async function exactGroupSpendOf(
  store: ClickHouseClient,
  tenantId: string,
  snapshotMs: number,
  { filter, per, fromMs, toMs }: GroupSelection & SpendWindow,
  groups: readonly string[],
): Promise<GroupSpend[]> {
  const bindings = new Bindings()
  const named =
    groups.length > NAMED_MAX
      ? ofGroups({ filter, per }, bindings)
      : [
          ...equal(filter, bindings),
          `${dimensionSql(per)} IN (${groups.map((group) => bindings.bind(group, 'String')).join(', ')})`,
          ...ofSomebody(per),
        ]
  const found = await rows<readonly [string, string]>(
    store,
    `SELECT ${dimensionSql(per)} AS value, sum(cost_usd) FROM ${ATTRIBUTIONS.name}
     WHERE ${[OF_TENANT, IN_PERIOD, ...named, asOfSnapshotWithin(IN_PERIOD)].join(' AND ')} GROUP BY value`,
    { ...bindings.params, ...snapshotParams(tenantId, snapshotMs), from: fromMs, to: toMs },
  )
  return found.map(([group, costUsd]) => ({ group, costUsd }))
}

/** Of calls that count: a stated cost that is implausible crosses no ceiling. */
const OF_TENANT = `tenant_id = {tenant:String} AND ${IS_PLAUSIBLE}`

/** Names of columns come from the list of dimensions only; values are bound. */
const equal = (filter: SpendFilter, bindings: Bindings): string[] => [
  ...DIMENSION_NAMES.flatMap((name) => {
    const value = filter[name]
    return value === undefined ? [] : [dimensionCondition({ field: name, operator: 'eq', values: [value] }, bindings)]
  }),
  ...Object.entries(filter.tags ?? {}).map(([key, value]) =>
    dimensionCondition({ field: tagFieldOf(key), operator: 'eq', values: [value] }, bindings),
  ),
]

/** Calls without a value of the dimension, or from before the declaration of the tag, belong to no group. */
const ofGroups = ({ filter, per }: GroupSelection, bindings: Bindings): string[] => [
  ...equal(filter, bindings),
  isTagField(per) ? `${dimensionSql(per)} NOT IN ('', '${NOT_DECLARED}')` : `${dimensionSql(per)} != ''`,
  ...ofSomebody(per),
]

/** A pool is no service, nor a team by its name alone; what is nobody's is neither. */
function ofSomebody(per: GroupField): readonly string[] {
  if (per !== 'service' && per !== 'owner') return []
  const ofPool = per === 'service' ? `${dimensionSql('pool')} = ''` : `owner != ${dimensionSql('pool')}`
  return [ofPool, `${per} != '${UNASSIGNED}'`]
}

const spanOf = (windows: readonly SpendWindow[]): SpendWindow => ({
  fromMs: Math.min(...windows.map(({ fromMs }) => fromMs)),
  toMs: Math.max(...windows.map(({ toMs }) => toMs)),
})

async function rows<R>(
  store: ClickHouseClient,
  query: string,
  params: Readonly<Record<string, unknown>>,
  signal?: AbortSignal,
): Promise<R[]> {
  const result = await store.query({
    query,
    query_params: params,
    format: 'JSONCompactEachRow',
    clickhouse_settings: READ_LIMITS,
    ...(signal && { abort_signal: signal }),
  })
  return result.json<R>()
}
