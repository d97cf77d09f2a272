import type { FieldName, SortField } from '../../filters/fields.js'
import { FIELDS } from '../../records/fields.js'
import { GRANULE_ROWS } from './attributions.js'
import { CODECS } from './field-codec.js'

/**
 * One table a sort key, with the columns that a page of records shows or asks by (design section 6). A materialized view
 * feeds each with every row that goes into `attributions`, within the same insert and under the same token.
 *
 * Whatever removes or changes rows of `attributions` in place (retention, erasure) must do so in all `RECORD_TABLES`.
 */

/** `ingestion_layer` decides which records a partner sees. */
const KEY: ReadonlySet<string> = new Set(['tenant_id', 'id', 'ingestion_layer'])
const COLUMNS = FIELDS.filter(({ name, wire }) => KEY.has(name) || wire !== undefined).map(
  ({ name, kind }) => [name, CODECS[kind].type] as const,
)

/** The column that a sort, or a filter of the same name, goes by. */
export const columnOf = (field: string): string => (field === 'materialized_at' ? 'valid_from' : field)

/** Those that need a copy: `attributions` itself is in the order of `event_time`. */
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
 * The labels of closed lists, those first whose rare values are asked for most: what a label finds lies together in the
 * order of all of them, in few places. Nobody sorts by it; rare labels are found there.
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

/** The table in the order of a field. */
export const tableSortedBy = (field: SortField): string =>
  field === 'event_time' ? 'attributions' : copyOf(field).table

/** Every table that holds whole records. */
export const RECORD_TABLES: readonly string[] = ['attributions', ...SORTED_COPIES.map(({ table }) => table)]

/**
 * What the granules of each table know of their rows. A granule that passes such an index for one filter holds a match,
 * but for `ne`, and `in` and `eq` of a number, and one in a hundred by chance: so a page costs hardly more than one granule a
 * record, wherever in the order its records lie.
 */
