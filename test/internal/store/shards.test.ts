import { afterAll, beforeAll, expect, test } from 'vitest'
import { identityHash } from '../../../internal/ids/identity-hash.js'
import { judgeQuery, runQuery } from '../../../internal/sql/run-query.js'
import { compact } from '../../../internal/store/compaction.js'
import { ERASED_OWNER, eraseIdentity } from '../../../internal/store/erasure.js'
import { changeOnShards } from '../../../internal/store/on-shards.js'
import { listRecords } from '../../../internal/store/queries/records/list-records.js'
import { insertVersions } from '../../../internal/store/queries/records/versions.js'
import { openSqlStore } from '../../../internal/store/queries/sql/open-sql-store.js'
import { deleteCallsBefore } from '../../../internal/store/retention.js'
import { settle } from '../../../internal/store/settling.js'
import { insertRows } from '../../../internal/store/sink.js'
import { ATTRIBUTIONS, type AttributionRow } from '../../../internal/store/tables/attributions.js'
import { CLOSED } from '../../../internal/store/tables/closed.js'
import { RECORD_TABLES } from '../../../internal/store/tables/sorted-copies.js'
import { idOf, NOW_MS } from '../../support/invocations.js'
import { finishedRow } from '../../support/rows.js'
import { CLUSTER, launchShards, type Shards } from '../../support/shards.js'
import { ROW_DEPS } from '../../support/stages.js'
import { readBooks } from '../../support/usage.js'

const DAY_MS = 86_400_000
const TENANTS = Array.from({ length: 8 }, (_, i) => `tnt_${i}`)

let shards: Shards
beforeAll(async () => {
  shards = await launchShards()
})
afterAll(() => shards.close())

let ids = 0
/** Calls of a person, as many of each tenant. */
const rowsOf = (
  count: number,
  stated: { eventTimeMs?: number; validFromMs?: number; tenants?: readonly string[] } = {},
): AttributionRow[] =>
  (stated.tenants ?? TENANTS).flatMap((tenantId) =>
    Array.from({ length: count }, () => {
      const { eventTimeMs = NOW_MS, validFromMs = NOW_MS } = stated
      const invocation = { attributedIdentity: 'ada', eventTimeMs }
      const id = new Uint8Array(idOf(++ids))
      return finishedRow({ id, tenantId, invocation }, { validFromMs, verdict: { owner: 'ada' } })
    }),
  )

async function countsIn(table: string, where = '1'): Promise<number[]> {
  const counts = shards.each.map(async (client) => {
    const result = await client.query({
      query: `SELECT count() FROM ${table}_local WHERE ${where}`,
      format: 'JSONCompactEachRow',
    })
    return Number((await result.json<[string]>())[0]?.[0])
  })
  return Promise.all(counts)
}
const countIn = async (table: string, where?: string): Promise<number> =>
  (await countsIn(table, where)).reduce((sum, count) => sum + count, 0)

async function expectBooksToBalance(): Promise<void> {
  const { records, rollups } = await readBooks(shards.front)
  expect(records.length).toBeGreaterThan(0)
  expect(rollups).toEqual(records)
}

test('a batch of which one shard has its rows and the other none is completed by its repeat', async () => {
  const rows = rowsOf(25)
  await insertVersions(shards.front, rowsOf(1, { validFromMs: NOW_MS - 1 }), 'other', false)
  const before = await countsIn('attributions')
  expect(before.every((count) => count > 0)).toBe(true)
  const [first] = shards.each
  if (first === undefined) throw new Error('no shard')
  const found = await first.query({ query: 'SELECT DISTINCT tenant_id FROM attributions_local', format: 'JSONEachRow' })
  const ofFirst = new Set((await found.json<{ tenant_id: string }>()).map(({ tenant_id }) => tenant_id))
  // As after a crash of the other one: only this shard gets its block.
  await insertVersions(
    shards.front,
    rows.filter(({ tenantId }) => ofFirst.has(tenantId)),
    'batch',
    false,
  )

  for (let repeat = 0; repeat < 2; repeat++) {
    const stored = await insertVersions(shards.front, rows, 'batch', true)
    expect(stored).toHaveLength(rows.length)
    expect(await countIn('attributions')).toBe(rows.length + TENANTS.length)
  }
  await expectBooksToBalance()
})

test.each([
  ['arrived', 0],
  ['were copied', NOW_MS + 1],
])('pages show the records of a tenant, after they %s', async (_, settledBeforeMs) => {
  const { signal } = new AbortController()
  if (settledBeforeMs > 0) await settle(shards.front, settledBeforeMs, signal)
  const question = { tenantId: 'tnt_4', snapshotMs: NOW_MS, after: undefined, limit: 100 }
  for (const [filter, expected] of [
    ['search', 26],
    ['checkout', 0],
  ] as const) {
    const conditions = [{ field: 'service', operator: 'eq', values: [filter] }] as const
    const sort = { field: 'cost_usd', isDescending: true } as const
    const page = await listRecords(
      shards.front,
      { ...question, conditions, sort },
      { fromMs: 0, beforeMs: settledBeforeMs },
      undefined,
      signal,
    )
    expect(page).toHaveLength(expected)
  }
})

