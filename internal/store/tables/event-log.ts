import type { RowBinaryTable } from '../row-binary.js'

/** A domain event that was emitted. */
export interface EventRow {
  readonly tenantId: string
  readonly type: string
  readonly eventId: string
  readonly createdAtMs: number
  /** JSON as receivers get it: amounts keep their digits. */
  readonly envelope: string
  /** When EVENTS was created, seconds since the epoch: sequences of different logs do not compare. */
  readonly sourceLog: number
  readonly sourceSequence: number
}

/** Unless the setting `event-log-days` says otherwise. */
const EVENTS_KEPT_DAYS = 90

/** The time to live of the table. */
export const eventLogTtl = (days: number): string => `toDateTime(created_at) + INTERVAL ${days} DAY`

/** Sorted by log sequence: later events come last, so that pages read from the end are stable. */
export const CREATE_EVENT_LOG = `
CREATE TABLE IF NOT EXISTS event_log (
  tenant_id LowCardinality(String),
  type LowCardinality(String),
  event_id String,
  created_at DateTime64(3, 'UTC'),
  envelope String,
  source_log UInt32,
  source_sequence UInt64,
  INDEX event_id_filter event_id TYPE bloom_filter(0.01) GRANULARITY 1
)
ENGINE = MergeTree
PARTITION BY toYYYYMM(created_at)
ORDER BY (tenant_id, source_log, source_sequence)
TTL ${eventLogTtl(EVENTS_KEPT_DAYS)}
SETTINGS non_replicated_deduplication_window = 10000`

export const EVENT_LOG: RowBinaryTable<EventRow> = {
  name: 'event_log',
  columns: ['tenant_id', 'type', 'event_id', 'created_at', 'envelope', 'source_log', 'source_sequence'],
  rowBytes: 600,
  write(to, row) {
    to.string(row.tenantId)
    to.string(row.type)
    to.string(row.eventId)
    to.dateTime64(row.createdAtMs)
    to.string(row.envelope)
    to.uint32(row.sourceLog)
    to.uint64(row.sourceSequence)
  },
}
