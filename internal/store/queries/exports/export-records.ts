import type { ClickHouseClient } from '@clickhouse/client'
import { asOfSnapshotWithin, BEGUN_BY_SNAPSHOT, snapshotParams } from '../../snapshot.js'
import { ATTRIBUTIONS } from '../../tables/attributions.js'
import { CLOSED } from '../../tables/closed.js'

/** The records that an export reads: one tenant, a time range, as of an instant. */
export interface ExportSelection {
  readonly tenantId: string
  readonly asOfMs: number
  /** Milliseconds since the epoch; the end is exclusive. */
  readonly fromMs: number
  readonly toMs: number
  /** Whether versions of these records were closed by then. */
  readonly hasClosed: boolean
}

/** The confidence floor of chargeback (spec 2.3), checked independently of the record's eligibility. */
const REACHES_FLOOR = "confidence >= toDecimal32('0.8', 4)"
export const IS_EXPORTED = `export_eligibility = 'eligible' AND ${REACHES_FLOOR}`

export const IN_PERIOD = `event_time >= fromUnixTimestamp64Milli({from:Int64}) AND event_time < fromUnixTimestamp64Milli({to:Int64})`

/** For the `WHERE` of a query over records; its parameters are `selectionParams`. */
export const isSelected = ({ hasClosed }: ExportSelection): string =>
  `tenant_id = {tenant:String} AND ${IN_PERIOD} AND ${hasClosed ? asOfSnapshotWithin(IN_PERIOD) : BEGUN_BY_SNAPSHOT}`

export const selectionParams = ({ tenantId, asOfMs, fromMs, toMs }: Omit<ExportSelection, 'hasClosed'>) => ({
  ...snapshotParams(tenantId, asOfMs),
  from: fromMs,
  to: toMs,
})

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

/** Records that the price book priced in the same way. */
export interface PricedKind {
  /** `cost_details` of the records. */
  readonly details: string
  /** Its `cityHash64`. */
  readonly hash: string
  /** Kinds of tokens that occur in these records. */
  readonly cached: boolean
  readonly written: boolean
  readonly reasoned: boolean
  readonly heard: boolean
  readonly spoken: boolean
}

/**
 * Finds how the tenant's records of the period are priced, possibly including a few others. Kinds without an exported record
 * produce no rows, and checking each record for eligibility would take three times as long.
 */
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
            WHERE tenant_id = {tenant:String} AND indexHint(${IN_PERIOD}) AND cost_basis = 'price_book'
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
