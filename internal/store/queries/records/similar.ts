import type { ClickHouseClient } from '@clickhouse/client'
import { asOfSnapshotWithin, snapshotParams } from '../../snapshot.js'
import { ATTRIBUTIONS } from '../../tables/attributions.js'

/** The source of an event as one text: no intake's name contains a slash. */
interface RecordedSource {
  readonly intake: string
  readonly principal: string
}

/** A record to compare others with. */
export interface SimilarQuestion {
  readonly tenantId: string
  readonly snapshotMs: number
  /** Hex of its 16 bytes. */
  readonly recordId: string
  readonly eventTimeMs: number
  /** On either side of its time. */
  readonly withinMs: number
  readonly servedModel: string
  /** Decimal text; null if the record has no count. */
  readonly inputTokens: string | null
  readonly outputTokens: string | null
  /** The sources that have shown its call. */
  readonly sources: readonly RecordedSource[]
  /** Hex ids of the records that a person has taken apart from it. */
  readonly apart: readonly string[]
  readonly limit: number
}

/** A record of the same model, with the same tokens, from another source. */
export interface SimilarRecord {
  /** Hex of its 16 bytes. */
  readonly id: string
  readonly event_id: string
  readonly event_time_ms: string
  readonly intake: string
  readonly principal: string
  readonly ingestion_layer: string
  readonly requested_model: string
  readonly served_model: string
  readonly input_tokens: string | null
  readonly output_tokens: string | null
  readonly cost_usd: string
  readonly cost_basis: string
}

const READ_LIMITS = { max_execution_time: 5, max_memory_usage: '400000000', max_threads: 2 } as const

const WITHIN = `event_time >= fromUnixTimestamp64Milli({from:Int64})
                AND event_time <= fromUnixTimestamp64Milli({to:Int64})`

/** Of one of the sources: the record's own event, or one that it counts besides (`seen_by` is '' for most). */
const FROM_THESE = `(concat(intake, '/', principal) IN {sources:Array(String)} OR seen_by != '' AND arrayExists(
    seen -> has({sources:Array(String)}, concat(seen.1, '/', seen.2)),
    JSONExtract(seen_by, 'also', 'Array(Tuple(intake String, principal String))')))`

/** A person has taken the two apart; either record may state it. */
const TAKEN_APART = `(lower(hex(id)) IN {apart:Array(String)}
    OR seen_by != '' AND has(JSONExtract(seen_by, 'apart', 'Array(String)'), {record:String}))`

const equals = (column: string, param: string, value: string | null): string =>
  value === null ? `isNull(${column})` : `${column} = {${param}:UInt64}`

/**
 * Records that may show the same call as another one although they share no id with it, the nearest in time first.
 * Reads only the granules of the window.
 *
 * @throws when the store is unavailable or fails
 */
export async function similarRecords(
  store: ClickHouseClient,
  question: SimilarQuestion,
  signal: AbortSignal,
): Promise<readonly SimilarRecord[]> {
  const { tenantId, snapshotMs, recordId, eventTimeMs, withinMs, servedModel, inputTokens, outputTokens } = question
  const result = await store.query({
    query: `SELECT lower(hex(id)) AS id_hex, event_id, toUnixTimestamp64Milli(event_time) AS event_time_ms, intake,
            principal,
              ingestion_layer, requested_model, served_model, input_tokens, output_tokens, cost_usd, cost_basis
            FROM ${ATTRIBUTIONS.name}
            WHERE tenant_id = {tenant:String} AND ${WITHIN} AND served_model = {model:String}
              AND ${equals('input_tokens', 'input', inputTokens)} AND ${equals('output_tokens', 'output', outputTokens)}
              AND lower(hex(id)) != {record:String} AND NOT ${FROM_THESE} AND NOT ${TAKEN_APART}
              AND ${asOfSnapshotWithin(WITHIN)}
            ORDER BY abs(toUnixTimestamp64Milli(event_time) - {time:Int64}), id LIMIT {limit:UInt32}`,
    query_params: {
      ...snapshotParams(tenantId, snapshotMs),
      record: recordId,
      time: eventTimeMs,
      from: eventTimeMs - withinMs,
      to: eventTimeMs + withinMs,
      model: servedModel,
      ...(inputTokens !== null && { input: inputTokens }),
      ...(outputTokens !== null && { output: outputTokens }),
      sources: question.sources.map(({ intake, principal }) => `${intake}/${principal}`),
      apart: [...question.apart],
      limit: question.limit,
    },
    format: 'JSONEachRow',
    clickhouse_settings: READ_LIMITS,
    abort_signal: signal,
  })
  const rows = await result.json<Omit<SimilarRecord, 'id'> & { readonly id_hex: string }>()
  return rows.map(({ id_hex, ...row }) => ({ ...row, id: id_hex }))
}
