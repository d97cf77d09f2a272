import type { RowBinaryTable } from '../row-binary.js'

/**
 * A weight by which a tenant's pools may be spread, as of an instant; the weights of one instant sum to exactly 1. An
 * empty service means the share that stays in the pool.
 */
export interface AllocationWeightRow {
  readonly tenantId: string
  readonly asOfMs: number
  readonly service: string
  readonly owner: string
  /** Steps of 1e-18. */
  readonly weightSteps: bigint
  /** Whether reports may spread by it (k = 5). */
  readonly isShown: boolean
}

/** Not partitioned: the weights of an instant are one atomic part, and the table stays small. */
export const CREATE_ALLOCATION_WEIGHTS = `
CREATE TABLE IF NOT EXISTS allocation_weights (
  tenant_id LowCardinality(String),
  as_of DateTime64(3, 'UTC'),
  service String,
  owner String,
  weight Decimal(38, 18),
  is_shown Bool
)
ENGINE = MergeTree
ORDER BY (tenant_id, as_of, service, owner)
SETTINGS non_replicated_deduplication_window = 10000`

export const ALLOCATION_WEIGHTS: RowBinaryTable<AllocationWeightRow> = {
  name: 'allocation_weights',
  columns: ['tenant_id', 'as_of', 'service', 'owner', 'weight', 'is_shown'],
  rowBytes: 100,
  write(to, row) {
    to.string(row.tenantId)
    to.dateTime64(row.asOfMs)
    to.string(row.service)
    to.string(row.owner)
    to.decimal128(row.weightSteps)
    to.uint8(row.isShown ? 1 : 0)
  },
}
