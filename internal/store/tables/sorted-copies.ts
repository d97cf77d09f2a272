import type { FieldName, SortField } from '../../filters/filter-fields.js'
import { FIELDS } from '../../records/record-fields.js'
import { CODECS } from './field-codec.js'
import { COPIED_LABELS, SHOWN_LABELS } from './packed-fields.js'
import { indexesOf, PART_SETTINGS } from './record-storage.js'

/**
 * One table per sort key, with the columns that a page of records shows or filters by
 * (`deploy/decisions/sorted-copies.md`). Records are copied into them a while after they were inserted into
 * `attributions` (`store/settling.ts`).
 *
 * Code that deletes or updates rows of `attributions` (retention, erasure) must do so in all `RECORD_TABLES`.
 */

/** `ingestion_layer` decides which records a partner sees. */
const KEY: ReadonlySet<string> = new Set(['tenant_id', 'id', 'ingestion_layer'])
const COLUMNS = FIELDS.filter(({ name, wire }) => KEY.has(name) || wire !== undefined).map(
  ({ name, kind }) => [name, CODECS[kind].type] as const,
)

/**
 * Numbers, times and hex digits: of a record's bytes in a copy, most beside its id. Compressed like this they take 40 %
 * less than by the engine's default, LZ4.
 */
const COMPRESSED: ReadonlySet<string> = new Set([
  ...['cost_usd', 'energy_wh', 'carbon_gco2e', 'input_tokens', 'output_tokens'],
  ...['event_time', 'valid_from', 'trace_id'],
])

/** Fields that are no column of the same name, with their SQL over a record. */
const SQL: Readonly<Record<string, string>> = {
  materialized_at: 'valid_from',
  invocation_id: 'id',
  credential: 'principal',
  pool: "if(stage_origin = 'stage_c', toString(service), '')",
}

/** The column of a sort or filter field. */
export const columnOf = (field: string): string => SQL[field] ?? field

const COPIED: ReadonlySet<string> = new Set([...COLUMNS.map(([name]) => name), columnOf('pool')])
/** Whether copies know the field; else only `attributions` does. */
export const isCopied = (field: string): boolean => COPIED.has(columnOf(field))

/** Sort fields that need a copy: `attributions` itself is sorted by `event_time`. */
const COPIED_SORTS = [
  'materialized_at',
  'cost_usd',
  'energy_wh',
  'carbon_gco2e',
  'confidence',
  'provider',
  'served_model',
  'service',
  'owner',
] as const satisfies readonly SortField[]

export interface SortedCopy {
  readonly table: string
  /** Columns between the tenant and the id. */
  readonly key: readonly string[]
}

const copyOf = (field: SortField): SortedCopy => ({ table: `attributions_by_${field}`, key: [columnOf(field)] })

/**
 * Labels from closed lists, ordered by how often their rare values are filtered for. In a table sorted by all of them
 * the rows of a rare label lie close together. Serves filters only, no sort field.
 */
export const LABEL_FIELDS = [
  'output_state',
  'degradation_state',
  'evidence_basis',
  'export_eligibility',
  'stage_origin',
  'confidence_band',
  'pathway_category',
] as const satisfies readonly FieldName[]

export const BY_LABELS = 'attributions_by_labels'

export const SORTED_COPIES: readonly SortedCopy[] = [
  ...COPIED_SORTS.map(copyOf),
  { table: BY_LABELS, key: LABEL_FIELDS },
]

/** The table sorted by a field. */
export const tableSortedBy = (field: SortField): string =>
  field === 'event_time' ? 'attributions' : copyOf(field).table

/** Every table that holds whole records. */
export const RECORD_TABLES: readonly string[] = ['attributions', ...SORTED_COPIES.map(({ table }) => table)]

/** The columns of a copy. */
export const COPIED_COLUMNS = [...COLUMNS.map(([name]) => name), SHOWN_LABELS.name].join(', ')

/**
 * A part of a copy up to this uncompressed size keeps all columns in one file: a page, whose rows lie in most parts,
 * then opens one file per part instead of one per part and column, and a merge reads its rows once. A larger part has
 * one file per column, so that a deletion does not rewrite it.
 */
const COMPACT_PART_BYTES_MAX = 1024 ** 3

export const CREATE_SORTED_COPIES: readonly string[] = SORTED_COPIES.map(
  ({ table, key }) => `
CREATE TABLE IF NOT EXISTS ${table} (
${COLUMNS.map(([name, type]) => `  ${name} ${type}${COMPRESSED.has(name) ? ' CODEC(ZSTD(1))' : ''}`).join(',\n')},
  ${COPIED_LABELS},
${indexesOf(key)}
)
ENGINE = MergeTree
PARTITION BY toYYYYMM(valid_from)
ORDER BY (${[...new Set(['tenant_id', ...key, 'id'])].join(', ')})
SETTINGS non_replicated_deduplication_window = 10000, \
${PART_SETTINGS}, min_bytes_for_wide_part = ${COMPACT_PART_BYTES_MAX}`,
)
