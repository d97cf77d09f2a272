/**
 * Usage in quarters of an hour (time zones such as +05:30 need them), by what reports group and filter by: kept by
 * materialized views, as a ledger is. Each version of a record that is inserted counts once, each that is closed counts
 * once against it, so that sums are those of the versions that are valid now.
 *
 * A change of a record inserts its new version and closes the old one in two steps: between them, some milliseconds, both
 * count. Whoever needs figures as of a snapshot asks the records.
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
 * What is summed: its column, its type, and what one record adds. The `unknown` and `unpriced` ones count records whose
 * amount or tokens are 0 because nobody knows them: a sum with any of them is a lower bound.
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

/** The names of both, for whoever changes rows in place. */
export const USAGE_DIMENSIONS: readonly string[] = DIMENSIONS
export const USAGE_MEASURES: readonly string[] = MEASURES.map(([name]) => name)

const PEOPLE = 'Map(FixedString(16), Int64)'

/**
 * Sums of Int64 and Decimal(38, 18) are exact; a person is in a group when the sum of its signed counts in `people` is
 * above 0. Many rows may share a group: a query sums them.
 *
 * Not partitioned: what an insert adds is one part, whole or not at all, however old its events are. A repeated insert is
 * recognised here too, by the token of the insert that fed it.
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

/** A measure and the column that it sums have the same name: the column is meant. */
const qualified = (expression: string, table: string): string =>
  expression.replace(/\b(?:\w+_(?:usd|wh|gco2e|tokens|basis))\b/g, `${table}.$&`)

export const CREATE_USAGE_VIEWS = [
  `CREATE MATERIALIZED VIEW IF NOT EXISTS usage_15m_of_attributions TO usage_15m AS ${usageOf('attributions', '')}`,
  `CREATE MATERIALIZED VIEW IF NOT EXISTS usage_15m_of_closed TO usage_15m AS ${usageOf('closed', '-')}`,
]

/** The records that were there before the views. */
export const FILL_USAGE = `INSERT INTO usage_15m SELECT * FROM (${usageOf('attributions', '')})
SETTINGS insert_deduplicate = 1, insert_deduplication_token = 'usage-15m-of-records-before', max_threads = 1`