const SKIP_INDEXES: readonly (readonly [column: string, type: string])[] = [
  ...['id', 'event_time', 'valid_from', 'cost_usd', 'energy_wh', 'carbon_gco2e', 'confidence'].map(
    (column) => [column, 'minmax'] as const,
  ),
  // A list of hundreds of values costs more to look through, for all granules, than the column itself.
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
 * What took the place of the sets, which took up to 200 ms to look through for ten million records, where these take 2. They
 * know nothing of `ne`; the orders of labels and providers do.
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

const namesOf = (indexes: readonly (readonly [string, string])[]): string =>
  indexes.map((index) => `\`${indexNameOf(index)}\``).join(', ')

/** Every index of granules that any of the tables has, as the setting `ignore_data_skipping_indices` takes them. */
export const INDEXES_OF_GRANULES: string = `${namesOf([...SKIP_INDEXES, ...IN_PLACE_OF_SETS, ...OF_BASE])}, \`id_filter\``

/**
 * Indexes that an insert leaves to the merges that follow: with them an insert of a few rows takes three times as long, and
 * the parts without are small. A name for each, as the setting `exclude_materialize_skip_indexes_on_insert` takes them.
 */
export const INDEXES_LEFT_TO_MERGES: string = namesOf([...SKIP_INDEXES, ...IN_PLACE_OF_SETS])

/**
 * What parts are made with: no statistics of columns, which no query of ours uses and which cost merges a third of their
 * work; the indexes of a small part in one file; and small compressed blocks, since the records of a page may lie far
 * apart, and each of their columns is a block to unpack.
 */
const PART_SETTINGS =
  "auto_statistics_types = '', packed_skip_index_max_bytes = 1048576, min_compress_block_size = 8192, max_compress_block_size = 65536"

/** The indexes of `attributions`: for the rows to come, and then, in the background, for those that are there. */
export const ADD_SKIP_INDEXES: readonly string[] = [
  `ALTER TABLE attributions MODIFY SETTING ${PART_SETTINGS}`,
  `ALTER TABLE attributions ${OF_BASE.map((index) => `ADD ${indexOf(index).replace('INDEX', 'INDEX IF NOT EXISTS')}`).join(', ')}`,
  `ALTER TABLE attributions ${OF_BASE.map((index) => `MATERIALIZE INDEX ${indexNameOf(index)}`).join(', ')}`,
]

export const createSortedCopy = ({ table, key }: SortedCopy): string => `
CREATE TABLE IF NOT EXISTS ${table} (
${COLUMNS.map(([name, type]) => `  ${name} ${type}`).join(',\n')},
${SKIP_INDEXES.filter(([column]) => !key.includes(column))
  .map((index) => `  ${indexOf(index)}`)
  .join(',\n')}
)
ENGINE = MergeTree
PARTITION BY toYYYYMM(valid_from)
ORDER BY (${[...new Set(['tenant_id', ...key, 'id'])].join(', ')})
SETTINGS non_replicated_deduplication_window = 10000, index_granularity = ${GRANULE_ROWS}, ${PART_SETTINGS}`

/** What the view puts into a copy, and what fills one with the rows that were there before it. */
export const COPIED_COLUMNS = COLUMNS.map(([name]) => name).join(', ')

export const createFeed = ({ table }: SortedCopy): string =>
  `CREATE MATERIALIZED VIEW IF NOT EXISTS ${table}_feed TO ${table} AS SELECT ${COPIED_COLUMNS} FROM attributions`

/** The values that the searched columns have: what `contains` is resolved against. A value may stand more than once. */
export const CREATE_VALUES = `
CREATE TABLE IF NOT EXISTS attribution_values (
  tenant_id LowCardinality(String),
  field LowCardinality(String),
  value String
)
ENGINE = ReplacingMergeTree
ORDER BY (tenant_id, field, value)`

const VALUES_OF = `SELECT DISTINCT tenant_id, field, value FROM attributions
ARRAY JOIN ['provider', 'served_model', 'service', 'owner'] AS field,
  [toString(provider), toString(served_model), toString(service), toString(owner)] AS value`

export const CREATE_VALUES_FEED = `CREATE MATERIALIZED VIEW IF NOT EXISTS attribution_values_feed TO attribution_values AS ${VALUES_OF}`

/** Safe to repeat: what stands there already is merged. */
export const FILL_VALUES = `INSERT INTO attribution_values ${VALUES_OF}`

/** Which copies hold all rows. */
export const CREATE_FILLED_COPIES = `
CREATE TABLE IF NOT EXISTS filled_copies (table String, filled_at DateTime64(3, 'UTC') DEFAULT now64(3))
ENGINE = MergeTree ORDER BY table`

/**
 * Up to so many bytes, unpacked, a part of a copy has all columns in one file: a page, whose rows lie in most parts, opens
 * a file a part rather than one a part and column, and a merge goes through its rows once. A larger part has a file a column,
 * so that what is deleted in it does not write it anew.
 */
const COMPACT_PART_BYTES_MAX = 1024 ** 3

const makeCompact = ({ table }: SortedCopy): string =>
  `ALTER TABLE ${table} MODIFY SETTING min_bytes_for_wide_part = ${COMPACT_PART_BYTES_MAX}`

/** For the parts to come; one that is there becomes so with its next merge. */
export const MAKE_COPIES_COMPACT: readonly string[] = COPIES_OF_SORTS.map(makeCompact)

/**
 * Parts of a month that are a day old become one, however unlike in size: a page reads from each part, half a millisecond
 * and more of processor time. So a record is written once more a day, while its month lasts.
 */
const SETTLED_AFTER_S = 24 * 60 * 60

const settle = (table: string): string =>
  `ALTER TABLE ${table} MODIFY SETTING min_age_to_force_merge_seconds = ${SETTLED_AFTER_S}`

export const SETTLE_PARTS: readonly string[] = ['attributions', ...COPIES_OF_SORTS.map(({ table }) => table)].map(
  settle,
)

const bloomsOf = ({ table, key }: SortedCopy): readonly string[] => {
  const blooms = IN_PLACE_OF_SETS.filter(([column]) => !key.includes(column))
  // A start does not wait until parts are made anew: for ten million records 20 s a table.
  const inBackground = 'SETTINGS alter_sync = 0, mutations_sync = 0'
  return [
    `ALTER TABLE ${table} ${blooms.map((index) => `ADD ${indexOf(index).replace('INDEX', 'INDEX IF NOT EXISTS')}`).join(', ')}`,
    // Before blooms are made: it is refused while a set is still being made, and each try would begin them anew.
    `ALTER TABLE ${table} ${blooms.map(([column]) => `DROP INDEX IF EXISTS ${indexNameOf([column, 'set'])}`).join(', ')} ${inBackground}`,
    `ALTER TABLE ${table} ${blooms.map((index) => `MATERIALIZE INDEX ${indexNameOf(index)}`).join(', ')} ${inBackground}`,
  ]
}

/** For the rows to come; then, in the background, for those that are there. */
export const BLOOMS_FOR_SETS: readonly string[] = [
  { table: 'attributions', key: ['event_time'] },
  ...SORTED_COPIES,
].flatMap(bloomsOf)

export const CREATE_SORTED_COPIES: readonly string[] = [
  CREATE_FILLED_COPIES,
  ...COPIES_OF_SORTS.flatMap((copy) => [createSortedCopy(copy), createFeed(copy)]),
]

export const CREATE_COPY_BY_LABELS: readonly string[] = [
  createSortedCopy(COPY_BY_LABELS),
  makeCompact(COPY_BY_LABELS),
  settle(BY_LABELS),
  createFeed(COPY_BY_LABELS),
]
