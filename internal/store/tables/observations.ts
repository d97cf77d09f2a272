import { uuidBytes } from '../../ids/ids.js'
import type { RowBinaryTable } from '../row-binary.js'

/** An observation accepted by POST /api/v1/events: not a single model call. Read by the coverage logic. */
export interface ObservationRow {
  readonly tenantId: string
  /** 16 bytes, derived from tenant and `eventId`. */
  readonly id: Uint8Array
  readonly eventId: string
  readonly type: string
  readonly source: string
  readonly occurredAtMs: number
  readonly receivedAtMs: number
  /** Id of the credential that sent it. */
  readonly principal: string
  readonly traceId: string
  /** JSON of an object. */
  readonly data: string
  /** When OBSERVATIONS was created, seconds since the epoch: sequences of different logs do not compare. */
  readonly sourceLog: number
  readonly sourceSequence: number
  readonly sourceIndex: number
}

/**
 * Kept for 30 days after receipt. A batch that spans two months lands in two parts, each deduplicated by itself, so
 * that repeating the insert completes one that a crash interrupted.
 */
export const CREATE_OBSERVATIONS = `
CREATE TABLE IF NOT EXISTS observations (
  tenant_id LowCardinality(String),
  id FixedString(16),
  event_id UUID,
  type LowCardinality(String),
  source LowCardinality(String),
  occurred_at DateTime64(3, 'UTC'),
  received_at DateTime64(3, 'UTC'),
  principal LowCardinality(String),
  trace_id String,
  data String,
  source_log UInt32,
  source_sequence UInt64,
  source_index UInt32,
  INDEX event_id_filter event_id TYPE bloom_filter(0.01) GRANULARITY 1
)
ENGINE = MergeTree
PARTITION BY toYYYYMM(received_at)
ORDER BY (tenant_id, source, occurred_at, event_id)
TTL toDateTime(received_at) + INTERVAL 30 DAY
SETTINGS non_replicated_deduplication_window = 10000`

export const OBSERVATIONS_TABLE: RowBinaryTable<ObservationRow> = {
  name: 'observations',
  columns: [
    'tenant_id',
    'id',
    'event_id',
    'type',
    'source',
    'occurred_at',
    'received_at',
    'principal',
    'trace_id',
    'data',
    'source_log',
    'source_sequence',
    'source_index',
  ],
  rowBytes: 500,
  write(to, row) {
    to.string(row.tenantId)
    to.fixed(row.id)
    to.uuid(uuidBytes(row.eventId))
    to.string(row.type)
    to.string(row.source)
    to.dateTime64(row.occurredAtMs)
    to.dateTime64(row.receivedAtMs)
    to.string(row.principal)
    to.string(row.traceId)
    to.string(row.data)
    to.uint32(row.sourceLog)
    to.uint64(row.sourceSequence)
    to.uint32(row.sourceIndex)
  },
}
