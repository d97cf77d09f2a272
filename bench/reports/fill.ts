import { setTimeout as sleep } from 'node:timers/promises'
import type { ClickHouseClient } from '@clickhouse/client'
import { environmentIn } from '../../internal/local/supervisor/supervised-instance.js'
import { connectStore } from '../../internal/store/client.js'
import { settledBefore } from '../../internal/store/copied-instants.js'
import { generateCalls, LAST_AT_MS } from './generate.js'

const BATCH = 250_000
const SETTLED_MS_MAX = 20 * 60_000

/** The calls of `reports`, the newest a minute old. */
export async function fill(dataDir: string, tenantId: string, rows: number): Promise<void> {
  const store = storeOf(dataDir)
  const feeds = await feedsOf(store)
  for (const feed of feeds) await store.command({ query: `DETACH TABLE ${feed}` })
  const laterMs = Date.now() - 60_000 - LAST_AT_MS
  for (let from = 0; from < rows; from += BATCH) {
    await generateCalls(store, { tenantId, from, to: Math.min(rows, from + BATCH), total: rows }, laterMs)
    if (from % (4 * BATCH) === 0) process.stderr.write(`${from} rows\n`)
  }
  // As a day brings it.
  await store.command({ query: 'OPTIMIZE TABLE attributions FINAL' })
  for (const feed of feeds) await store.command({ query: `ATTACH TABLE ${feed}` })
  await store.close()
}

/** Until the sorted copies have all calls. */
export async function untilSettled(dataDir: string): Promise<void> {
  const store = storeOf(dataDir)
  const newest = await store.query({
    query: 'SELECT toUnixTimestamp64Milli(max(valid_from)) AS ms FROM attributions',
    format: 'JSONEachRow',
  })
  const [{ ms } = { ms: '0' }] = await newest.json<{ readonly ms: string }>()
  for (const end = Date.now() + SETTLED_MS_MAX; (await settledBefore(store)) <= Number(ms); await sleep(1_000)) {
    if (Date.now() > end) throw new Error('the calls were not copied into the sorted tables in time')
  }
  await store.close()
}

export function storeOf(dataDir: string): ClickHouseClient {
  const { ATTRIBUTION_STORE_URL: url = '', ATTRIBUTION_STORE_PASSWORD: password = '', ...more } = environmentIn(dataDir)
  const { ATTRIBUTION_STORE_USER: user = 'attribution', ATTRIBUTION_STORE_DATABASE: database = 'attribution' } = more
  return connectStore({ url, user, password, database, silenceMsMax: 60 * 60 * 1_000 })
}

/** What fills the rollups and sorted copies of records: without it the calls are there in a fraction of the time. */
async function feedsOf(store: ClickHouseClient): Promise<readonly string[]> {
  const result = await store.query({
    query: "SELECT name FROM system.tables WHERE database = currentDatabase() AND engine = 'MaterializedView'",
    format: 'JSONCompactEachRow',
  })
  return (await result.json<[string]>()).map(([name]) => name)
}
