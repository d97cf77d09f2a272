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
  /** Of each window, the part with the events that were inserted. */
  readonly inserted: readonly EventWindow[]
  /** Whether an instrumentation of several in a process may have shown some of them: else there are no twins. */
  readonly hasInstrumented: boolean
}

/** Records without common ids begin no further apart than one or two of these. */
const TWIN_MS = 2_000

/**
 * What a record may have in common with another one of its call: a kind, a hash, and whether this record is the span
 * that others are within. Of kinds: 1 an id of the answer or the request; 2 a span, as itself or as the one around it.
 */
const IDS = `arrayConcat(
  if(response_id = '', [], [(1, cityHash64(response_id), true)]),
  if(request_id IN ('', response_id), [], [(1, cityHash64(request_id), true)]),
  if(span_id = '', [], [(2, cityHash64(trace_id, span_id), true)]),
  if(parent_span_id = '', [], [(2, cityHash64(trace_id, parent_span_id), false)]))`

/**
 * Of records without common ids: 3 both counts, in one trace, or by one credential at one time; 4 the output alone,
 * since some senders do not know the input of a stream.
 */
const TWINS = `arrayConcat(
  if(trace_id = '', [], [(3, cityHash64('t', trace_id, input, output), true)]),
  [(3, cityHash64('c', principal, input, output, slot), true)],
  [(3, cityHash64('c', principal, input, output, slot + 1), true)],
  if(output = 0, [], [
    (4, cityHash64(principal, output, slot), input = 0),
    (4, cityHash64(principal, output, slot + 1), input = 0)]))`

const OBSERVER = '(intake, principal, instrumentation) AS observer'

/** Which groups have something to say: of kind 4, those that kind 3 does not have. */
const IS_TOLD = `multiIf(
  kind = 2, countIf(is_own) > 0 AND (countIf(NOT is_own) > 0 OR uniqExact(observer) > 1),
  kind = 3, uniqExact(observer.3) > 1,
  kind = 4, uniqExact(observer.3) > 1 AND countIf(is_own) > 0 AND countIf(NOT is_own) > 0,
  uniqExact(observer) > 1)`

/**
 * Groups of records that have something in common with one that was just inserted, by which they may show one call.
 * The caller compares them. Ids are looked up in the whole windows; what has none, only around the records that were
 * inserted. Closed versions are included.
 *
 * @param membersMax larger groups are excluded
 * @throws when the store is unavailable or fails
 */
export async function seenTwice(
  store: ClickHouseClient,
  { tenantId, validFromMs, windows, inserted, hasInstrumented }: SeenTwiceQuestion,
  membersMax: number,
): Promise<readonly (readonly SharedId[])[]> {
  const ofInserted = (column: string): string =>
    `(SELECT ${column} FROM ${ATTRIBUTIONS.name} WHERE ${within(inserted, 'inserted')}
      AND valid_from = fromUnixTimestamp64Milli({validFrom:Int64}))`
  const isNew = 'valid_from = fromUnixTimestamp64Milli({validFrom:Int64}) AS is_new'
  const twins = `
              SELECT id, event_time, observer, is_new, arrayJoin(${TWINS}) AS key
              FROM (
                SELECT id, event_time, principal, trace_id, ${OBSERVER}, ${isNew},
                  ifNull(input_tokens, 0) AS input, ifNull(output_tokens, 0) AS output,
                  intDiv(toUnixTimestamp64Milli(event_time), {twin:Int64}) AS slot
                FROM ${ATTRIBUTIONS.name}
                PREWHERE ${within(inserted, 'around')} AND instrumentation != '' WHERE input + output > 0)`
  const result = await store.query({
    query: `SELECT groupUniqArray({most:UInt32})((lower(hex(id)), toUnixTimestamp64Milli(event_time))) AS members
            FROM (
              SELECT id, event_time, ${OBSERVER}, ${isNew}, arrayJoin(${IDS}) AS key
              FROM ${ATTRIBUTIONS.name}
              PREWHERE ${within(windows, 'windows')} AND (
                response_id != '' AND response_id IN ${ofInserted('arrayJoin([response_id, request_id])')}
                OR request_id != '' AND request_id IN ${ofInserted('arrayJoin([response_id, request_id])')}
                OR span_id != '' AND span_id IN ${ofInserted('arrayJoin([span_id, parent_span_id])')}
                OR parent_span_id != '' AND parent_span_id IN ${ofInserted('span_id')})
              ${hasInstrumented ? `UNION ALL ${twins}` : ''})
            GROUP BY key.1 AS kind, key.2
            HAVING max(is_new) AND length(members) BETWEEN 2 AND {most:UInt32} - 1
              AND ${IS_TOLD.replaceAll('is_own', 'key.3')}`,
    query_params: {
      tenant: tenantId,
      validFrom: validFromMs,
      most: membersMax + 1,
      twin: TWIN_MS,
      windows: timesOf(windows),
      inserted: timesOf(inserted),
      around: timesOf(inserted.map(({ fromMs, toMs }) => ({ fromMs: fromMs - 2 * TWIN_MS, toMs: toMs + 2 * TWIN_MS }))),
    },
    format: 'JSONCompactEachRow',
    clickhouse_settings: { max_execution_time: 30 },
  })
  const groups = await result.json<[members: readonly [id: string, eventTimeMs: string][]]>()
  return groups.map(([members]) => members.map(([id, eventTimeMs]) => ({ id, eventTimeMs: Number(eventTimeMs) })))
}

const timesOf = (windows: readonly EventWindow[]): number[] => windows.flatMap(({ fromMs, toMs }) => [fromMs, toMs])

/** @param name of the parameter with the bounds, which are whole numbers that the caller has computed */
const within = (windows: readonly EventWindow[], name: string): string => {
  const each = windows.map(
    (_, i) => `event_time >= fromUnixTimestamp64Milli({${name}:Array(Int64)}[${2 * i + 1}])
      AND event_time <= fromUnixTimestamp64Milli({${name}:Array(Int64)}[${2 * i + 2}])`,
  )
  return `tenant_id = {tenant:String} AND (${each.join(' OR ')})`
}
