/** What the tables that hold whole records share: `attributions` and its sorted copies. */

/**
 * Skip indexes. A granule that passes such an index for one filter contains a match, except for `ne`, for `in` and `eq`
 * of a number, and for one false positive in a hundred: so a page reads hardly more than one granule per record,
 * wherever in the order its records lie. Bloom filters for labels as well: checking a set of values for all granules
 * costs more.
 */
const INDEXES: readonly (readonly [column: string, type: string])[] = [
  ...['id', 'event_time', 'valid_from', 'cost_usd', 'energy_wh', 'carbon_gco2e', 'confidence'].map(
    (column) => [column, 'minmax'] as const,
  ),
  ...[
    ...['served_model', 'service', 'owner', 'provider'],
    ...['pathway_category', 'output_state', 'stage_origin', 'confidence_band', 'evidence_basis'],
    ...['degradation_state', 'export_eligibility'],
    // A filter on a tag is a search for a pair of key and value; of the others, rare values such as interrupted calls.
    ...['dimensions', 'usage_basis', 'outcome'],
  ].map((column) => [column, 'bloom_filter(0.01)'] as const),
]

/** Of `attributions` alone. */
const TRACE_INDEX = ['trace_id', 'bloom_filter(0.01)'] as const

const nameOf = ([column, type]: readonly [string, string]): string => `${column}_${type.replace(/\W.*/, '')}`
const declared = (index: readonly [string, string]): string =>
  `  INDEX ${nameOf(index)} ${index[0]} TYPE ${index[1]} GRANULARITY 1`

/** The indexes of a table that is sorted by some columns. */
export const indexesOf = (key: readonly string[]): string =>
  INDEXES.filter(([column]) => !key.includes(column))
    .map(declared)
    .join(',\n')

/** Of `attributions`. */
export const ATTRIBUTION_INDEXES = [
  '  INDEX id_filter id TYPE bloom_filter(0.01) GRANULARITY 1',
  declared(TRACE_INDEX),
  indexesOf(['event_time']),
].join(',\n')

const quotedName = (index: readonly [string, string]): string => `\`${nameOf(index)}\``

/** All skip indexes of all tables, by the column that each is worth preparing for. */
export const INDEXES_OF_GRANULES: readonly (readonly [column: string, name: string])[] = [
  // Ids are random: the least and the greatest of a granule exclude none.
  ...[...INDEXES, TRACE_INDEX].map((index) => [index[0] === 'id' ? '' : index[0], quotedName(index)] as const),
  ['id', '`id_filter`'],
]

/**
 * Has a query prepare the skip indexes of some columns only: all take 4 ms, and others exclude nothing. By name, since
 * `use_skip_indexes = 0` would also read parts newer than the snapshot, to their end for a match that they do not hold.
 */
export const byIndexesOf = (...columns: readonly string[]) => ({
  ignore_data_skipping_indices: INDEXES_OF_GRANULES.filter(([column]) => !columns.includes(column))
    .map(([, name]) => name)
    .join(', '),
})

/**
 * Indexes that merges build instead of inserts: building them makes an insert of a few rows three times as slow, and
 * the parts without them are small. For the setting `exclude_materialize_skip_indexes_on_insert`.
 */
export const INDEXES_LEFT_TO_MERGES: string = INDEXES.map(quotedName).join(', ')

/** A lookup of one record reads a whole granule: a quarter of ClickHouse's default size makes it cheaper. */
const GRANULE_ROWS = 2_048

/**
 * Parts of a month older than a day are merged into one regardless of size, because a page reads from each part, which
 * costs half a millisecond or more of CPU. So each record of the current month is rewritten once per day.
 */
const SETTLED_AFTER_S = 24 * 60 * 60

/**
 * Settings of parts: no column statistics, which none of our queries uses and which cost a third of merge time; the
 * indexes of a small part in one file; small compressed blocks, because the records of a page may lie far apart, and
 * each of their columns is a block to decompress.
 */
export const PART_SETTINGS = `index_granularity = ${GRANULE_ROWS}, auto_statistics_types = '', \
packed_skip_index_max_bytes = 1048576, min_compress_block_size = 8192, max_compress_block_size = 65536, \
min_age_to_force_merge_seconds = ${SETTLED_AFTER_S}`
