import type { ClickHouseClient } from '@clickhouse/client'
import { AS_OF_SNAPSHOT, BEGUN_BY_SNAPSHOT, snapshotParams } from '../snapshot.js'
import { ATTRIBUTIONS } from '../tables/attributions.js'
import { CLOSED } from '../tables/closed.js'

/** Which records an export reads: a tenant's, of events in some days, as of an instant. */
export interface ExportSelection {
  readonly tenantId: string
  readonly asOfMs: number
  /** Milliseconds since the epoch; the end is not in it. */
  readonly fromMs: number
  readonly toMs: number
  /** Whether versions of such records were closed by then. */
  readonly hasClosed: boolean
}

/** At least this confidence, the floor of chargeback (spec 2.3), whatever the record says of itself. */
const REACHES_FLOOR = "confidence >= toDecimal32('0.8', 4)"
export const IS_EXPORTED = `export_eligibility = 'eligible' AND ${REACHES_FLOOR}`

export const IN_PERIOD = `event_time >= fromUnixTimestamp64Milli({from:Int64}) AND event_time < fromUnixTimestamp64Milli({to:Int64})`

/** For the `WHERE` of a query over records; its parameters are `selectionParams`. */
export const isSelected = ({ hasClosed }: ExportSelection): string =>
  `tenant_id = {tenant:String} AND ${IN_PERIOD} AND ${hasClosed ? AS_OF_SNAPSHOT : BEGUN_BY_SNAPSHOT}`

export const selectionParams = ({ tenantId, asOfMs, fromMs, toMs }: Omit<ExportSelection, 'hasClosed'>) => ({
  ...snapshotParams(tenantId, asOfMs),
  from: fromMs,
  to: toMs,
})

/** Whether versions of records in these days were closed by that instant. */
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

/** Records by whether they are exported, or why not. */
export interface Summary {
  /** `eligible`, or why the records are left out. */
  readonly reason: string
  readonly count: string
  /** USD. */
  readonly cost: string
}

export async function summarizeRecords(
  store: ClickHouseClient,
  selection: ExportSelection,
  signal: AbortSignal,
): Promise<Summary[]> {
  const result = await store.query({
    // By what is stored alone: any second key, be it made of it, takes half as long again.
    query: `SELECT part.1 AS reason, sum(part.2) AS count, sum(part.3) AS cost
            FROM (
              SELECT export_eligibility AS eligibility, count() AS records, sum(cost_usd) AS usd,
                countIf(${REACHES_FLOOR}) AS reaching, sumIf(cost_usd, ${REACHES_FLOOR}) AS reaching_usd
              FROM ${ATTRIBUTIONS.name} WHERE ${isSelected(selection)} GROUP BY eligibility
            )
            ARRAY JOIN if(eligibility = 'eligible',
              [('eligible', reaching, reaching_usd), ('below_floor', toUInt64(records - reaching), usd - reaching_usd)],
              [(toString(eligibility), records, usd)]) AS part
            WHERE part.2 > 0 GROUP BY reason ORDER BY reason`,
    query_params: selectionParams(selection),
    format: 'JSONEachRow',
    abort_signal: signal,
  })
  return result.json<Summary>()
}

/** Records that are exported, by day, YYYY-MM-DD. */
export async function countDays(
  store: ClickHouseClient,
  selection: ExportSelection,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, number>> {
  const result = await store.query({
    query: `SELECT toString(toDate(event_time) AS date) AS day, toUInt32(count())
            FROM ${ATTRIBUTIONS.name} WHERE ${isSelected(selection)} AND ${IS_EXPORTED} GROUP BY date ORDER BY date`,
    query_params: selectionParams(selection),
    format: 'JSONCompactEachRow',
    abort_signal: signal,
  })
  return new Map(await result.json<[string, number]>())
}

/** One way in which the price book has priced exported records. */
export interface PricedKind {
  /** `cost_details` of the records. */
  readonly details: string
  /** Its `cityHash64`. */
  readonly hash: string
  /** Which facts occur among its records. */
  readonly cached: boolean
  readonly written: boolean
  readonly reasoned: boolean
  readonly heard: boolean
  readonly spoken: boolean
}

export async function findPricedKinds(
  store: ClickHouseClient,
  selection: ExportSelection,
  signal: AbortSignal,
): Promise<PricedKind[]> {
  const occurs = (column: string): string => `max(ifNull(${column}, 0)) > 0`
  const result = await store.query({
    query: `SELECT cost_details AS details, toString(cityHash64(details)) AS hash,
              ${occurs('cached_input_tokens')} AS cached, ${occurs('cache_write_tokens')} AS written,
              ${occurs('reasoning_tokens')} AS reasoned,
              ${occurs('audio_input_tokens')} AS heard, ${occurs('audio_output_tokens')} AS spoken
            FROM ${ATTRIBUTIONS.name}
            WHERE ${isSelected(selection)} AND ${IS_EXPORTED} AND cost_basis = 'price_book'
            GROUP BY cost_details ORDER BY details`,
    query_params: selectionParams(selection),
    format: 'JSONEachRow',
    abort_signal: signal,
  })
  const kinds = await result.json<{ details: string; hash: string } & Record<Occurrence, number>>()
  return kinds.map(({ details, hash, ...occurring }) => ({
    details,
    hash,
    cached: occurring.cached === 1,
    written: occurring.written === 1,
    reasoned: occurring.reasoned === 1,
    heard: occurring.heard === 1,
    spoken: occurring.spoken === 1,
  }))
}
type Occurrence = Exclude<keyof PricedKind, 'details' | 'hash'>
