import { DIMENSIONS_MAX } from '../../records/dimensions.js'

/**
 * Groups of records from which an export job writes its file. The groups of a job are one partition, dropped when the job
 * ends; an unfinished slice leaves rows under a name that no query selects.
 *
 * A group is a set of calls: its rows, one per meter, share the `key`, and one of them `has_calls`. `persons` are the people
 * who made its calls, `people_count` is their number, and `calls_cost` the cost of all its rows. `is_thin`: its meters are not
 * shown because few people have tokens of one of them.
 */
export const EXPORT_GROUPS = 'export_groups'

export const CREATE_EXPORT_GROUPS = `
CREATE TABLE IF NOT EXISTS ${EXPORT_GROUPS} (
  job_id String,
  staging LowCardinality(String),
  month Date,
  charge_start Date,
  charge_end Date,
  provider LowCardinality(String),
  owner LowCardinality(String),
  service LowCardinality(String),
  served_model LowCardinality(String),
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
  carbon_gco2e Decimal(38, 18),
  carbon_known UInt64,
  has_calls Bool,
  confidence Decimal(5, 4),
  people UInt8,
  people_state AggregateFunction(uniqUpTo(4), UInt64),
  key UInt64,
  staged_at DateTime DEFAULT now()
)
ENGINE = MergeTree
PARTITION BY job_id
ORDER BY (staging, charge_start)
TTL staged_at + INTERVAL 3 DAY
SETTINGS ttl_only_drop_parts = 1`

/** Dimensions and people as of the rule that folds reports, too. Jobs that are staged the old way start again. */
export const ADD_FOLDED_BY_LEVELS: readonly string[] = [
  ...[
    'requested_model LowCardinality(String) AFTER served_model',
    'region LowCardinality(String) AFTER requested_model',
    'ingestion_layer LowCardinality(String) AFTER region',
    'pathway_category LowCardinality(String) AFTER ingestion_layer',
    'output_state LowCardinality(String) AFTER pathway_category',
    'stage_origin LowCardinality(String) AFTER output_state',
    'cost_basis LowCardinality(String) AFTER stage_origin',
    'people_count UInt64 AFTER confidence',
    'persons AggregateFunction(uniqExact, UInt64) AFTER people_count',
    'calls_cost Decimal(38, 18) AFTER persons',
    'is_thin Bool AFTER calls_cost',
  ].map((column) => `ALTER TABLE ${EXPORT_GROUPS} ADD COLUMN IF NOT EXISTS ${column}`),
  ...['people', 'people_state'].map((column) => `ALTER TABLE ${EXPORT_GROUPS} DROP COLUMN IF EXISTS ${column}`),
]

/** The declared tags by which an export is grouped, in the order of its grain. */
export const addTagColumns = (): readonly string[] =>
  [EXPORT_GROUPS, EXPORT_FOLDS].flatMap((table) =>
    Array.from({ length: DIMENSIONS_MAX }, (_, i) => {
      const after = i === 0 ? 'cost_basis' : `tag_${i - 1}`
      return `ALTER TABLE ${table} ADD COLUMN IF NOT EXISTS tag_${i} LowCardinality(String) AFTER ${after}`
    }),
  )

/**
 * Which groups of a job fold into which row: one row per group (`key`), with the labels that the folded row keeps; the others
 * have their types' default values. `fold` is one attempt to fold a month.
 */
export const EXPORT_FOLDS = 'export_folds'

export const CREATE_EXPORT_FOLDS = `
CREATE TABLE IF NOT EXISTS ${EXPORT_FOLDS} (
  job_id String,
  fold LowCardinality(String),
  month Date,
  charge_start Date,
  provider LowCardinality(String),
  owner LowCardinality(String),
  service LowCardinality(String),
  served_model LowCardinality(String),
  requested_model LowCardinality(String),
  region LowCardinality(String),
  ingestion_layer LowCardinality(String),
  pathway_category LowCardinality(String),
  output_state LowCardinality(String),
  stage_origin LowCardinality(String),
  cost_basis LowCardinality(String),
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
