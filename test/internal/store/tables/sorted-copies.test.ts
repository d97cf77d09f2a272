import { beforeAll, expect, test } from 'vitest'
import { generateRecords, LAST_AT_MS } from '../../../../bench/query/generate.js'
import { settle } from '../../../../internal/store/settling.js'
import { RECORD_TABLES } from '../../../../internal/store/tables/sorted-copies.js'
import { type Database, openDatabase } from '../../../support/database.js'

/** More than the engine itself would put into one file, 10 MiB of any table. */
const ROWS = 80_000

let store: Database
beforeAll(async () => {
  store = await openDatabase()
})

test('a large part of a copy has its columns in one file, also after a merge; one of the main table not', async () => {
  for (const from of [0, ROWS]) {
    await generateRecords(store.client, { tenantId: 'tnt_one', from, to: from + ROWS, total: 100 * ROWS })
  }
  await settle(store.client, LAST_AT_MS, new AbortController().signal)
  const copies = RECORD_TABLES.filter((table) => table !== 'attributions')
  const inOneFile = new Map([['attributions', false], ...copies.map((table) => [table, true] as const)])
  expect(await largePartsAreInOneFile()).toEqual(inOneFile)

  for (const table of RECORD_TABLES) await store.client.command({ query: `OPTIMIZE TABLE ${table} FINAL` })
  expect(await largePartsAreInOneFile()).toEqual(inOneFile)
})

async function largePartsAreInOneFile(): Promise<Map<string, boolean>> {
  const result = await store.client.query({
    query: `SELECT table, any(part_type) AS type FROM system.parts
            WHERE active AND database = currentDatabase() AND data_uncompressed_bytes > 10485760
            AND has({tables:Array(String)}, table)
            GROUP BY table HAVING uniqExact(part_type) = 1`,
    query_params: { tables: RECORD_TABLES },
    format: 'JSONEachRow',
  })
  const found = await result.json<{ table: string; type: string }>()
  return new Map(found.map(({ table, type }) => [table, type === 'Compact']))
}
