import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { generateRecords, LAST_AT_MS } from '../../../bench/query/generate.js'
import { isAllowedFunction, PLAIN_FUNCTIONS } from '../../../internal/sql/functions.js'
import { SYSTEM_TABLES } from '../../../internal/sql/statement.js'
import { VIEW_COLUMNS } from '../../../internal/store/queries/sql/sql-views.js'
import { drawn } from '../../support/run/rings.js'
import { type Login, openSqlPort, type SqlPort } from '../../support/sql-port.js'
import { launchMigratedStore, type RunningStore, stopStore } from '../../support/store.js'

const TENANT = 'tnt_one'
const OTHER = 'tnt_two'
const MARK = 'only-theirs'
const ROWS = 300

let store: RunningStore
let port: SqlPort
let login: Login

beforeAll(async () => {
  store = await launchMigratedStore()
  for (const [i, tenantId] of [TENANT, OTHER].entries()) {
    await generateRecords(store.client, { tenantId, from: 0, to: ROWS, total: ROWS, seed: i })
  }
  await change(`UPDATE service = concat('${MARK}', service), owner = '${MARK}' WHERE tenant_id = '${OTHER}'`)
  const limits = { executionSMax: 10, memoryBytesMax: 1_000_000_000 }
  port = await openSqlPort(store, { limits, watermark: { latest: async () => LAST_AT_MS + 60_000 } })
  login = port.addUser(TENANT)
})
afterAll(async () => {
  await port.close()
  await stopStore(store)
})

const change = (what: string) =>
  store.client.command({ query: `ALTER TABLE attributions ${what} SETTINGS mutations_sync = 2` })

/** That a query has an answer of its own each time it is asked. */
const CHANGING = /^(?:rand|generateUUID|now|today|yesterday|cur|utctimestamp|timeSlot)/i

const columns = fc.constantFrom(...VIEW_COLUMNS.records.map(({ name }) => name))
const literals = fc.constantFrom('1', '0', "'a'", "'2026-10-01'", `'${MARK}'`, "'%'", 'NULL', "['a', 'b']", '(1, 2)')
const functions = fc.constantFrom(
  ...PLAIN_FUNCTIONS.filter((name) => !CHANGING.test(name)),
  'equals',
  'notEquals',
  'if',
)
const { expression } = fc.letrec<{ expression: string; call: string }>((tie) => ({
  expression: fc.oneof({ maxDepth: 3 }, columns, literals, tie('call')),
  call: fc
    .tuple(functions, fc.array(tie('expression'), { minLength: 1, maxLength: 3 }))
    .map(([name, given]) => `${name}(${given.join(', ')})`),
}))
const aggregates = fc.constantFrom('count', 'max', 'min', 'uniqExact', 'maxIf', 'countIf')

/** Queries whose answers have an order and no chance in them. */
const queries = fc.oneof(
  fc
    .tuple(expression, expression)
    .map(([shown, kept]) => `SELECT id, ${shown} FROM records WHERE (${kept}) IS NOT NULL ORDER BY id LIMIT 5`),
  fc.tuple(aggregates, expression, expression).map(([name, a, b]) => {
    const given = name.endsWith('If') ? `${a}, isNotNull(${b})` : a
    return `SELECT ${name}(${given}) FROM records`
  }),
  fc
    .tuple(expression, columns)
    .map(
      ([shown, by]) =>
        `WITH x AS (SELECT ${by} AS k, ${shown} AS v FROM records) SELECT x.k, uniqExact(x.v) AS n, count() FROM x ` +
        'INNER JOIN usage AS u ON toString(x.k) = toString(u.service) GROUP BY x.k ORDER BY toString(x.k) LIMIT 5',
    ),
  fc
    .tuple(fc.constantFrom('tables', 'columns', 'databases', 'functions'), expression)
    .map(([table, kept]) => `SELECT name FROM system.${table} WHERE name IN (SELECT toString(${kept}) FROM records)`),
)

