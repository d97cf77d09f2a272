import type { ClickHouseClient } from '@clickhouse/client'
import { asOfSnapshotWithin, snapshotParams } from '../../snapshot.js'
import { storedRows } from '../../stored-rows.js'
import type { AttributionRow } from '../../tables/attributions.js'
import { readRows } from './versions.js'

/** A record's place in the order of a tenant's records. */
export interface Place {
  readonly eventTimeMs: number
  /** Hex of the 16 bytes. */
  readonly recordId: string
}

/** A tenant's records between two places: after the first, up to and including the second. */
export interface Slice {
  readonly tenantId: string
  readonly after: Place
  readonly until: Place
}

/** Before every record of an instant or later. */
export const placeBefore = (eventTimeMs: number): Place => ({ eventTimeMs: eventTimeMs - 1, recordId: 'f'.repeat(32) })

const instant = (param: string): string => `fromUnixTimestamp64Milli({${param}:Int64})`
const place = (name: string): string =>
  `(${instant(`${name}_time`)}, CAST(unhex({${name}_id:String}) AS FixedString(16)))`
export const placeParams = (name: string, { eventTimeMs, recordId }: Place) => ({
  [`${name}_time`]: eventTimeMs,
  [`${name}_id`]: recordId,
})

/** The place of the record `count` records after another, or of the last before an instant; else undefined. */
export const placeBehind = (
  store: ClickHouseClient,
  tenantId: string,
  after: Place,
  beforeMs: number,
  count: number,
): Promise<Place | undefined> =>
  placeBehindOf(store, 'attributions', '1', { tenant: tenantId, ...placeParams('after', after) }, beforeMs, count)

/** The same among a table's matching rows. @param params `tenant`, `placeParams('after', …)`, those of `matching` */
export async function placeBehindOf(
  store: ClickHouseClient,
  table: string,
  matching: string,
  params: Readonly<Record<string, unknown>>,
  beforeMs: number,
  count: number,
): Promise<Place | undefined> {
  const result = await store.query({
    query: `SELECT toUnixTimestamp64Milli(max(at).1), lower(hex(max(at).2)) FROM (
              SELECT (event_time, id) AS at FROM ${table}
              WHERE tenant_id = {tenant:String} AND event_time >= ${instant('after_time')}
                AND event_time < ${instant('before')} AND (event_time, id) > ${place('after')} AND ${matching}
              ORDER BY tenant_id, event_time, id LIMIT {count:UInt32})
            HAVING count() > 0`,
    query_params: { ...params, before: beforeMs, count },
    format: 'JSONCompactEachRow',
  })
  const [found] = await result.json<[string, string]>()
  return found && { eventTimeMs: Number(found[0]), recordId: found[1] }
}

export const IN_SLICE = `tenant_id = {tenant:String}
  AND event_time >= ${instant('after_time')} AND event_time <= ${instant('until_time')}
  AND (event_time, id) > ${place('after')} AND (event_time, id) <= ${place('until')}`

export const sliceParams = ({ tenantId, after, until }: Slice) => ({
  tenant: tenantId,
  ...placeParams('after', after),
  ...placeParams('until', until),
})

/** Not by a person's decision. */
export const IS_UNDECIDED = "(evidence_basis != 'manual_override' AND output_state != 'disputed')"

const notClosed = (timesOfClosed: string): string => `(id, valid_from) NOT IN (
    SELECT id, valid_from FROM closed
    WHERE tenant_id = {tenant:String} AND closed_at < ${instant('before')} AND ${timesOfClosed})`

const IN_TIMES_OF_SLICE = `event_time >= ${instant('after_time')} AND event_time <= ${instant('until_time')}`

/** Of the versions of a slice. */
export const NOT_CLOSED_BEFORE = notClosed(IN_TIMES_OF_SLICE)

/** Valid just before an instant, and not by a person's decision. */
const undecidedBefore = (timesOfClosed: string): string =>
  `valid_from < ${instant('before')} AND ${IS_UNDECIDED} AND ${notClosed(timesOfClosed)}`

/** The versions of a slice that were valid just before an instant, except those that people have decided on. */
export const undecidedRows = (store: ClickHouseClient, slice: Slice, beforeMs: number): Promise<AttributionRow[]> =>
  readRows(store, `WHERE ${IN_SLICE} AND ${undecidedBefore(IN_TIMES_OF_SLICE)}`, {
    ...sliceParams(slice),
    before: beforeMs,
  })

type RowsOfSlice = (store: ClickHouseClient, slice: Slice, snapshotMs: number) => Promise<AttributionRow[]>

/** The versions of a slice that were valid at an instant and meet a condition. */
const rowsAsOf =
  (condition: string): RowsOfSlice =>
  (store, slice, snapshotMs) =>
    readRows(
      store,
      `WHERE ${IN_SLICE} AND ${condition} AND ${asOfSnapshotWithin(
        `event_time >= ${instant('after_time')} AND event_time <= ${instant('until_time')}`,
      )}`,
      { ...sliceParams(slice), ...snapshotParams(slice.tenantId, snapshotMs) },
    )

/** Those whose cost comes from a price book, or is missing. */
export const rowsPricedByBook = rowsAsOf("cost_basis IN ('price_book', 'unpriced')")

/** Those whose energy comes from an energy table, or is missing. */
export const rowsOfEnergyTables = rowsAsOf("energy_basis != 'measured'")

/** The versions of a slice that became valid at an instant. */
export const rowsValidFrom = (store: ClickHouseClient, slice: Slice, validFromMs: number): Promise<AttributionRow[]> =>
  readRows(store, `WHERE ${IN_SLICE} AND valid_from = ${instant('from')}`, { ...sliceParams(slice), from: validFromMs })

/** Records of the same traces up to an hour outside a slice, as they were valid just before an instant. */
export const tracePeers = (store: ClickHouseClient, slice: Slice, beforeMs: number): Promise<AttributionRow[]> =>
  readRows(
    store,
    `WHERE tenant_id = {tenant:String} AND NOT (${IN_SLICE}) AND ${NEAR} AND ${undecidedBefore(NEAR)}
       AND trace_id IN (SELECT DISTINCT trace_id FROM attributions WHERE ${IN_SLICE} AND trace_id != '')
     LIMIT ${PEERS_MAX}`,
    { ...sliceParams(slice), before: beforeMs },
  )

const NEAR = `event_time >= ${instant('after_time')} - INTERVAL 1 HOUR
              AND event_time <= ${instant('until_time')} + INTERVAL 1 HOUR`
const PEERS_MAX = 50_000

/** At most how many records and versions of a tenant have events in a window. */
export async function countRecords(
  store: ClickHouseClient,
  tenantId: string,
  fromMs: number,
  toMs: number,
): Promise<number> {
  const [found] = await storedRows<{ count: string }>(
    store,
    `SELECT uniqExact(id) AS count FROM attributions
     WHERE tenant_id = {tenant:String} AND event_time >= ${instant('from')} AND event_time < ${instant('to')}`,
    { tenant: tenantId, from: fromMs, to: toMs },
  )
  return Number(found?.count ?? 0)
}
