import type { FieldName, SortField } from '../../filters/filter-fields.js'
import { FIELDS } from '../../records/record-fields.js'
import { SELECT_VALUES } from './attribution-values.js'
import { GRANULE_ROWS } from './attributions.js'
import { CODECS } from './field-codec.js'

/**
 * One table per sort key, with the columns that a page of records shows or filters by (design section 6). Records are copied
 * into them a while after they were inserted into `attributions` (`store/settling.ts`).
 *
 * Code that deletes or updates rows of `attributions` (retention, erasure) must do so in all `RECORD_TABLES`.
 */

/** `ingestion_layer` decides which records a partner sees. */
const KEY: ReadonlySet<string> = new Set(['tenant_id', 'id', 'ingestion_layer'])
const COLUMNS = FIELDS.filter(({ name, wire }) => KEY.has(name) || wire !== undefined).map(
  ({ name, kind }) => [name, CODECS[kind].type] as const,
)

/** Added by later steps of the schema, in this order: the steps before do not know them. */
const DIMENSIONS = 'dimensions'
const CONTESTED = 'contested'
const USAGE_BASIS = 'usage_basis'
const OUTCOME = 'outcome'
const LATER: ReadonlySet<string> = new Set([DIMENSIONS, CONTESTED, USAGE_BASIS, OUTCOME])
const FIRST_COLUMNS = COLUMNS.filter(([name]) => !LATER.has(name))

/** The column of a sort or filter field. */
export const columnOf = (field: string): string => (field === 'materialized_at' ? 'valid_from' : field)

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

const COPIES_OF_SORTS: readonly SortedCopy[] = COPIED_SORTS.map(copyOf)

/**
 * Labels from closed lists, ordered by how often their rare values are filtered for. In a table sorted by all of them the rows
 * of a rare label lie close together. Serves filters only, no sort field.
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
const COPY_BY_LABELS: SortedCopy = { table: BY_LABELS, key: LABEL_FIELDS }

export const SORTED_COPIES: readonly SortedCopy[] = [...COPIES_OF_SORTS, COPY_BY_LABELS]

/** The table sorted by a field. */
export const tableSortedBy = (field: SortField): string =>
  field === 'event_time' ? 'attributions' : copyOf(field).table

/** Every table that holds whole records. */
export const RECORD_TABLES: readonly string[] = ['attributions', ...SORTED_COPIES.map(({ table }) => table)]

/**
 * Skip indexes of each table. A granule that passes such an index for one filter contains a match, except for `ne`, for `in`
 * and `eq` of a number, and for one false positive in a hundred: so a page reads hardly more than one granule per record,
 * wherever in the order its records lie.
 */
const SKIP_INDEXES: readonly (readonly [column: string, type: string])[] = [
  ...['id', 'event_time', 'valid_from', 'cost_usd', 'energy_wh', 'carbon_gco2e', 'confidence'].map(
    (column) => [column, 'minmax'] as const,
  ),
  // Checking a set of hundreds of values for all granules costs more than reading the column.
  ...['served_model', 'service', 'owner'].map((column) => [column, 'bloom_filter(0.01)'] as const),
  ...[
    'provider',
    'pathway_category',
    'output_state',
    'stage_origin',
    'confidence_band',
    'evidence_basis',
    'degradation_state',
    'export_eligibility',
  ].map((column) => [column, 'set(100)'] as const),
]

/**
 * Bloom filters that replaced the set indexes: checking them takes 2 ms for ten million records instead of up to 200. They do
 * not help `ne`; the copies sorted by labels and by provider do.
 */
const IN_PLACE_OF_SETS = SKIP_INDEXES.filter(([, type]) => type.startsWith('set')).map(
  ([column]) => [column, 'bloom_filter(0.01)'] as const,
)

const indexNameOf = ([column, type]: readonly [string, string]): string => `${column}_${type.replace(/\W.*/, '')}`
const indexOf = (index: readonly [string, string]): string =>
  `INDEX ${indexNameOf(index)} ${index[0]} TYPE ${index[1]} GRANULARITY 1`

const OF_BASE: readonly (readonly [column: string, type: string])[] = [
  ...SKIP_INDEXES.filter(([column]) => column !== 'event_time'),
  ['trace_id', 'bloom_filter(0.01)'],
]

const namesOf = (indexes: readonly (readonly [string, string])[]): readonly string[] =>
  indexes.map((index) => `\`${indexNameOf(index)}\``)

/** A filter on a tag is a search for a pair of key and value. */
const DIMENSIONS_INDEX = [DIMENSIONS, 'bloom_filter(0.01)'] as const

