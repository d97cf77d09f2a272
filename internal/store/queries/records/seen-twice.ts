import type { ClickHouseClient } from '@clickhouse/client'
import { ATTRIBUTIONS } from '../../tables/attributions.js'
import type { EventWindow } from './versions.js'

/** A record that has something in common with others by which they may show one call. */
export interface SharedId {
  /** Hex of its 16 bytes. */
  readonly id: string
  readonly eventTimeMs: number
}

export interface SeenTwiceQuestion {
  readonly tenantId: string
  /** Of the records that were just inserted. */
  readonly validFromMs: number
  /** Windows that contain the events of the groups; they do not overlap. */
  readonly windows: readonly EventWindow[]
}

/** Records without common ids begin no further apart than two of these; so many records at most are one group. */
const TWIN_MS = 2_000

/**
 * What a record may have in common with another one of its call: a kind, a hash, and whether this record is the span
 * that others are within. Of kinds: 1 an id of the answer or the request; 2 a span, as itself or as the one around it;
 * 3 both counts, in one trace, or by one credential at one time; 4 the output alone, since some senders do not know the
 * input of a stream.
 */
const KEYS = `arrayConcat(
  if(response_id = '', [], [(1, cityHash64('i', response_id), true)]),
  if(request_id IN ('', response_id), [], [(1, cityHash64('i', request_id), true)]),
  if(span_id = '' OR trace_id = '', [], [(2, cityHash64('s', trace_id, span_id), true)]),
  if(parent_span_id = '' OR trace_id = '', [], [(2, cityHash64('s', trace_id, parent_span_id), false)]),
  if(NOT is_twin OR trace_id = '', [], [(3, cityHash64('t', trace_id, input, output), true)]),
  if(NOT is_twin, [], [
    (3, cityHash64('c', principal, input, output, slot), true),
    (3, cityHash64('c', principal, input, output, slot + 1), true)]),
  if(NOT is_twin OR output = 0, [], [
    (4, cityHash64('o', principal, output, slot), input = 0),
    (4, cityHash64('o', principal, output, slot + 1), input = 0)]))`

/** Which groups have something to say: of kind 4, those that kind 3 does not have. */
const IS_TOLD = `multiIf(
  kind = 2, countIf(is_own) > 0 AND (countIf(NOT is_own) > 0 OR observers > 1),
  kind = 3, uniqExact(instrumentation) > 1,
  kind = 4, uniqExact(instrumentation) > 1 AND countIf(is_own) > 0 AND countIf(NOT is_own) > 0,
  observers > 1)`

/**
 * Groups of records that have something in common with one that was just inserted, by which they may show one call.
 * The caller compares them. One pass over the windows, and one over the ids in them. Closed versions are included.
 *
 * @param membersMax larger groups are excluded
 * @throws when the store is unavailable or fails
 */
export async function seenTwice(
  store: ClickHouseClient,
  { tenantId, validFromMs, windows }: SeenTwiceQuestion,
  membersMax: number,
): Promise<readonly (readonly SharedId[])[]> {
  const times = windows.flatMap(({ fromMs, toMs }) => [fromMs, toMs])
  // The bounds are whole numbers that the caller has computed.
  const within = windows.map(
    (_, i) => `event_time >= fromUnixTimestamp64Milli({times:Array(Int64)}[${2 * i + 1}])
      AND event_time <= fromUnixTimestamp64Milli({times:Array(Int64)}[${2 * i + 2}])`,
  )
  const keyed = (which: string): string => `
    SELECT id, event_time, intake, principal, instrumentation, ifNull(input_tokens, 0) AS input,
      ifNull(output_tokens, 0) AS output, intDiv(toUnixTimestamp64Milli(event_time), {twin:Int64}) AS slot,
      instrumentation != '' AND input + output > 0 AS is_twin, arrayJoin(${KEYS}) AS key
    FROM ${ATTRIBUTIONS.name}
    WHERE tenant_id = {tenant:String} AND (${within.join(' OR ')})
      AND (response_id != '' OR span_id != '' OR request_id != '') ${which}`
  const inserted = keyed('AND valid_from = fromUnixTimestamp64Milli({validFrom:Int64})')
  const result = await store.query({
    query: `SELECT groupUniqArray({most:UInt32})((lower(hex(id)), toUnixTimestamp64Milli(event_time))) AS members
            FROM (
              SELECT id, event_time, key.1 AS kind, key.2 AS hash, key.3 AS is_own, instrumentation,
                (intake, principal, instrumentation) AS observer
              FROM (${keyed('')}) WHERE key.2 IN (SELECT key.2 FROM (${inserted})))
            GROUP BY kind, hash
            HAVING length(members) BETWEEN 2 AND {most:UInt32} - 1
              AND ${IS_TOLD.replaceAll('observers', 'uniqExact(observer)')}`,
    query_params: { tenant: tenantId, validFrom: validFromMs, most: membersMax + 1, times, twin: TWIN_MS },
    format: 'JSONCompactEachRow',
    clickhouse_settings: { max_execution_time: 30 },
  })
  const groups = await result.json<[members: readonly [id: string, eventTimeMs: string][]]>()
  return groups.map(([members]) => members.map(([id, eventTimeMs]) => ({ id, eventTimeMs: Number(eventTimeMs) })))
}
