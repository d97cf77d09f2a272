import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { generateRecords, LAST_AT_MS } from '../../../bench/query/generate.js'
import { type Login, openSqlPort, type SqlPort } from '../../support/sql-port.js'
import { launchMigratedStore, type RunningStore, stopStore } from '../../support/store.js'

/**
 * What drivers and BI tools of three years have sent as they connect, list, show columns and ask, by driver: recorded
 * between the driver and the port, or, where it says so, read from the program's source.
 */
const STATEMENTS: Readonly<Record<string, readonly string[]>> = JSON.parse(
  readFileSync(new URL('../../fixtures/sql-drivers.data.json', import.meta.url), 'utf8'),
)

let store: RunningStore
let port: SqlPort
let login: Login

beforeAll(async () => {
  store = await launchMigratedStore()
  await generateRecords(store.client, { tenantId: 'tnt_one', from: 0, to: 50, total: 50, seed: 1 })
  port = await openSqlPort(store, { watermark: { latest: async () => LAST_AT_MS + 60_000 } })
  login = port.addUser('tnt_one')
})
afterAll(async () => {
  await port.close()
  await stopStore(store)
})

describe.each(Object.entries(STATEMENTS))('%s', (_, statements) => {
  test.each(statements)('%s', async (statement) => {
    const { status, text } = await port.send(statement, login)

    expect([status, status === 200 ? '' : text]).toEqual([200, ''])
    for (const ours of ['tnt_one', store.dataDir]) expect(text).not.toContain(ours)
  })
})

test('the tables of `system` name the two views, their columns and what may be called, and nothing of the engine', async () => {
  const namesIn = async (query: string) => (await port.send(query, login)).text.trim().split('\n')

  expect(await namesIn('SELECT name, engine FROM system.tables ORDER BY name')).toEqual([
    'records\tMerge',
    'usage\tMerge',
  ])
  expect(await namesIn('SELECT DISTINCT database, table FROM system.columns ORDER BY table')).toEqual([
    'default\trecords',
    'default\tusage',
  ])
  expect(await namesIn('SELECT name FROM system.databases')).toEqual(['default'])
  const functions = await namesIn('SELECT name FROM system.functions')
  expect(functions).toContain('toStartOfDay')
  for (const name of ['file', 'dictGet', 'hostName', 'getSetting', 'sleep']) expect(functions).not.toContain(name)
  for (const table of ['settings', 'parts', 'clusters', 'macros', 'dictionaries', 'mutations', 'replicas']) {
    expect(await port.send(`SELECT * FROM system.${table}`, login), table).toMatchObject({ status: 200, text: '' })
  }
})

test('they have the columns of the engine’s own, in the same types', async () => {
  for (const table of ['databases', 'tables', 'columns', 'settings', 'functions', 'parts', 'data_type_families']) {
    const described = await port.send(`DESCRIBE (SELECT * FROM system.${table}) FORMAT TSV`, login)
    const engine = await store.client.query({
      query: `SELECT name, type FROM system.columns WHERE database = 'system' AND table = '${table}' ORDER BY position`,
      format: 'TabSeparated',
    })
    const shown = described.text
      .replace(/^([^\t]*\t[^\t]*).*$/gm, '$1')
      .replace(/\(\\n +/g, '(')
      .replace(/,\\n +/g, ', ')
    expect(shown, table).toBe(await engine.text())
  }
})

test('the engine knows each function that may be called', async () => {
  const shown = (await port.send('SELECT name FROM system.functions', login)).text.trim().split('\n')
  const known = await store.client.query({
    query: 'SELECT name, alias_to, case_insensitive FROM system.functions',
    format: 'JSONEachRow',
  })
  const names = new Set((await known.json<{ name: string }>()).map(({ name }) => name.toLowerCase()))
  // Operators of the parser, which has functions of other names for them.
  const parsed = ['dateadd', 'date_add', 'datesub', 'date_sub', 'timestampadd', 'timestamp_add', 'timestampsub']
  const unknown = shown.filter((name) => !names.has(name.toLowerCase()))
  expect(unknown.filter((name) => ![...parsed, 'timestamp_sub', 'grouping'].includes(name.toLowerCase()))).toEqual([])
})
