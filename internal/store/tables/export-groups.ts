/**
 * Groups of records from which an export job writes its file. The groups of a job are one partition, dropped when the job
 * ends; an unfinished slice leaves rows under a name that no query selects.
 *
 * A group is a set of calls: its rows, one per meter, share the `key`, and one of them `has_calls`. `people` is the smallest
 * non-zero number of distinct identities among its calls and each of its meters, counted up to 5 (5 means 5 or more).
 * `people_state` counts the identities of its calls so that several groups can be merged.
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
