import type { ClickHouseClient } from '@clickhouse/client'
import { idHex } from '../../../ids/ids.js'
import { insertRows } from '../../sink.js'
import { ATTRIBUTIONS, type AttributionRow } from '../../tables/attributions.js'
import { landedRows } from './versions.js'

/**
 * Inserts versions of records exactly once, as `insertRows` does, and keeps the derived tables (rollups, lists of
 * values) equal to them. A repeated batch may compute other rows, because the directory or model changed. If the first
 * insert reached the table but not all derived tables, other rows would make them differ: so a repeat inserts the
 * stored rows again.
 *
 * @param isRepeat whether an earlier attempt may have inserted rows under the token
 * @returns the stored rows
 */
export async function insertVersions(
  store: ClickHouseClient,
  rows: readonly AttributionRow[],
  token: string,
  isRepeat: boolean,
): Promise<readonly AttributionRow[]> {
  // All rows of a batch share `valid_from` and so lie in one partition of each shard: there, all are stored, or none.
  const landed = isRepeat ? await landedRows(store, rows) : []
  const landedById = new Map(landed.map((row) => [idHex(row.id), row]))
  const inserted = landed.length === 0 ? rows : rows.map((row) => landedById.get(idHex(row.id)) ?? row)
  await insertRows(store, ATTRIBUTIONS, inserted, token)
  return inserted
}
