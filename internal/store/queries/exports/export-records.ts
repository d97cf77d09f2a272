import type { ClickHouseClient } from '@clickhouse/client'
import type { Condition } from '../../../filters/parse.js'
import type { GroupField } from '../../../filters/report-dimensions.js'
import type { TagField } from '../../../records/dimensions.js'
import { asOfSnapshotWithin, BEGUN_BY_SNAPSHOT, IN_PERIOD, snapshotParams } from '../../snapshot.js'
import { ATTRIBUTIONS } from '../../tables/attributions.js'
import { CLOSED } from '../../tables/closed.js'
import { Bindings } from '../records/conditions.js'
import { IS_EXPORTED, REACHES_FLOOR } from '../records/exported.js'
import { dimensionCondition } from '../reports/dimensions.js'
import { anybodySql, type CostObjectNames, namesPeopleSql } from '../reports/groups.js'
import { countHoldingFilters as holdingFilters } from '../reports/holding-filters.js'

/** A filter on a dimension of reports or a declared tag, with the same meaning. */
export type ExportFilter = Condition<GroupField>

/** Who is a person, as in reports. */
export interface ExportPeople {
  /** Hashes of identities that are not people, hex. */
  readonly workloads: readonly string[]
  /** Declared tags whose values name people. */
  readonly personalTags: readonly TagField[]
  /** Names that are always shown: only people behind other names are counted. Default: all people are. */
  readonly costObjects?: CostObjectNames | undefined
}

/** The records that an export reads: one tenant, a time range, filters, as of an instant. */
export interface ExportSelection {
  readonly tenantId: string
  readonly asOfMs: number
  /** Milliseconds since the epoch; the end is exclusive. */
  readonly fromMs: number
  readonly toMs: number
  /** A record must match all of them. */
  readonly filters: readonly ExportFilter[]
  /** Whether versions of these records were closed by then. */
  readonly hasClosed: boolean
}

/** For the `WHERE` of a query over records; its parameters are `selectionParams`. */
export const isSelected = ({ hasClosed, filters }: ExportSelection): string =>
  [
    `tenant_id = {tenant:String} AND ${IN_PERIOD}`,
    ...filterConditions(filters, new Bindings()),
    hasClosed ? asOfSnapshotWithin(IN_PERIOD) : BEGUN_BY_SNAPSHOT,
  ].join(' AND ')

export function selectionParams({ tenantId, asOfMs, fromMs, toMs, filters }: Omit<ExportSelection, 'hasClosed'>) {
  const bindings = new Bindings()
  filterConditions(filters, bindings)
  return { ...bindings.params, ...snapshotParams(tenantId, asOfMs), from: fromMs, to: toMs }
}

/** In the order of the filters; binds the same names each time. */
const filterConditions = (filters: readonly ExportFilter[], bindings: Bindings): string[] =>
  filters.map((filter) => `(${dimensionCondition(filter, bindings)})`)

/** A record's person as a number, 0 for nobody. @param asked what an export is grouped or filtered by */
export function personExpression({ costObjects, ...people }: ExportPeople, asked: readonly string[]): string {
  const person = anyPerson(people, asked)
  return costObjects === undefined
    ? person
    : `if(${namesPeopleSql({ costObjects, personalTags: people.personalTags }, asked)}, ${person}, 0)`
}

function anyPerson({ workloads, personalTags }: ExportPeople, asked: readonly string[]): string {
  if (personalTags.length > 0) return anybodySql({ notPeople: workloads, personalTags }, asked)
  // Half of a hash is enough to distinguish people; two with the same half would be folded, not shown.
  const person = 'reinterpretAsUInt64(identity_hash)'
  // In the query text: the list may be longer than a URL with parameters can hold.
  const listed = workloads.map((hash) => Buffer.from(hash, 'hex').readBigUInt64LE()).join(', ')
  return workloads.length === 0 ? person : `if(${person} IN [${listed}], 0, ${person})`
}

/** Enough for every identity that a tenant's directory may list as a workload. */
export const QUERY_BYTES_MAX = 16 * 1024 * 1024

