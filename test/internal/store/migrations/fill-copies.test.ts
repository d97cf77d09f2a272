import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, expect, test } from 'vitest'
import { generateRecords } from '../../../../bench/query/generate.js'
import { fillCopies, filledCopies } from '../../../../internal/store/migrations/fill-copies.js'
import { MIGRATIONS, migrate } from '../../../../internal/store/migrations/migrate.js'
import { COPIED_COLUMNS, RECORD_TABLES, SORTED_COPIES } from '../../../../internal/store/tables/sorted-copies.js'
import { launchStore, type RunningStore, stopStore } from '../../../support/store.js'

const NEVER = new AbortController().signal
const ANYWAY = { deduplicate_insert_select: 'disable' } as const
const BEFORE = MIGRATIONS.slice(
  0,
  MIGRATIONS.findIndex(({ name }) => name === 'sorted copies'),
)
const PORTIONS = 4
const TENANT = 'tnt_one'
const TOTAL = 1_000_000
const WRITE_EVERY_MS = 250

let store: RunningStore
afterEach(() => stopStore(store))

/** Rows, distinct versions, and a sum over them: the same in every table that holds the same rows. */
async function contentsOf(table: string): Promise<unknown> {
  const result = await store.client.query({
    query: `SELECT count() AS rows, uniqExact(id, valid_from) AS versions, sum(cityHash64(tenant_id, id, valid_from, cost_usd, owner)) AS sum
            FROM ${table}`,
    format: 'JSONEachRow',
  })
  return (await result.json())[0]
}

async function expectAllAlike(): Promise<void> {
  const base = await contentsOf('attributions')
  for (const table of RECORD_TABLES) expect([table, await contentsOf(table)]).toEqual([table, base])
}

/** Inserts small batches, one after the other, until it is told to stop. @returns tells it; resolves to the rows written */
function write(first: number): () => Promise<number> {
  let goesOn = true
  let to = first
  const running = (async () => {
    while (goesOn) {
      const from = to
      to += 40
      await generateRecords(store.client, { tenantId: TENANT, from, to, total: TOTAL })
      // As an attributor paces its inserts: without a pause the writers take the processor from those who fill.
      await sleep(WRITE_EVERY_MS)
    }
  })()
  return async () => {
    goesOn = false
    await running
    return to - first
  }
}

test('copies that are added to an instance in use get every row once, while old and new versions write and two processes fill', async () => {
  store = await launchStore()
  await migrate(store.client, BEFORE)
  await generateRecords(store.client, { tenantId: TENANT, from: 0, to: 20_000, total: TOTAL })
  const writers = [100_000, 200_000, 300_000].map(write)

  await migrate(store.client)
  await Promise.all([fillCopies(store.client, NEVER, PORTIONS), fillCopies(store.client, NEVER, PORTIONS)])
  const written = await Promise.all(writers.map((stop) => stop()))

  expect(await contentsOf('attributions')).toMatchObject({
    rows: String(20_000 + written.reduce((sum, rows) => sum + rows, 0)),
  })
  await expectAllAlike()
  expect(await filledCopies(store.client)).toEqual(new Set(SORTED_COPIES.map(({ table }) => table)))
}, 300_000)

test('filling goes on where it was stopped, and after a kill of the store', async () => {
  store = await launchStore()
  await migrate(store.client, BEFORE)
  await generateRecords(store.client, { tenantId: TENANT, from: 0, to: 30_000, total: TOTAL })
  await migrate(store.client)
  await generateRecords(store.client, { tenantId: TENANT, from: 30_000, to: 31_000, total: TOTAL })

  const stopping = new AbortController()
  const stopped = fillCopies(store.client, stopping.signal, PORTIONS)
  await rowsIn('attributions_by_energy_wh', 5_000)
  stopping.abort()
  await stopped
  const killed = fillCopies(store.client, NEVER, PORTIONS).catch(() => undefined)
  await rowsIn('attributions_by_confidence', 5_000)
  await store.process.kill('SIGKILL')
  await killed
  await store.client.close()
  store = await launchStore({ dataDir: store.dataDir })
  // As two who fill at the same moment have been seen to leave it.
  const some = `SELECT ${COPIED_COLUMNS} FROM attributions LIMIT 500`
  const both = { query: `INSERT INTO attributions_by_owner ${some}`, clickhouse_settings: ANYWAY }
  for (let i = 0; i < 2; i++) await store.client.command(both)
  await fillCopies(store.client, NEVER, PORTIONS)
  await fillCopies(store.client, NEVER, PORTIONS)

  await expectAllAlike()
}, 300_000)

/** Resolves once a table has so many. */
async function rowsIn(table: string, rows: number): Promise<void> {
  for (;;) {
    const found = (await contentsOf(table)) as { rows: string }
    if (Number(found.rows) >= rows) return
  }
}

test('the steps of the schema are numbered in their order, each once', () => {
  const versions = MIGRATIONS.map(({ version }) => version)

  expect(versions).toEqual(versions.map((_, i) => i + 1))
})

test('an instance with sets as indexes gets blooms in their place, in what it holds too, and by two processes at once', async () => {
  store = await launchStore()
  await migrate(
    store.client,
    MIGRATIONS.filter(({ name }) => name !== 'blooms for sets'),
  )
  await generateRecords(store.client, { tenantId: TENANT, from: 0, to: 20_000, total: TOTAL })
  const indexes = async (type: string): Promise<number> => {
    const result = await store.client.query({
      query: `SELECT count() AS n FROM system.data_skipping_indices
              WHERE database = currentDatabase() AND type = {type:String} AND (type = 'set' OR data_compressed_bytes > 0)`,
      query_params: { type },
      format: 'JSONEachRow',
    })
    return Number((await result.json<{ n: string }>())[0]?.n)
  }
  const [setsBefore, bloomsBefore] = [await indexes('set'), await indexes('bloom_filter')]

  await Promise.all([migrate(store.client), migrate(store.client)])

  expect(setsBefore).toBeGreaterThan(70)
  expect(await indexes('set')).toBe(0)
  await expect.poll(() => indexes('bloom_filter'), { timeout: 60_000 }).toBe(bloomsBefore + setsBefore)
}, 300_000)
