import { Readable } from 'node:stream'
import type { ClickHouseClient } from '@clickhouse/client'
import { RowBinaryWriter } from './row-binary.js'
import { ATTRIBUTION_COLUMNS, ATTRIBUTIONS, type AttributionRow, writeAttribution } from './tables/attributions.js'

const INSERT = `INSERT INTO ${ATTRIBUTIONS} (${ATTRIBUTION_COLUMNS.map(([name]) => name).join(', ')}) FORMAT RowBinary`

/**
 * Inserts a batch exactly once: the engine drops a second insert with the same token. Whoever repeats a token must
 * repeat its rows, else they are lost (measured), so that a token names one planned batch and nothing else.
 *
 * @throws when the store is away or refuses; whether the rows landed is then not known, and a repeat is safe
 */
export async function insertAttributions(
  store: ClickHouseClient,
  rows: readonly AttributionRow[],
  token: string,
): Promise<void> {
  if (rows.length === 0) return
  const writer = new RowBinaryWriter(rows.length * 600)
  for (const row of rows) writeAttribution(writer, row)
  const inserted = await store.exec({
    query: INSERT,
    values: Readable.from([writer.take()], { objectMode: false }),
    clickhouse_settings: {
      async_insert: 0,
      insert_deduplicate: 1,
      insert_deduplication_token: token,
      deduplicate_blocks_in_dependent_materialized_views: 1,
      // One block, hence one part: all of the batch or nothing.
      max_insert_block_size: '1048576',
      min_insert_block_size_rows: '1048576',
      min_insert_block_size_bytes: '0',
      wait_end_of_query: 1,
    },
  })
  // The answer's end is the acknowledgement; an error in mid-answer would throw here.
  for await (const _ of inserted.stream);
}
