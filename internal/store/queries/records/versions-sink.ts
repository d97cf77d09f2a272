import type { ClickHouseClient } from '@clickhouse/client'
import { insertRows } from '../../sink.js'
import { ATTRIBUTIONS, type AttributionRow } from '../../tables/attributions.js'
import { landedRows } from './versions.js'

/**
 * Inserts versions of records exactly once, as `insertRows` does, and keeps what is derived from them (sorted copies,
 * rollups) equal to them. A batch that is formed again may come to other rows, by another directory or model. If its
 * first insert reached the table but not all that is derived from it, other rows would complete what those had begun:
 * so the rows that landed are what is inserted again.
 *
 * @param isRepeat whether an earlier attempt may have inserted rows under the token
 * @returns the rows that are there now
 */
export async function insertVersions(
  store: ClickHouseClient,
  rows: readonly AttributionRow[],
  token: string,
  isRepeat: boolean,
): Promise<readonly AttributionRow[]> {
  // All rows of a batch are valid from one instant and lie in one partition: all of them have landed, or none.
  const landed = isRepeat ? await landedRows(store, rows) : []
  const inserted = landed.length > 0 ? landed : rows
  await insertRows(store, ATTRIBUTIONS, inserted, token)
  return inserted
}
