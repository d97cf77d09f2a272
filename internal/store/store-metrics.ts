import type { ClickHouseClient } from '@clickhouse/client'
import { gauge } from '../telemetry/metrics.js'
import { settledBefore } from './copied-instants.js'
import { storedRows } from './stored-rows.js'

const TABLE_BYTES = gauge('store_table_bytes', 'Bytes of a table on disk.', ['table'])
const TABLE_ROWS = gauge('store_table_rows', 'Rows of a table, closed versions among them.', ['table'])
const TABLE_PARTS = gauge('store_table_parts', 'Active parts of a table: many of them slow reads down.', ['table'])
const UNSETTLED = gauge('store_unsettled_rows', 'Newest records that the sorted copies do not have yet.')

const MEMORY = gauge('store_memory_bytes', 'Memory of the store: what its process holds, and what its queries use.', [
  'of',
])
const QUERIES = gauge('store_queries', 'Queries that the store runs, and merges of parts.', ['kind'])
const DISK_FREE = gauge('store_disk_free_bytes', 'Free bytes on the disk of the read model.')

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
  await setProcessLevels(store)
  const [tail] = await storedRows<{ count: string }>(
    store,
    'SELECT toString(count()) AS count FROM attributions WHERE valid_from >= fromUnixTimestamp64Milli({from:Int64})',
    { from: await settledBefore(store) },
  )
  UNSETTLED.set(Number(tail?.count ?? 0))
}

/** The share in use of the fullest disk of the read model; undefined when none has a size, such as an object store. */
export async function usedDiskShare(store: ClickHouseClient): Promise<number | undefined> {
  const [disk] = await storedRows<{ share: number | null }>(
    store,
    `SELECT maxOrNull(1 - free_space / total_space) AS share FROM system.disks
     WHERE total_space > 0 AND total_space < 18446744073709551615`,
    {},
  )
  return disk?.share ?? undefined
}

interface ProcessLevels {
  readonly memory: string
  readonly queries: string
  readonly merges: string
  readonly free: string
}

/** Of the process that answers, as it sees itself. */
async function setProcessLevels(store: ClickHouseClient): Promise<void> {
  const metric = (name: string): string => `(SELECT toString(sum(value)) FROM system.metrics WHERE metric = '${name}')`
  const [levels] = await storedRows<ProcessLevels>(
    store,
    `SELECT ${metric('MemoryTracking')} AS memory, ${metric('Query')} AS queries, ${metric('Merge')} AS merges,
       (SELECT toString(min(free_space)) FROM system.disks) AS free`,
    {},
  )
  if (levels === undefined) return
  MEMORY.set(Number(levels.memory))
  QUERIES.set({ kind: 'query' }, Number(levels.queries))
  QUERIES.set({ kind: 'merge' }, Number(levels.merges))
  DISK_FREE.set(Number(levels.free))
}