test('no drawn query answers anything else when the other tenant’s records are gone', async () => {
  const asked = fc.sample(queries, { numRuns: drawn(150), seed: 55 })
  const answers = async () => {
    const all: string[] = []
    for (const query of asked) {
      const { status, text } = await port.send(query, login)
      expect(status, `${query}: ${text}`).toBeLessThan(500)
      if (!query.includes(MARK)) expect(text, query).not.toContain(MARK)
      expect(text, query).not.toContain(store.dataDir)
      all.push(`${status} ${text}`)
    }
    return all
  }

  const before = await answers()
  expect(before.filter((answer) => answer.startsWith('200')).length).toBeGreaterThan(drawn(30))
  await change(`DELETE WHERE tenant_id = '${OTHER}'`)
  expect(await answers()).toEqual(before)
})

test('no function is called that is not listed, wherever a query names it', async () => {
  const result = await store.client.query({ query: 'SELECT name FROM system.functions', format: 'JSONEachRow' })
  const refused = (await result.json<{ name: string }>())
    .map(({ name }) => name)
    .filter((name) => !isAllowedFunction(name))
  expect(refused.length).toBeGreaterThan(500)
  const places = fc.constantFrom<(call: string) => string>(
    (call) => `SELECT ${call}`,
    (call) => `SELECT count() FROM records WHERE ${call} = service`,
    (call) => `SELECT 1 FROM usage GROUP BY ${call}`,
    (call) => `WITH x AS (SELECT ${call} AS a) SELECT a FROM x`,
    (call) => `SELECT name FROM system.tables WHERE name IN (SELECT ${call})`,
    (call) => `DESCRIBE (SELECT ${call})`,
    (call) => `SELECT * FROM VALUES ((${call}, 1))`,
    (call) => `SELECT * FROM ${call}`,
  )
  const given = fc.constantFrom('', 'service', "'a'", "'/etc/passwd'", "'attributions', 'id', 1")
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(...refused), given, places, async (name, args, place) => {
      const { code, text } = await port.send(place(`${name}(${args})`), login)
      // `user()` and the like are answered with the SQL user's own name.
      if (code === null) expect(text.replaceAll('\\', '')).toMatch(/attribution|sql_|^name\t/)
      else expect([497, 62, 60, 46, 47, 42, 43], text).toContain(code)
    }),
    { numRuns: drawn(150) },
  )
})

test('no table is read that is neither a view nor catalogued, wherever a query names it', async () => {
  const result = await store.client.query({
    query: 'SELECT database, name FROM system.tables',
    format: 'JSONEachRow',
  })
  const tables = (await result.json<{ database: string; name: string }>())
    .filter(({ database, name }) => database !== 'system' || !(SYSTEM_TABLES as readonly string[]).includes(name))
    .flatMap(({ database, name }) => [`${database}.${name}`, `\`${database}\`.\`${name}\``, `\`${database}.${name}\``])
  const places = fc.constantFrom<(table: string) => string>(
    (table) => `SELECT * FROM ${table}`,
    (table) => `SELECT * FROM records AS r, ${table} AS t`,
    (table) => `SELECT service FROM records WHERE service IN (SELECT * FROM ${table})`,
    (table) => `SELECT service FROM records WHERE service IN ${table}`,
    (table) => `WITH x AS (SELECT * FROM ${table}) SELECT * FROM x`,
    (table) => `SELECT 1 UNION ALL SELECT count() FROM ${table}`,
    (table) => `DESCRIBE (SELECT * FROM ${table})`,
    (table) => `DESCRIBE TABLE ${table}`,
    (table) => `SHOW CREATE TABLE ${table}`,
    (table) => `SELECT (SELECT count() FROM ${table})`,
  )
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(...tables), places, async (table, place) => {
      const { code, text } = await port.send(place(table), login)
      expect([497, 62, 60], text).toContain(code)
    }),
    { numRuns: drawn(200) },
  )
})
