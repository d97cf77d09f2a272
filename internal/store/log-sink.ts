import type { ClickHouseClient } from '@clickhouse/client'
import type { RowBinaryTable } from './row-binary.js'
import { insertRows } from './sink.js'

/**
 * Inserts rows once per batch of a log.
 *
 * @param logId tells the batches of a stream from those of its predecessor, which had the same sequences
 */
export const insertsOfLog =
  <Row>(store: ClickHouseClient, table: RowBinaryTable<Row>, logId: number) =>
  (rows: readonly Row[], token: string): Promise<void> =>
    insertRows(store, table, rows, `${logId}.${token}`)
