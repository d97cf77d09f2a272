/**
 * Up to which instant of `valid_from` the sorted copies hold all records, which range of instants is being copied now
 * (`store/settling.ts`), and before which instant the copies hold none (`store/old-copies.ts`): the newest row of each
 * state counts, merges keep only that one.
 */
export const CREATE_SETTLING = `
CREATE TABLE IF NOT EXISTS settling (
  state LowCardinality(String),
  starts_at DateTime64(3, 'UTC'),
  ends_at DateTime64(3, 'UTC')
)
ENGINE = ReplacingMergeTree(ends_at)
ORDER BY state
SETTINGS non_replicated_deduplication_window = 1000`

export type SettlingState = 'planned' | 'settled' | 'dropped'
