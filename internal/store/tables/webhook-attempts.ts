import type { RowBinaryTable } from '../row-binary.js'

/** One attempt to deliver an event to a webhook endpoint. Empty text and 0 mean null. */
export interface AttemptRow {
  readonly tenantId: string
  readonly endpointId: string
  readonly deliveryId: string
  readonly eventId: string
  readonly eventType: string
  readonly eventSequence: number
  readonly attempt: number
  readonly attemptedAtMs: number
  readonly latencyMs: number
  readonly responseStatus: number
  readonly outcome: string
  readonly reason: string
  readonly nextAttemptAtMs: number
  readonly isReplayed: boolean
  /** When ATTEMPTS was created, seconds since the epoch: sequences of different logs do not compare. */
  readonly sourceLog: number
  readonly sourceSequence: number
  readonly sourceIndex: number
}

export const ATTEMPTS_KEPT_DAYS = 400

/** Sorted by log sequence: later attempts come last, so that pages read from the end are stable. */
export const CREATE_WEBHOOK_ATTEMPTS = `
CREATE TABLE IF NOT EXISTS webhook_attempts (
  tenant_id LowCardinality(String),
  endpoint_id LowCardinality(String),
  delivery_id String,
  event_id String,
  event_type LowCardinality(String),
  event_sequence UInt64,
  attempt UInt16,
  attempted_at DateTime64(3, 'UTC'),
  latency_ms UInt32,
  response_status UInt16,
  outcome LowCardinality(String),
  reason LowCardinality(String),
  next_attempt_at DateTime64(3, 'UTC'),
  is_replayed UInt8,
  source_log UInt32,
  source_sequence UInt64,
  source_index UInt32,
  INDEX event_id_filter event_id TYPE bloom_filter(0.01) GRANULARITY 1
)
ENGINE = MergeTree
PARTITION BY toYYYYMM(attempted_at)
ORDER BY (tenant_id, endpoint_id, source_log, source_sequence, source_index)
TTL toDateTime(attempted_at) + INTERVAL ${ATTEMPTS_KEPT_DAYS} DAY
SETTINGS non_replicated_deduplication_window = 10000, ttl_only_drop_parts = 1`

export const WEBHOOK_ATTEMPTS: RowBinaryTable<AttemptRow> = {
  name: 'webhook_attempts',
  columns: [
    'tenant_id',
    'endpoint_id',
    'delivery_id',
    'event_id',
    'event_type',
    'event_sequence',
    'attempt',
    'attempted_at',
    'latency_ms',
    'response_status',
    'outcome',
    'reason',
    'next_attempt_at',
    'is_replayed',
    'source_log',
    'source_sequence',
    'source_index',
  ],
  rowBytes: 260,
  write(to, row) {
    to.string(row.tenantId)
    to.string(row.endpointId)
    to.string(row.deliveryId)
    to.string(row.eventId)
    to.string(row.eventType)
    to.uint64(row.eventSequence)
    to.uint16(row.attempt)
    to.dateTime64(row.attemptedAtMs)
    to.uint32(row.latencyMs)
    to.uint16(row.responseStatus)
    to.string(row.outcome)
    to.string(row.reason)
    to.dateTime64(row.nextAttemptAtMs)
    to.uint8(row.isReplayed ? 1 : 0)
    to.uint32(row.sourceLog)
    to.uint64(row.sourceSequence)
    to.uint32(row.sourceIndex)
  },
}
