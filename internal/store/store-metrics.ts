import type { ClickHouseClient } from '@clickhouse/client'
import { gauge } from '../telemetry/metrics.js'
import { settledBefore, storedRows } from './settling.js'

const TABLE_BYTES = gauge('store_table_bytes', 'Bytes of a table on disk.', ['table'])
const TABLE_ROWS = gauge('store_table_rows', 'Rows of a table, closed versions among them.', ['table'])
const TABLE_PARTS = gauge('store_table_parts', 'Active parts of a table: many of them slow reads down.', ['table'])
const UNSETTLED = gauge('store_unsettled_rows', 'Newest records that the sorted copies do not have yet.')

interface TableLevel {
  readonly table: string
  readonly bytes: string
  readonly rows: string
  readonly parts: string
}

/** Sets the sizes of the tables. @throws when the store is unavailable */
export async function setTableLevels(store: ClickHouseClient): Promise<void> {
  const levels = await storedRows<TableLevel>(
    store,
    `SELECT table, toString(sum(bytes_on_disk)) AS bytes, toString(sum(rows)) AS rows, toString(count()) AS parts
     FROM system.parts WHERE active AND database = currentDatabase() GROUP BY table`,
    {},
  )
  for (const metric of [TABLE_BYTES, TABLE_ROWS, TABLE_PARTS]) metric.reset()
  for (const { table, bytes, rows: count, parts } of levels) {
    TABLE_BYTES.set({ table }, Number(bytes))
    TABLE_ROWS.set({ table }, Number(count))
    TABLE_PARTS.set({ table }, Number(parts))
  }
  const [tail] = await storedRows<{ count: string }>(
    store,
    'SELECT toString(count()) AS count FROM attributions WHERE valid_from >= fromUnixTimestamp64Milli({from:Int64})',
    { from: await settledBefore(store) },
  )
  UNSETTLED.set(Number(tail?.count ?? 0))
}
