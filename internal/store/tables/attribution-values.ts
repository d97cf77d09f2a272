import type { AttributionRow } from '../../records/record-fields.js'
import type { RowBinaryTable } from '../row-binary.js'

/**
 * Distinct values of the searchable columns and pairs of declared tags, against which `contains` and providers are
 * resolved. Has at least those of all records: `sink.ts` writes a value before the first record that has it, and
 * `settling.ts` those of settled records once more. May contain duplicates until a merge.
 */
export const CREATE_VALUES = `
CREATE TABLE IF NOT EXISTS attribution_values (
  tenant_id LowCardinality(String),
  field LowCardinality(String),
  value String
)
ENGINE = ReplacingMergeTree
ORDER BY (tenant_id, field, value)`

/** The field of pairs of declared tags. */
export const VALUES_OF_TAGS = 'tags'

export interface AttributionValue {
  readonly tenantId: string
  readonly field: (typeof VALUE_FIELDS)[number] | typeof VALUES_OF_TAGS
  readonly value: string
}

const VALUE_FIELDS = ['provider', 'served_model', 'service', 'owner'] as const
export const hasValues = (field: string): boolean => VALUE_FIELDS.some((known) => known === field)

/** Calls back with every value of a record. */
export function eachValueOf(
  { tenantId, provider, servedModel, service, owner, dimensions }: AttributionRow,
  found: (tenantId: string, field: AttributionValue['field'], value: string) => void,
): void {
  found(tenantId, 'provider', provider)
  found(tenantId, 'served_model', servedModel)
  found(tenantId, 'service', service)
  found(tenantId, 'owner', owner)
  for (const pair of dimensions) found(tenantId, VALUES_OF_TAGS, pair)
}

export const ATTRIBUTION_VALUES: RowBinaryTable<AttributionValue> = {
  name: 'attribution_values',
  columns: ['tenant_id', 'field', 'value'],
  rowBytes: 60,
  write(to, { tenantId, field, value }) {
    to.string(tenantId)
    to.string(field)
    to.string(value)
  },
}

/** The values of records. A condition over `attributions` may follow. */
export const SELECT_VALUES = `SELECT DISTINCT tenant_id, field, value FROM attributions
ARRAY JOIN arrayConcat(['provider', 'served_model', 'service', 'owner'], \
arrayMap(pair -> '${VALUES_OF_TAGS}', dimensions)) AS field,
  arrayConcat([toString(provider), toString(served_model), toString(service), toString(owner)],
    CAST(dimensions, 'Array(String)')) AS value`