/** Rare values of these are looked for, such as interrupted calls. */
const USAGE_INDEXES = [USAGE_BASIS, OUTCOME].map((column) => [column, 'bloom_filter(0.01)'] as const)

/** All skip indexes of all tables, for the setting `ignore_data_skipping_indices`. */
export const INDEXES_OF_GRANULES: readonly string[] = [
  ...namesOf([...SKIP_INDEXES, ...IN_PLACE_OF_SETS, ...OF_BASE, DIMENSIONS_INDEX, ...USAGE_INDEXES]),
  '`id_filter`',
]

/** The one of the instant at which a record became valid. */
export const TIME_INDEX = '`valid_from_minmax`'

/**
 * Indexes that merges build instead of inserts: building them makes an insert of a few rows three times as slow, and the parts
 * without them are small. For the setting `exclude_materialize_skip_indexes_on_insert`.
 */
export const INDEXES_LEFT_TO_MERGES: string = namesOf([
  ...SKIP_INDEXES,
  ...IN_PLACE_OF_SETS,
  DIMENSIONS_INDEX,
  ...USAGE_INDEXES,
]).join(', ')

/**
 * Settings of parts: no column statistics, which none of our queries uses and which cost a third of merge time; the indexes of a
 * small part in one file; small compressed blocks, because the records of a page may lie far apart, and each of their columns
 * is a block to decompress.
 */
const PART_SETTINGS =
  "auto_statistics_types = '', packed_skip_index_max_bytes = 1048576, min_compress_block_size = 8192, max_compress_block_size = 65536"

/** The indexes of `attributions`: for new rows at once, for existing rows in the background. */
export const ADD_SKIP_INDEXES: readonly string[] = [
  `ALTER TABLE attributions MODIFY SETTING ${PART_SETTINGS}`,
  `ALTER TABLE attributions ${OF_BASE.map((index) => `ADD ${indexOf(index).replace('INDEX', 'INDEX IF NOT EXISTS')}`).join(', ')}`,
  `ALTER TABLE attributions ${OF_BASE.map((index) => `MATERIALIZE INDEX ${indexNameOf(index)}`).join(', ')}`,
]

export const createSortedCopy = ({ table, key }: SortedCopy): string => `
CREATE TABLE IF NOT EXISTS ${table} (
${FIRST_COLUMNS.map(([name, type]) => `  ${name} ${type}`).join(',\n')},
${SKIP_INDEXES.filter(([column]) => !key.includes(column))
  .map((index) => `  ${indexOf(index)}`)
  .join(',\n')}
)
ENGINE = MergeTree
PARTITION BY toYYYYMM(valid_from)
ORDER BY (${[...new Set(['tenant_id', ...key, 'id'])].join(', ')})
SETTINGS non_replicated_deduplication_window = 10000, index_granularity = ${GRANULE_ROWS}, ${PART_SETTINGS}`

/** The columns of a copy. */
export const COPIED_COLUMNS = COLUMNS.map(([name]) => name).join(', ')

/**
 * A part of a copy up to this uncompressed size keeps all columns in one file: a page, whose rows lie in most parts, then opens
 * one file per part instead of one per part and column, and a merge reads its rows once. A larger part has one file per
 * column, so that a deletion does not rewrite it.
 */
const COMPACT_PART_BYTES_MAX = 1024 ** 3

const makeCompact = ({ table }: SortedCopy): string =>
  `ALTER TABLE ${table} MODIFY SETTING min_bytes_for_wide_part = ${COMPACT_PART_BYTES_MAX}`

/** Applies to new parts; an existing part is converted by its next merge. */
export const MAKE_COPIES_COMPACT: readonly string[] = COPIES_OF_SORTS.map(makeCompact)

/**
 * Parts of a month older than a day are merged into one regardless of size, because a page reads from each part, which costs
 * half a millisecond or more of CPU. So each record of the current month is rewritten once per day.
 */
const SETTLED_AFTER_S = 24 * 60 * 60

const settle = (table: string): string =>
  `ALTER TABLE ${table} MODIFY SETTING min_age_to_force_merge_seconds = ${SETTLED_AFTER_S}`

export const SETTLE_PARTS: readonly string[] = ['attributions', ...COPIES_OF_SORTS.map(({ table }) => table)].map(
  settle,
)