/** How many of the first filters may hold, both of all records of the period and of the exported ones, as in reports. */
export async function countHoldingFilters(
  store: ClickHouseClient,
  { tenantId, asOfMs: snapshotMs, fromMs, toMs, filters, hasClosed }: ExportSelection,
  { workloads: notPeople, personalTags, costObjects }: ExportPeople,
  groupBy: readonly GroupField[],
  k: number,
  signal: AbortSignal,
): Promise<number> {
  const of = { tenantId, snapshotMs, fromMs, toMs, hasClosed, notPeople, personalTags }
  const scope = { ...of, ...(costObjects && { costObjects }) }
  let holding = filters.length
  for (let before = -1; before !== holding; ) {
    before = holding
    for (const only of ['true', IS_EXPORTED]) {
      holding = await holdingFilters(store, { ...scope, filters: filters.slice(0, holding) }, groupBy, k, signal, only)
    }
  }
  return holding
}

/** Whether any versions of records in the time range were closed by that instant. */
export async function hasClosedVersions(
  store: ClickHouseClient,
  selection: Omit<ExportSelection, 'hasClosed'>,
  signal: AbortSignal,
): Promise<boolean> {
  const result = await store.query({
    query: `SELECT 1 FROM ${CLOSED.name} WHERE tenant_id = {tenant:String} AND ${IN_PERIOD}
              AND closed_at <= fromUnixTimestamp64Milli({snapshot:Int64}) LIMIT 1`,
    query_params: selectionParams(selection),
    format: 'JSONCompactEachRow',
    abort_signal: signal,
  })
  return (await result.json()).length > 0
}

/** The days whose records a later export would read otherwise: versions have begun or were closed after an instant. */
export interface ChangedDays {
  readonly tenantId: string
  /** Time range of the records, milliseconds since the epoch; the end is exclusive. */
  readonly fromMs: number
  readonly toMs: number
  readonly sinceMs: number
}

/** @returns by day, YYYY-MM-DD: its newest change, milliseconds since the epoch */
export async function changedDays(
  store: ClickHouseClient,
  { tenantId, fromMs, toMs, sinceMs }: ChangedDays,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, number>> {
  const changes = (table: string, column: string): string =>
    `SELECT toDate(event_time) AS day, max(${column}) AS changed_at FROM ${table}
     WHERE tenant_id = {tenant:String} AND ${IN_PERIOD} AND ${column} > fromUnixTimestamp64Milli({since:Int64})
     GROUP BY day`
  const result = await store.query({
    query: `SELECT toString(day), toString(toUnixTimestamp64Milli(max(changed_at))) FROM (
              ${changes(ATTRIBUTIONS.name, 'valid_from')} UNION ALL ${changes(CLOSED.name, 'closed_at')}
            ) GROUP BY day`,
    query_params: { tenant: tenantId, from: fromMs, to: toMs, since: sinceMs },
    format: 'JSONCompactEachRow',
    abort_signal: signal,
  })
  const rows = await result.json<[string, string]>()
  return new Map(rows.map(([day, atMs]) => [day, Number(atMs)]))
}

/** Count and cost of records, by eligibility. */
export interface Summary {
  /** YYYY-MM-DD; empty: all days of the selection together. */
  readonly day: string
  /** `eligible`, or the reason why the records are left out. */
  readonly reason: string
  readonly count: string
  /** USD. */
  readonly cost: string
}

/** @param isByDay whether to sum by day */
export async function summarizeRecords(
  store: ClickHouseClient,
  selection: ExportSelection,
  isByDay: boolean,
  signal: AbortSignal,
): Promise<Summary[]> {
  const [date, day] = isByDay ? ['toDate(event_time) AS date,', 'toString(date)'] : ['', "''"]
  const result = await store.query({
    // Group by as few keys as possible: a second key makes the query half as slow again.
    query: `SELECT part.1 AS reason, sum(part.2) AS count, sum(part.3) AS cost, ${day} AS day
            FROM (
              SELECT ${date} export_eligibility AS eligibility, count() AS records, sum(cost_usd) AS usd,
                countIf(${REACHES_FLOOR}) AS reaching, sumIf(cost_usd, ${REACHES_FLOOR}) AS reaching_usd
              FROM ${ATTRIBUTIONS.name} WHERE ${isSelected(selection)} GROUP BY ${isByDay ? 'date, ' : ''}eligibility
            )
            ARRAY JOIN if(eligibility = 'eligible',
              [('eligible', reaching, reaching_usd), ('below_floor', toUInt64(records - reaching), usd - reaching_usd)],
              [(toString(eligibility), records, usd)]) AS part
            WHERE part.2 > 0 GROUP BY day, reason ORDER BY day, reason`,
    query_params: selectionParams(selection),
    format: 'JSONEachRow',
    abort_signal: signal,
  })
  return result.json<Summary>()
}
