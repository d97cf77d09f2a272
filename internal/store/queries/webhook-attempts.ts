import type { ClickHouseClient } from '@clickhouse/client'
import { type AttemptRow, WEBHOOK_ATTEMPTS } from '../tables/webhook-attempts.js'

/** What a page of an endpoint's delivery log is asked for. */
export interface AttemptQuestion {
  readonly tenantId: string
  readonly endpointId: string
  /** Only attempts before this place of the log; undefined: the newest ones. */
  readonly before: { readonly log: number; readonly sequence: number; readonly index: number } | undefined
  readonly eventId: string | undefined
  readonly eventType: string | undefined
  readonly outcome: string | undefined
  /** Milliseconds since the epoch: at or after. */
  readonly fromMs: number | undefined
  /** Milliseconds since the epoch: before. */
  readonly toMs: number | undefined
  readonly limit: number
}

const ROW = `tenant_id, endpoint_id, delivery_id, event_id, event_type, event_sequence, attempt,
  toUnixTimestamp64Milli(attempted_at), latency_ms, response_status, outcome, reason,
  toUnixTimestamp64Milli(next_attempt_at), is_replayed, source_log, source_sequence, source_index`

type StoredRow = readonly [
  ...ids: [string, string, string, string],
  eventType: string,
  eventSequence: string,
  attempt: number,
  attemptedAtMs: string,
  latencyMs: number,
  responseStatus: number,
  outcome: string,
  reason: string,
  nextAttemptAtMs: string,
  isReplayed: number,
  sourceLog: number,
  sourceSequence: string,
  sourceIndex: number,
]

const toRow = (stored: StoredRow): AttemptRow => {
  const [tenantId, endpointId, deliveryId, eventId, eventType, eventSequence, attempt, attemptedAtMs] = stored
  const [, , , , , , , , latencyMs, responseStatus, outcome, reason, nextAttemptAtMs, isReplayed] = stored
  const [, , , , , , , , , , , , , , sourceLog, sourceSequence, sourceIndex] = stored
  return {
    tenantId,
    endpointId,
    deliveryId,
    eventId,
    eventType,
    eventSequence: Number(eventSequence),
    attempt,
    attemptedAtMs: Number(attemptedAtMs),
    latencyMs,
    responseStatus,
    outcome,
    reason,
    nextAttemptAtMs: Number(nextAttemptAtMs),
    isReplayed: isReplayed === 1,
    sourceLog,
    sourceSequence: Number(sourceSequence),
    sourceIndex,
  }
}

/** Work that a page may cost at most. */
const READ_LIMITS = { max_execution_time: 10, max_memory_usage: '500000000' } as const

/** An endpoint's attempts, the newest first. @param signal aborts the query when the caller leaves */
export async function listWebhookAttempts(
  store: ClickHouseClient,
  question: AttemptQuestion,
  signal: AbortSignal,
): Promise<AttemptRow[]> {
  const { tenantId, endpointId, before, eventId, eventType, outcome, fromMs, toMs, limit } = question
  const conditions = [
    'tenant_id = {tenant:String}',
    'endpoint_id = {endpoint:String}',
    // The plain bound beside the tuple is what the index uses.
    before === undefined ? '' : 'source_log <= {log:UInt32}',
    before === undefined
      ? ''
      : '(source_log, source_sequence, source_index) < ({log:UInt32}, {sequence:UInt64}, {index:UInt32})',
    eventId === undefined ? '' : 'event_id = {event:String}',
    eventType === undefined ? '' : 'event_type = {type:String}',
    outcome === undefined ? '' : 'outcome = {outcome:String}',
    fromMs === undefined ? '' : 'attempted_at >= fromUnixTimestamp64Milli({from:Int64})',
    toMs === undefined ? '' : 'attempted_at < fromUnixTimestamp64Milli({to:Int64})',
  ].filter((condition) => condition !== '')
  const result = await store.query({
    query: `SELECT ${ROW} FROM ${WEBHOOK_ATTEMPTS.name} WHERE ${conditions.join(' AND ')}
            ORDER BY tenant_id DESC, endpoint_id DESC, source_log DESC, source_sequence DESC, source_index DESC
            LIMIT {limit:UInt32}`,
    query_params: {
      tenant: tenantId,
      endpoint: endpointId,
      ...before,
      event: eventId,
      type: eventType,
      outcome,
      from: fromMs,
      to: toMs,
      limit,
    },
    format: 'JSONCompactEachRow',
    clickhouse_settings: READ_LIMITS,
    abort_signal: signal,
  })
  return (await result.json<StoredRow>()).map(toRow)
}