test('retention deletes the old calls of one tenant from its shard, and nothing of others', async () => {
  const old = rowsOf(2, { eventTimeMs: NOW_MS - 40 * DAY_MS, validFromMs: NOW_MS + 1 })
  await insertVersions(shards.front, old, 'old', false)
  await settle(shards.front, NOW_MS + 2, new AbortController().signal)
  const before = await countIn('attributions')

  expect(await deleteCallsBefore(shards.front, 'tnt_3', NOW_MS - 30 * DAY_MS)).toBe(true)
  expect(await deleteCallsBefore(shards.front, 'tnt_3', NOW_MS - 30 * DAY_MS)).toBe(false)

  for (const table of RECORD_TABLES) expect([table, await countIn(table)]).toEqual([table, before - 2])
  await expectBooksToBalance()
})

test('a person is erased on the shard of the tenant, with every sum as before', async () => {
  const before = await readBooks(shards.front)
  const hash = Buffer.from(identityHash(ROW_DEPS.identityKeyOf('tnt_5'), 'ada')).toString('hex')
  const ofPerson = `tenant_id = 'tnt_5' AND (owner = 'ada' OR identity_hash = unhex('${hash}'))`
  expect(await countIn('attributions', ofPerson)).toBeGreaterThan(0)

  await eraseIdentity(shards.front, { tenantId: 'tnt_5', hash, name: 'ada' })

  expect(await countIn('attributions', ofPerson)).toBe(0)
  for (const table of RECORD_TABLES) {
    expect([table, await countIn(table, `tenant_id = 'tnt_5' AND owner = 'ada'`)]).toEqual([table, 0])
    expect(await countIn(table, `tenant_id = 'tnt_5' AND owner = '${ERASED_OWNER}'`)).toBeGreaterThan(0)
  }
  expect(await countIn('attributions', `tenant_id != 'tnt_5' AND owner = 'ada'`)).toBeGreaterThan(0)
  const after = await readBooks(shards.front)
  expect(after.rollups).toEqual(after.records)
  expect(after.records.length).toBe(before.records.length)
})

test('replaced versions are compacted on the shard of each tenant', async () => {
  const tenants = ['tnt_0', 'tnt_1', 'tnt_2']
  const rows = rowsOf(1, { validFromMs: NOW_MS + 10, tenants })
  const closedAtMs = NOW_MS + 20
  const next = rows.map((row) => ({ ...row, owner: 'somebody', validFromMs: closedAtMs }))
  await insertRows(shards.front, ATTRIBUTIONS, rows, 'replaced')
  await insertRows(shards.front, ATTRIBUTIONS, next, 'next')
  const changed = { closedAtMs, change: 'reattribution', changeId: 'rea_one', actor: 'cli' } as const
  await insertRows(
    shards.front,
    CLOSED,
    rows.map((version) => ({ version, ...changed })),
    'closed',
  )
  const before = await countIn('attributions')

  expect([...(await compact(shards.front, NOW_MS + 100, 1))].sort()).toEqual(tenants)

  expect(await countIn('attributions')).toBe(before - rows.length)
  expect(await countIn('closed')).toBe(0)
  expect(await countIn('closed_history')).toBe(rows.length)
  await expectBooksToBalance()
})

test('changes of rows go to the own tables of all shards, inserts and schema statements stay as they are', () => {
  const changed = (statement: string) => changeOnShards(statement, CLUSTER)

  expect(changed('DELETE FROM closed WHERE id IN (SELECT id FROM closed_history)')).toBe(
    'DELETE FROM closed_local ON CLUSTER `two` WHERE id IN (SELECT id FROM closed_history_local)',
  )
  expect(changed('OPTIMIZE TABLE closed FINAL')).toBe('OPTIMIZE TABLE closed_local ON CLUSTER `two` FINAL')
  expect(changed("ALTER TABLE export_groups DROP PARTITION 'x'")).toBe(
    "ALTER TABLE export_groups_local ON CLUSTER `two` DROP PARTITION 'x'",
  )
  for (const statement of [
    'INSERT INTO closed_history SELECT * FROM closed',
    'ALTER TABLE closed_local ON CLUSTER `two` ADD COLUMN a String',
  ]) {
    expect(changed(statement)).toBe(statement)
  }
})

test('SQL users read their own records on whichever shard they are, through tables of a cluster', async () => {
  const closing = rowsOf(3, { tenants: ['tnt_0', 'tnt_1'] })
  await insertRows(shards.front, ATTRIBUTIONS, closing, 'sql-users')
  const store = openSqlStore(shards.connection)
  const deps = { store, database: 'default', watermark: { latest: async () => Date.now() }, dimensionsOf: () => [] }
  const signal = new AbortController().signal
  const ask = async (tenantId: string, text: string): Promise<unknown> => {
    const asked = {
      tenantId,
      user: 'sql_one',
      text,
      parameters: new Map<string, string>(),
      defaultFormat: 'JSONCompactEachRow',
      settings: {},
    }
    const { body } = await runQuery(await judgeQuery(asked, deps, signal), asked, deps, signal)
    return JSON.parse(body.toString())
  }
  for (const tenantId of TENANTS) {
    const expected = await countIn(
      'attributions',
      `tenant_id = '${tenantId}' AND (id, valid_from) NOT IN (SELECT id, valid_from FROM closed_local)`,
    )

    expect(await ask(tenantId, 'SELECT toUInt32(count()) FROM records')).toEqual([expected])
    expect(await ask(tenantId, 'SELECT toUInt32(sum(calls)) FROM usage')).toEqual([expected])
    const joined =
      'SELECT toUInt32(count()) FROM records AS r INNER JOIN records AS s ON r.id = s.id WHERE s.id IN (SELECT ' +
      'id FROM records)'
    expect(await ask(tenantId, joined)).toEqual([expected])
  }
  await store.close()
})
