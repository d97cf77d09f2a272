/** Events that a stage could not handle, so that whoever sent them can ask; the bytes are in the stream QUARANTINE. */
export const QUARANTINED = 'quarantined'

export const CREATE_QUARANTINED = `
CREATE TABLE IF NOT EXISTS ${QUARANTINED} (
  tenant_id LowCardinality(String),
  id FixedString(16),
  stage LowCardinality(String),
  reason String,
  quarantined_at DateTime64(3, 'UTC')
)
ENGINE = MergeTree
ORDER BY (tenant_id, id)
SETTINGS non_replicated_deduplication_window = 10000`
