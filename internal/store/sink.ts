import { Readable } from 'node:stream'
import type { ClickHouseClient } from '@clickhouse/client'
import { RowBinaryWriter } from './row-binary.js'
import { INDEXES_LEFT_TO_MERGES } from './tables/sorted-copies.js'

/** A table as rows are written to it. */
export interface RowBinaryTable<Row> {
  readonly name: string
  /** In the order in which `write` writes them. */
  readonly columns: readonly string[]
  /** What a row takes as a rule: with it the buffer need not grow. */
  readonly rowBytes: number
  readonly write: (to: RowBinaryWriter, row: Row) => void
}

/**
 * Inserts a batch exactly once: the engine drops a second insert with the same token. Whoever repeats a token must
 * repeat its rows, else they are lost (measured), so that a token names one planned batch and nothing else. Tokens of
 * different tables have nothing to do with each other.
 *
 * Rows of one partition land all or none. Those of several partitions land in a part each, and each is recognised by
 * the token for itself: a repeat completes what a crash has left half.
 *
 * @throws when the store is away or refuses; whether the rows landed is then not known, and a repeat is safe
 */
export async function insertRows<Row>(
  store: ClickHouseClient,
  { name, columns, rowBytes, write }: RowBinaryTable<Row>,
  rows: readonly Row[],
  token: string,
): Promise<void> {
  if (rows.length === 0) return
  const writer = new RowBinaryWriter(rows.length * rowBytes)
  for (const row of rows) write(writer, row)
  const inserted = await store.exec({
    query: `INSERT INTO ${name} (${columns.join(', ')}) FORMAT RowBinary`,
    values: Readable.from([writer.take()], { objectMode: false }),
    clickhouse_settings: {
      async_insert: 0,
      insert_deduplicate: 1,
      insert_deduplication_token: token,
      deduplicate_blocks_in_dependent_materialized_views: 1,
      // One block, hence one part a partition: all of it or nothing.
      max_insert_block_size: '1048576',
      min_insert_block_size_rows: '1048576',
      min_insert_block_size_bytes: '0',
      exclude_materialize_skip_indexes_on_insert: INDEXES_LEFT_TO_MERGES,
      wait_end_of_query: 1,
    },
  })
  // The answer's end is the acknowledgement; an error in mid-answer would throw here.
  for await (const _ of inserted.stream);
}
