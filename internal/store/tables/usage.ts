/**
 * Usage per quarter of an hour (time zones such as +05:30 need it), by the dimensions of reports. Materialized views
 * maintain it like a ledger: an inserted version of a record adds its figures once, a closed version subtracts them
 * once, so sums cover the versions valid now.
 *
 * Changing a record inserts the new version and closes the old one in two steps: for some milliseconds both count.
 * Figures as of a snapshot must be computed from the records.
 */
const DIMENSIONS = [
  'provider',
  'served_model',
  'service',
  'owner',
  'pathway_category',
  'ingestion_layer',
  'stage_origin',
  'output_state',
  'evidence_basis',
  'confidence_band',
  'degradation_state',
  'export_eligibility',
] as const

const COUNT = 'SimpleAggregateFunction(sum, Int64)'
const AMOUNT = 'SimpleAggregateFunction(sum, Decimal(38, 18))'

/**
 * Sums: column, type, and the amount that one record adds. The `unknown` and `unpriced` counts are records whose amount
 * or tokens are 0 because they are unknown: a sum that includes such records is a lower bound.
 */
const MEASURES = [
  ['calls', COUNT, 'toInt64(1)'],
  ['cost_usd', AMOUNT, 'cost_usd'],
  ['energy_wh', AMOUNT, 'energy_wh'],
  ['carbon_gco2e', AMOUNT, 'carbon_gco2e'],
  ['input_tokens', COUNT, 'toInt64(ifNull(input_tokens, 0))'],
  ['output_tokens', COUNT, 'toInt64(ifNull(output_tokens, 0))'],
  ['cached_input_tokens', COUNT, 'toInt64(ifNull(cached_input_tokens, 0))'],
  ['cache_write_tokens', COUNT, 'toInt64(ifNull(cache_write_tokens, 0))'],
  ['reasoning_tokens', COUNT, 'toInt64(ifNull(reasoning_tokens, 0))'],
  ['unpriced_calls', COUNT, "toInt64(cost_basis = 'unpriced')"],
  ['energy_unknown_calls', COUNT, "toInt64(energy_basis = 'unknown')"],
  ['carbon_unknown_calls', COUNT, "toInt64(carbon_basis = 'unknown')"],
  ['input_tokens_unknown_calls', COUNT, 'toInt64(isNull(input_tokens))'],
  ['output_tokens_unknown_calls', COUNT, 'toInt64(isNull(output_tokens))'],
] as const

/** A column of the record in the expression of a measure. */
const COLUMN = /\b(?:\w+_(?:usd|wh|gco2e|tokens|basis))\b/g

/** Column names, for code that updates rows in place. */
export const USAGE_DIMENSIONS: readonly string[] = DIMENSIONS
export const USAGE_MEASURES: readonly string[] = MEASURES.map(([name]) => name)

/** The measures for a query over records: each with the type of its sum, and the amount that one record adds. */
export const usageMeasures = () =>
  MEASURES.map(([name, type, added]) => ({
    name: name as string,
    type: /, (.*)\)$/.exec(type)?.[1] ?? type,
    addedBy: (of: (column: string) => string): string => added.replace(COLUMN, of),
  }))

const PEOPLE = 'Map(FixedString(16), Int64)'

/**
 * Sums of Int64 and Decimal(38, 18) are exact; a person is in a group when the sum of its signed counts in `people` is
 * above 0. Several rows may share a group until a merge: queries must sum them.
 *
 * Not partitioned: each insert adds one atomic part, however old its events are. Repeated inserts are deduplicated here
 * too, by the token of the insert that feeds the view.
 */
export const CREATE_USAGE = `
CREATE TABLE IF NOT EXISTS usage_15m (
  tenant_id LowCardinality(String),
  bucket DateTime('UTC'),
${DIMENSIONS.map((name) => `  ${name} LowCardinality(String)`).join(',\n')},
${MEASURES.map(([name, type]) => `  ${name} ${type}`).join(',\n')},
  people SimpleAggregateFunction(sumMap, ${PEOPLE})
)
ENGINE = AggregatingMergeTree
ORDER BY (tenant_id, bucket, ${DIMENSIONS.join(', ')})
SETTINGS non_replicated_deduplication_window = 10000`

const usageOf = (table: string, sign: '' | '-'): string => `
SELECT tenant_id, toDateTime(toStartOfFifteenMinutes(event_time), 'UTC') AS bucket, ${DIMENSIONS.join(', ')},
${MEASURES.map(([name, , added]) => `  sum(${sign}${qualified(added, table)}) AS ${name}`).join(',\n')},
  sumMap(if(identity_hash = toFixedString('', 16), CAST(map(), '${PEOPLE}'),
    CAST(map(identity_hash, ${sign}1), '${PEOPLE}'))) AS people
FROM ${table}
GROUP BY tenant_id, bucket, ${DIMENSIONS.join(', ')}`

/** A measure and the column that it sums share a name: qualifies the column. */
const qualified = (expression: string, table: string): string =>
  expression.replace(COLUMN, (column) => `${table}.${column}`)

export const CREATE_USAGE_VIEWS = [
  `CREATE MATERIALIZED VIEW IF NOT EXISTS usage_15m_of_attributions TO usage_15m AS ${usageOf('attributions', '')}`,
  `CREATE MATERIALIZED VIEW IF NOT EXISTS usage_15m_of_closed TO usage_15m AS ${usageOf('closed', '-')}`,
]
