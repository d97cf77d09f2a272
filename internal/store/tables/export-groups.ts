/**
 * Groups of records that an export job has formed: what its file is written from. A job's groups are a partition, which
 * goes when the job has ended; a slice that was begun and not finished has left rows under a name that nobody asks for.
 *
 * A group is of calls: its rows, one a meter, have the same `key`, and one of them `has_calls`. `people` counts distinct
 * identities up to 5, which stands for 5 and more, where the group has the fewest but none: in its calls or in one of
 * its meters. `people_state` counts those of its calls, for several groups together.
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
