import { DIMENSIONS_MAX } from '../../records/dimensions.js'

/**
 * Groups of records from which an export job writes its file. The groups of a job are one partition, dropped when the
 * job ends; an unfinished slice leaves rows under a name that no query selects.
 *
 * A group is a set of calls: its rows, one per meter, share the `key`, and one of them `has_calls`. `persons` are the
 * people who made its calls, `people_count` is their number, and `calls_cost` the cost of all its rows. `is_thin`: its
 * meters are not shown because few people have tokens of one of them.
 */
export const EXPORT_GROUPS = 'export_groups'

/** The labels by which an export is grouped: fields, then the declared tags in the order of its grain. */
const LABELS = [
  ...['provider', 'owner', 'service', 'served_model', 'requested_model', 'region'],
  ...['ingestion_layer', 'pathway_category', 'output_state', 'stage_origin', 'cost_basis'],
  ...Array.from({ length: DIMENSIONS_MAX }, (_, i) => `tag_${i}`),
]
  .map((name) => `  ${name} LowCardinality(String)`)
  .join(',\n')

export const CREATE_EXPORT_GROUPS = `
CREATE TABLE IF NOT EXISTS ${EXPORT_GROUPS} (
  job_id String,
  staging LowCardinality(String),
  month Date,
  charge_start Date,
  charge_end Date,
${LABELS},
  meter UInt8,
  price LowCardinality(String),
  unit_price Decimal(38, 18),
  cost Decimal(38, 18),
  tokens UInt64,
  invocations UInt64,
  input_tokens UInt64,
  input_counted UInt64,
  output_tokens UInt64,
  output_counted UInt64,
  energy_wh Decimal(38, 18),
  energy_known UInt64,
  energy_estimated UInt64,
  carbon_gco2e Decimal(38, 18),
  carbon_known UInt64,
  has_calls Bool,
  confidence Decimal(5, 4),
  people_count UInt64,
  persons AggregateFunction(uniqExact, UInt64),
  calls_cost Decimal(38, 18),
  is_thin Bool,
  key UInt64,
  staged_at DateTime DEFAULT now()
)
ENGINE = MergeTree
PARTITION BY job_id
ORDER BY (staging, charge_start)
TTL staged_at + INTERVAL 3 DAY
SETTINGS ttl_only_drop_parts = 1`

/**
 * Which groups of a job fold into which row: one row per group (`key`), with the labels that the folded row keeps; the
 * others have their types' default values. `fold` is one attempt to fold a month.
 */
export const EXPORT_FOLDS = 'export_folds'

export const CREATE_EXPORT_FOLDS = `
CREATE TABLE IF NOT EXISTS ${EXPORT_FOLDS} (
  job_id String,
  fold LowCardinality(String),
  month Date,
  charge_start Date,
${LABELS},
  price LowCardinality(String),
  kept UInt8,
  key UInt64,
  folded_at DateTime DEFAULT now()
)
ENGINE = MergeTree
PARTITION BY job_id
ORDER BY (fold, key)
TTL folded_at + INTERVAL 3 DAY
SETTINGS ttl_only_drop_parts = 1`
