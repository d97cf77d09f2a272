import type { ClickHouseClient } from '@clickhouse/client'
import type { Condition } from '../../../filters/parse.js'
import { AS_OF_SNAPSHOT, BEGUN_BY_SNAPSHOT, snapshotParams } from '../../snapshot.js'
import { ATTRIBUTIONS, type AttributionRow } from '../../tables/attributions.js'
import { Bindings, clauseOf } from './conditions.js'
import { IS_OWN } from './own-names.js'
import {
  IN_SLICE,
  IS_UNDECIDED,
  NOT_CLOSED_BEFORE,
  type Place,
  placeBehindOf,
  placeParams,
  type Slice,
  sliceParams,
} from './slices.js'
import { readRows } from './versions.js'

/**
 * The records that filters selected at an instant: versions that were valid then. Records and versions from later are
 * not included, so that a selection never grows.
 */
export interface Selection {
  readonly tenantId: string
  /** A record must match all of them. */
  readonly conditions: readonly Condition[]
  readonly snapshotMs: number
}

/** Selected records of one service and owner; amounts as decimal text. */
export interface SelectedOwner {
  readonly service: string
  readonly owner: string
  /** Except those that people have decided on. */
  readonly records: string
  readonly costUsd: string
  readonly overridden: string
  readonly disputed: string
  /** Of `records`, those whose stated cost cannot be right. */
  readonly implausible: string
  readonly implausibleUsd: string
  /** Of `records`; milliseconds since the epoch. */
  readonly firstMs: string
  readonly lastMs: string
}

const IS_IMPLAUSIBLE = "export_eligibility = 'implausible_cost'"

/**
 * @param caller the owner's name to show for each person who owns their own calls
 * @returns the selected records by service and owner, the most costly first
 */
export async function selectedOwners(
  store: ClickHouseClient,
  { tenantId, conditions, snapshotMs }: Selection,
  caller: string,
  signal: AbortSignal,
): Promise<SelectedOwner[]> {
  const bindings = new Bindings()
  const result = await store.query({
    query: `SELECT service, if(${IS_OWN}, ${bindings.bind(caller, 'String')}, owner) AS held_by,
              countIf(${IS_UNDECIDED}) AS records, toString(sumIf(cost_usd, ${IS_UNDECIDED})) AS costUsd,
              countIf(evidence_basis = 'manual_override') AS overridden,
              countIf(output_state = 'disputed' AND evidence_basis != 'manual_override') AS disputed,
              countIf(${IS_UNDECIDED} AND ${IS_IMPLAUSIBLE}) AS implausible,
              toString(sumIf(cost_usd, ${IS_UNDECIDED} AND ${IS_IMPLAUSIBLE})) AS implausibleUsd,
              toString(toUnixTimestamp64Milli(minIf(event_time, ${IS_UNDECIDED}))) AS firstMs,
              toString(toUnixTimestamp64Milli(maxIf(event_time, ${IS_UNDECIDED}))) AS lastMs
            FROM ${ATTRIBUTIONS.name}
            WHERE tenant_id = {tenant:String} AND ${clausesOf(conditions, bindings)} AND ${AS_OF_SNAPSHOT}
            GROUP BY service, held_by
            ORDER BY sumIf(cost_usd, ${IS_UNDECIDED}) DESC, service, held_by`,
    query_params: { ...snapshotParams(tenantId, snapshotMs), ...bindings.params },
    format: 'JSONEachRow',
    clickhouse_settings: { max_execution_time: 30, max_memory_usage: '1000000000', os_threads_nice_value_query: 5 },
    abort_signal: signal,
  })
  const rows = await result.json<Omit<SelectedOwner, 'owner'> & { held_by: string }>()
  return rows.map(({ held_by, ...row }) => ({ ...row, owner: held_by }))
}

/** How many versions of a tenant's records were closed by decisions of people; they stay for undoing. */
export async function versionsClosedByPeople(store: ClickHouseClient, tenantId: string): Promise<number> {
  const result = await store.query({
    query: "SELECT count() FROM closed WHERE tenant_id = {tenant:String} AND change IN ('override', 'dispute')",
    query_params: { tenant: tenantId },
    format: 'JSONCompactEachRow',
    clickhouse_settings: { max_execution_time: 30 },
  })
  const [[found = '0'] = []] = await result.json<[string]>()
  return Number(found)
}

/** The place of the selected record `count` after another, or of the last one before an instant. */
export function selectedPlace(
  store: ClickHouseClient,
  { tenantId, conditions, snapshotMs }: Selection,
  after: Place,
  beforeMs: number,
  count: number,
): Promise<Place | undefined> {
  const bindings = new Bindings()
  const matching = `${clausesOf(conditions, bindings)} AND ${BEGUN_BY_SNAPSHOT} AND ${IS_UNDECIDED}`
  const params = { ...snapshotParams(tenantId, snapshotMs), ...bindings.params, ...placeParams('after', after) }
  return placeBehindOf(store, ATTRIBUTIONS.name, matching, params, beforeMs, count)
}

/** The selected versions of a slice that are still valid just before an instant. */
export function selectedRows(
  store: ClickHouseClient,
  { conditions, snapshotMs }: Selection,
  slice: Slice,
  beforeMs: number,
): Promise<AttributionRow[]> {
  const bindings = new Bindings()
  return readRows(
    store,
    `WHERE ${IN_SLICE} AND ${clausesOf(conditions, bindings)} AND ${BEGUN_BY_SNAPSHOT} AND ${IS_UNDECIDED}
       AND ${NOT_CLOSED_BEFORE}`,
    { ...sliceParams(slice), ...bindings.params, snapshot: snapshotMs, before: beforeMs },
  )
}

/** The place of the record `count` after another, among those with a version that a job closed. */
export const placeClosedBy = (
  store: ClickHouseClient,
  tenantId: string,
  jobId: string,
  after: Place,
  beforeMs: number,
  count: number,
): Promise<Place | undefined> =>
  placeBehindOf(
    store,
    'closed',
    'change_id = {job:String}',
    { tenant: tenantId, job: jobId, ...placeParams('after', after) },
    beforeMs,
    count,
  )

const CLOSED_BY_JOB = `id IN (
  SELECT id FROM closed WHERE ${IN_SLICE} AND change_id = {job:String})`

/** The versions of a slice that are valid just before an instant, of records with a version that a job closed. */
export const rowsClosedBy = (
  store: ClickHouseClient,
  slice: Slice,
  jobId: string,
  beforeMs: number,
): Promise<AttributionRow[]> =>
  readRows(store, `WHERE ${IN_SLICE} AND ${CLOSED_BY_JOB} AND valid_from < ${BEFORE} AND ${NOT_CLOSED_BEFORE}`, {
    ...sliceParams(slice),
    job: jobId,
    before: beforeMs,
  })

/** The versions of a slice that a job closed. */
export const versionsClosedBy = (store: ClickHouseClient, slice: Slice, jobId: string): Promise<AttributionRow[]> =>
  readRows(
    store,
    `WHERE ${IN_SLICE} AND (id, valid_from) IN (
       SELECT id, valid_from FROM closed WHERE ${IN_SLICE} AND change_id = {job:String})`,
    { ...sliceParams(slice), job: jobId },
  )

const BEFORE = 'fromUnixTimestamp64Milli({before:Int64})'

function clausesOf(conditions: readonly Condition[], bindings: Bindings): string {
  const clauses = conditions.map((condition) => clauseOf(condition, bindings))
  if (clauses.includes(false)) return '0'
  return ['1', ...clauses.filter((clause) => typeof clause === 'string').map((clause) => `(${clause})`)].join(' AND ')
}
