/**
 * Rows of answers that have more than one page, in their order, so that all pages show the figures as of the first page
 * and any gateway can continue. An answer is identified by a name of its own; rows of an answer that no cursor names
 * are not read.
 */
export const REPORT_ROWS = 'report_rows'

/** A cursor is valid for an hour after its page; a long walk through pages may take several. */
export const REPORT_ROWS_HOURS = 6

export const CREATE_REPORT_ROWS = `
CREATE TABLE IF NOT EXISTS ${REPORT_ROWS} (
  tenant_id LowCardinality(String),
  answer FixedString(16),
  position UInt64,
  row String,
  staged_at DateTime('UTC') DEFAULT now()
)
ENGINE = MergeTree
PARTITION BY toStartOfHour(staged_at)
ORDER BY (tenant_id, answer, position)
TTL staged_at + INTERVAL ${REPORT_ROWS_HOURS} HOUR
SETTINGS ttl_only_drop_parts = 1, index_granularity = 1024`
