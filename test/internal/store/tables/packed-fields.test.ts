import fc from 'fast-check'
import { beforeAll, expect, test } from 'vitest'
import { pairOf } from '../../../../internal/records/dimensions.js'
import { FIELDS } from '../../../../internal/records/record-fields.js'
import { eraseIdentity } from '../../../../internal/store/erasure.js'
import { MIGRATIONS } from '../../../../internal/store/migrations/migrate.js'
import {
  DETAILS,
  FROM_COPIES,
  FROM_RECORDS,
  type Reading,
  readingOf,
} from '../../../../internal/store/queries/records/attributions.js'
import { settle } from '../../../../internal/store/settling.js'
import { insertRows } from '../../../../internal/store/sink.js'
import { ATTRIBUTIONS } from '../../../../internal/store/tables/attributions.js'
import { EXPLAINED_FIELDS, SHOWN_FIELDS, SHOWN_LABELS } from '../../../../internal/store/tables/packed-fields.js'
import { SORTED_COPIES } from '../../../../internal/store/tables/sorted-copies.js'
import { type Database, openDatabase } from '../../../support/database.js'
import { rows } from '../../../support/drawn-rows.js'
import { idOf } from '../../../support/invocations.js'
import { finishedRow } from '../../../support/rows.js'

const VALID_FROM_MS = Date.UTC(2026, 10, 20)
/** The same fields, each from its own column. */
const SHOWN = readingOf<object>(
  FIELDS.filter(({ wire }) => wire),
  [],
)
const DETAILED = readingOf<object>(
  FIELDS.filter(({ wire, isExplained }) => wire ?? isExplained),
  [],
)

let store: Database
beforeAll(async () => {
  store = await openDatabase()
  const drawn = fc.sample(rows, 60).map((row, i) => ({ ...row, id: idOf(i), validFromMs: VALID_FROM_MS }))
  await insertRows(store.client, ATTRIBUTIONS, drawn, 'drawn')
  await settle(store.client, VALID_FROM_MS + 1, new AbortController().signal)
})

async function read(reading: Reading<object>, table = 'attributions'): Promise<object[]> {
  const result = await store.client.query({
    query: `SELECT ${reading.select} FROM ${table} ORDER BY id`,
    format: 'JSONEachRow',
  })
  return (await result.json<Record<string, string>>()).map(reading.rowOf)
}

async function partsWithout(column: string): Promise<string | undefined> {
  const result = await store.client.query({
    query: `SELECT count() FROM system.parts WHERE active AND database = currentDatabase() AND table = 'attributions'
            AND name NOT IN (SELECT name FROM system.parts_columns WHERE active AND database = currentDatabase()
              AND table = 'attributions' AND column = {column:String})`,
    query_params: { column },
    format: 'JSONCompactEachRow',
  })
  return (await result.json<[string]>())[0]?.[0]
}

test('packed fields of any record are read as from their own columns', async () => {
  const [shown, detailed] = [await read(SHOWN), await read(DETAILED)]

  expect(shown).toHaveLength(60)
  expect(await read(FROM_RECORDS)).toEqual(shown)
  expect(await read(DETAILS)).toEqual(detailed)
  for (const { table } of SORTED_COPIES) expect(await read(FROM_COPIES, table)).toEqual(shown)
})

test('records that were stored before the columns existed are read alike, before and after a merge', async () => {
  const detailed = await read(DETAILED)
  for (const { name } of [SHOWN_LABELS, SHOWN_FIELDS, EXPLAINED_FIELDS])
    await store.client.command({ query: `ALTER TABLE attributions DROP COLUMN ${name}` })
  for (const query of MIGRATIONS.find(({ name }) => name === 'packed fields of records')?.statements ?? [])
    await store.client.command({ query })

  const before = await read(DETAILS)
  await store.client.command({ query: 'OPTIMIZE TABLE attributions FINAL' })

  expect(before).toEqual(detailed)
  expect(await read(DETAILS)).toEqual(detailed)
  expect(await partsWithout('shown_fields')).toBe('0')
})

test('an erasure reaches the packed fields', async () => {
  const name = 'ann@example.com'
  const row = finishedRow({ id: idOf(900) })
  const owned = { ...row, owner: name, tags: { user: name }, dimensions: [pairOf('user', name)] }
  await insertRows(store.client, ATTRIBUTIONS, [owned], 'owned')
  const naming = async () => {
    const result = await store.client.query({
      query: `SELECT countIf(position(shown_fields, {name:String}) > 0),
                countIf(position(explained_fields, {name:String}) > 0) FROM attributions`,
      query_params: { name },
      format: 'JSONCompactEachRow',
    })
    return (await result.json<string[]>())[0]
  }
  const before = await naming()
  await eraseIdentity(store.client, { tenantId: row.tenantId, hash: '00'.repeat(15).concat('01'), name })

  expect(before).toEqual(['1', '1'])
  expect(await naming()).toEqual(['0', '0'])
})
