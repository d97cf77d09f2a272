import type { RowBinaryTable } from '../row-binary.js'

/** One record of an audit log. Empty text means null, also in `tenantId`: that is the log of the instance. */
export interface AuditLogRow {
  readonly tenantId: string
  /** Sequence number in the tenant's log: starts at 1, without gaps. */
  readonly sequence: number
  /** 64 hex digits: chains the record to the previous one. */
  readonly hash: string
  readonly createdAtMs: number
  readonly actor: string
  readonly action: string
  readonly target: string
  readonly outcome: string
  readonly errorCode: string
  readonly traceId: string
  readonly sourceAddress: string
  /** Canonical JSON. */
  readonly changes: string
  readonly repeats: number
}

export const AUDIT_LOG_KEPT_DAYS = 400

/**
 * Append-only: the embedded engine grants nobody the right to change, drop or truncate it (`engine/config-files.ts`),
 * and its records are chained. Records past retention are dropped by whole months, so that no part is ever rewritten.
 */
export const CREATE_AUDIT_LOG = `
CREATE TABLE IF NOT EXISTS audit_log (
  tenant_id LowCardinality(String),
  sequence UInt64,
  hash FixedString(32),
  created_at DateTime64(3, 'UTC'),
  actor String,
  action LowCardinality(String),
  target String,
  outcome LowCardinality(String),
  error_code LowCardinality(String),
  trace_id String,
  source_address String,
  changes String,
  repeats UInt32
)
ENGINE = MergeTree
PARTITION BY toYYYYMM(created_at)
ORDER BY (tenant_id, sequence)
TTL toDateTime(created_at) + INTERVAL ${AUDIT_LOG_KEPT_DAYS} DAY
SETTINGS non_replicated_deduplication_window = 10000, ttl_only_drop_parts = 1`

export const AUDIT_LOG: RowBinaryTable<AuditLogRow> = {
  name: 'audit_log',
  columns: [
    'tenant_id',
    'sequence',
    'hash',
    'created_at',
    'actor',
    'action',
    'target',
    'outcome',
    'error_code',
    'trace_id',
    'source_address',
    'changes',
    'repeats',
  ],
  rowBytes: 300,
  write(to, row) {
    to.string(row.tenantId)
    to.uint64(row.sequence)
    to.fixed(Buffer.from(row.hash, 'hex'))
    to.dateTime64(row.createdAtMs)
    to.string(row.actor)
    to.string(row.action)
    to.string(row.target)
    to.string(row.outcome)
    to.string(row.errorCode)
    to.string(row.traceId)
    to.string(row.sourceAddress)
    to.string(row.changes)
    to.uint32(row.repeats)
  },
}
