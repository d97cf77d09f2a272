import type { RowBinaryTable } from '../row-binary.js'

/** An event that a stage could not handle, for the invocation status; its bytes are in the stream QUARANTINE. */
export interface QuarantinedRow {
  readonly tenantId: string
  /** The 16 bytes that `attr_` and `inv_` share. */
  readonly id: Uint8Array
  readonly stage: string
  /** From a closed list, with the class of the error; never contains text of the event. */
  readonly reason: string
  readonly quarantinedAtMs: number
}

/** Not partitioned: an insert is one atomic part, and the table stays small. */
export const CREATE_QUARANTINED = `
CREATE TABLE IF NOT EXISTS quarantined (
  tenant_id LowCardinality(String),
  id FixedString(16),
  stage LowCardinality(String),
  reason LowCardinality(String),
  quarantined_at DateTime64(3, 'UTC')
)
ENGINE = MergeTree
ORDER BY (tenant_id, id)
SETTINGS non_replicated_deduplication_window = 10000`

export const QUARANTINED: RowBinaryTable<QuarantinedRow> = {
  name: 'quarantined',
  columns: ['tenant_id', 'id', 'stage', 'reason', 'quarantined_at'],
  rowBytes: 80,
  write(to, row) {
    to.string(row.tenantId)
    to.fixed(row.id)
    to.string(row.stage)
    to.string(row.reason)
    to.dateTime64(row.quarantinedAtMs)
  },
}