const bloomsOf = ({ table, key }: SortedCopy): readonly string[] => {
  const blooms = IN_PLACE_OF_SETS.filter(([column]) => !key.includes(column))
  // Startup does not wait until parts are rewritten: 20 s per table for ten million records.
  const inBackground = 'SETTINGS alter_sync = 0, mutations_sync = 0'
  return [
    `ALTER TABLE ${table} ${blooms.map((index) => `ADD ${indexOf(index).replace('INDEX', 'INDEX IF NOT EXISTS')}`).join(', ')}`,
    // Before the bloom filters are built: dropping is refused while a set is still being built, and each attempt would restart them.
    `ALTER TABLE ${table} ${blooms.map(([column]) => `DROP INDEX IF EXISTS ${indexNameOf([column, 'set'])}`).join(', ')} ${inBackground}`,
    `ALTER TABLE ${table} ${blooms.map((index) => `MATERIALIZE INDEX ${indexNameOf(index)}`).join(', ')} ${inBackground}`,
  ]
}

/** For new rows at once, for existing rows in the background. */
export const BLOOMS_FOR_SETS: readonly string[] = [
  { table: 'attributions', key: ['event_time'] },
  ...SORTED_COPIES,
].flatMap(bloomsOf)

export const CREATE_SORTED_COPIES: readonly string[] = COPIES_OF_SORTS.map(createSortedCopy)

export const CREATE_COPY_BY_LABELS: readonly string[] = [
  createSortedCopy(COPY_BY_LABELS),
  makeCompact(COPY_BY_LABELS),
  settle(BY_LABELS),
]

/**
 * The column of declared tags, in the records and in every copy. One column of pairs, not one per key: an insert pays for a
 * column in each of the tables, and a tenant without dimensions pays for one that is empty.
 */
export const ADD_DIMENSIONS: readonly string[] = [
  ...RECORD_TABLES.map(
    (table) =>
      `ALTER TABLE ${table} ADD COLUMN IF NOT EXISTS ${DIMENSIONS} ${CODECS.pairs.type}${table === 'attributions' ? ' AFTER tags' : ''}`,
  ),
  ...RECORD_TABLES.map(
    (table) => `ALTER TABLE ${table} ADD ${indexOf(DIMENSIONS_INDEX).replace('INDEX', 'INDEX IF NOT EXISTS')}`,
  ),
  `ALTER TABLE attribution_values_feed MODIFY QUERY ${SELECT_VALUES}`,
]

export const ADD_CONTESTED: readonly string[] = RECORD_TABLES.map(
  (table) => `ALTER TABLE ${table} ADD COLUMN IF NOT EXISTS ${CONTESTED} ${CODECS.label.type} AFTER export_eligibility`,
)

/** Records from before were made of counts that their producers stated as such. */
const KNOWN_USAGE = "if(isNull(input_tokens) AND isNull(output_tokens), 'unknown', 'reported')"

export const ADD_USAGE_BASIS: readonly string[] = RECORD_TABLES.flatMap((table) => [
  `ALTER TABLE ${table} ADD COLUMN IF NOT EXISTS ${USAGE_BASIS} ${CODECS.label.type} DEFAULT ${KNOWN_USAGE} AFTER cost_basis, ` +
    `ADD COLUMN IF NOT EXISTS ${OUTCOME} ${CODECS.label.type} AFTER ${USAGE_BASIS}`,
  `ALTER TABLE ${table} ${USAGE_INDEXES.map((index) => `ADD ${indexOf(index).replace('INDEX', 'INDEX IF NOT EXISTS')}`).join(', ')}`,
])

/** Numbers and times: of a record's bytes in a copy, two thirds beside its id. */
const COMPRESSED: ReadonlySet<string> = new Set([
  ...['cost_usd', 'energy_wh', 'carbon_gco2e', 'input_tokens', 'output_tokens'],
  ...['event_time', 'valid_from'],
])

/**
 * They take 40 % less than by the engine's default, LZ4, and so a copy a fifth. Applies to new parts; an existing part is
 * converted by its next merge.
 */
export const COMPRESS_NUMBERS: readonly string[] = SORTED_COPIES.map(({ table }) => {
  const changes = COLUMNS.filter(([name]) => COMPRESSED.has(name)).map(
    ([name, type]) => `MODIFY COLUMN ${name} ${type} CODEC(ZSTD(1))`,
  )
  return `ALTER TABLE ${table} ${changes.join(', ')}`
})

/** Copies used to be fed by views within each insert. */
export const DROP_FEEDS: readonly string[] = [
  ...SORTED_COPIES.map(({ table }) => `${table}_feed`),
  'filled_copies',
].map((name) => `DROP TABLE IF EXISTS ${name}`)
