/**
 * What POST /api/v1/events took: observations that are no single model call, read by the coverage logic.
 * Kept for 30 days after they came.
 */
export const OBSERVATIONS_TABLE = 'observations'

export const CREATE_OBSERVATIONS = `
CREATE TABLE IF NOT EXISTS observations (
  tenant_id LowCardinality(String),
  event_id UUID,
  type LowCardinality(String),
  source LowCardinality(String),
  occurred_at DateTime64(3, 'UTC'),
  received_at DateTime64(3, 'UTC'),
  trace_id String,
  data String
)
ENGINE = MergeTree
PARTITION BY toYYYYMM(received_at)
ORDER BY (tenant_id, source, occurred_at, event_id)
TTL toDateTime(received_at) + INTERVAL 30 DAY
SETTINGS non_replicated_deduplication_window = 10000`
