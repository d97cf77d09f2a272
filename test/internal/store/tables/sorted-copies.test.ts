import { afterAll, beforeAll, expect, test } from 'vitest'
import { generateRecords } from '../../../../bench/query/generate.js'
import { insertRows } from '../../../../internal/store/sink.js'
import { ATTRIBUTIONS } from '../../../../internal/store/tables/attributions.js'
import {
  ADD_CONTESTED,
  COPIED_COLUMNS,
  RECORD_TABLES,
  SORTED_COPIES,
} from '../../../../internal/store/tables/sorted-copies.js'
import { idOf } from '../../../support/invocations.js'
import { finishedRow } from '../../../support/rows.js'
import { launchMigratedStore, type RunningStore, stopStore } from '../../../support/store.js'

/** More than the engine itself would put into one file, 10 MiB of any table. */
const ROWS = 80_000

let store: RunningStore
beforeAll(async () => {
  store = await launchMigratedStore()
})
afterAll(() => stopStore(store))

test('a large part of a copy has its columns in one file, before a merge and after it; one of the main table does not', async () => {
  for (const from of [0, ROWS]) {
    await generateRecords(store.client, { tenantId: 'tnt_one', from, to: from + ROWS, total: 100 * ROWS })
  }
  const copies = RECORD_TABLES.filter((table) => table !== 'attributions')
  const inOneFile = new Map([['attributions', false], ...copies.map((table) => [table, true] as const)])
  expect(await largePartsAreInOneFile()).toEqual(inOneFile)

  for (const table of RECORD_TABLES) await store.client.command({ query: `OPTIMIZE TABLE ${table} FINAL` })
  expect(await largePartsAreInOneFile()).toEqual(inOneFile)
}, 120_000)

test('a column added to tables in use is in every copy of a row that is inserted afterwards', async () => {
  // As a version without the column left the tables.
  const before = COPIED_COLUMNS.replace(', contested', '')
  for (const { table } of SORTED_COPIES) {
    await store.client.command({ query: `ALTER TABLE ${table}_feed MODIFY QUERY SELECT ${before} FROM attributions` })
  }
  for (const table of RECORD_TABLES) await store.client.command({ query: `ALTER TABLE ${table} DROP COLUMN contested` })
  for (const attempt of ['first', 'repeated']) {
    for (const query of ADD_CONTESTED) await store.client.command({ query })
    await insertRows(store.client, ATTRIBUTIONS, [contestedRow(attempt)], attempt)
  }

  for (const table of RECORD_TABLES) {
    const query = `SELECT count() FROM ${table} WHERE tenant_id = 'tnt_contested' AND contested = 'workload_identity'`
    const result = await store.client.query({ query, format: 'JSONCompactEachRow' })
    expect([table, await result.json()]).toEqual([table, [['2']]])
  }
})

const contestedRow = (attempt: string) =>
  finishedRow(
    { tenantId: 'tnt_contested', id: idOf(attempt.length) },
    { verdict: { contested: 'workload_identity', evidenceBasis: 'service_declared' } },
  )

async function largePartsAreInOneFile(): Promise<Map<string, boolean>> {
  const result = await store.client.query({
    query: `SELECT table, any(part_type) AS type FROM system.parts
            WHERE active AND database = currentDatabase() AND data_uncompressed_bytes > 10485760 AND has({tables:Array(String)}, table)
            GROUP BY table HAVING uniqExact(part_type) = 1`,
    query_params: { tables: RECORD_TABLES },
    format: 'JSONEachRow',
  })
  const found = await result.json<{ table: string; type: string }>()
  return new Map(found.map(({ table, type }) => [table, type === 'Compact']))
}
