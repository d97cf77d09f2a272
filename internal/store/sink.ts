import { randomUUID } from 'node:crypto'
import { Readable } from 'node:stream'
import type { ClickHouseClient } from '@clickhouse/client'
import type { AttributionRow } from '../records/record-fields.js'
import { counter, histogram, SECONDS_BUCKETS } from '../telemetry/metrics.js'
import { expectNoFailedWrite } from './failed-writes.js'
import { KnownValues } from './known-values.js'
import { type RowBinaryTable, RowBinaryWriter } from './row-binary.js'
import { ATTRIBUTION_VALUES } from './tables/attribution-values.js'
import { INDEXES_LEFT_TO_MERGES } from './tables/record-storage.js'

const INSERTS = counter('store_inserts_total', 'Inserts into a table of the read model.', ['table'])
const INSERTED_ROWS = counter('store_inserted_rows_total', 'Rows that were inserted into a table.', ['table'])
const INSERT_SECONDS = histogram('store_insert_duration_seconds', 'Duration of an insert.', SECONDS_BUCKETS, ['table'])

/** Of each client. */
const KNOWN_VALUES = new WeakMap<ClickHouseClient, KnownValues>()

/**
 * Inserts a batch exactly once: ClickHouse drops a second insert with the same token. A repeat must use the same rows:
 * other rows under a used token are lost (measured). So a token identifies one planned batch. Tokens of different
 * tables are independent.
 *
 * The rows of one partition are stored atomically. Each partition becomes a part of its own that is deduplicated by
 * itself, so repeating the insert completes one that a crash interrupted between partitions.
 *
 * @throws when the store is unavailable or refuses; the rows may or may not be stored, and a repeat is safe
 */
export async function insertRows<Row>(
  store: ClickHouseClient,
  table: RowBinaryTable<Row>,
  rows: readonly Row[],
  token: string,
): Promise<void> {
  if (rows.length === 0) return
  if (table.recordsIn !== undefined) await insertNewValues(store, table.recordsIn(rows))
  await insertBlock(store, table, rows, token)
}

/**
 * Writes the values of records before the records. A view would do so within each insert, for 10 ms of processor time;
 * here an insert without new values costs nothing.
 */
async function insertNewValues(store: ClickHouseClient, records: readonly AttributionRow[]): Promise<void> {
  const known = KNOWN_VALUES.get(store) ?? new KnownValues()
  KNOWN_VALUES.set(store, known)
  const values = known.unknownIn(records)
  if (values.length === 0) return
  // Under a token of its own, so that a value is written again after it was deleted.
  await insertBlock(store, ATTRIBUTION_VALUES, values, randomUUID())
  known.remember(values)
}

async function insertBlock<Row>(
  store: ClickHouseClient,
  { name, columns, rowBytes, write }: RowBinaryTable<Row>,
  rows: readonly Row[],
  token: string,
): Promise<void> {
  const writer = new RowBinaryWriter(rows.length * rowBytes)
  for (const row of rows) write(writer, row)
  const end = INSERT_SECONDS.startTimer({ table: name })
  const inserted = await store.exec({
    query: `INSERT INTO ${name} (${columns.join(', ')}) FORMAT RowBinary`,
    values: Readable.from([writer.take()], { objectMode: false }),
    clickhouse_settings: {
      async_insert: 0,
      // Both names: the newer one, of 26.2, wins where a server knows it.
      insert_deduplicate: 1,
      deduplicate_insert: 'enable',
      insert_deduplication_token: token,
      deduplicate_blocks_in_dependent_materialized_views: 1,
      // One block, hence one atomic part per partition.
      max_insert_block_size: '1048576',
      min_insert_block_size_rows: '1048576',
      min_insert_block_size_bytes: '0',
      exclude_materialize_skip_indexes_on_insert: INDEXES_LEFT_TO_MERGES,
      wait_end_of_query: 1,
    },
  })
  // The end of the answer is the acknowledgement; an error in the middle of it throws here.
  for await (const _ of inserted.stream);
  await expectNoFailedWrite(store)
  end()
  INSERTS.inc({ table: name })
  INSERTED_ROWS.inc({ table: name }, rows.length)
}
