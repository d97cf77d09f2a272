import { readFile, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { makeTables } from '../../../cmd/store/tables.js'
import { launch } from '../../support/processes.js'
import {
  launchStore,
  privateFolder,
  type RunningStore,
  STORE_MAIN,
  STORE_PASSWORD,
  stopStore,
  storeLaunch,
} from '../../support/store.js'

let store: RunningStore

beforeAll(async () => {
  store = await launchStore()
  await store.client.command({ query: 'CREATE TABLE secrets (a UInt8) ENGINE = MergeTree ORDER BY a' })
  await store.client.command({ query: 'INSERT INTO secrets VALUES (1)' })
})

afterAll(async () => {
  await stopStore(store)
  await rm(store.dataDir, { recursive: true, force: true })
})

interface Answer {
  readonly status: number
  /** ClickHouse's error code, when the request came as far as ClickHouse. */
  readonly code: string | null
}

async function ask(query: string, headers: Record<string, string>, parameters = ''): Promise<Answer> {
  const response = await fetch(`http://127.0.0.1:${store.port}/${parameters}`, { method: 'POST', body: query, headers })
  await response.arrayBuffer()
  return { status: response.status, code: response.headers.get('x-clickhouse-exception-code') }
}

const basic = (user: string, password: string) => ({
  authorization: `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`,
})
const named = (user: string, password?: string) => ({
  'x-clickhouse-user': user,
  ...(password === undefined ? {} : { 'x-clickhouse-key': password }),
})

const QUERIES = [
  'SELECT 1',
  'SELECT * FROM secrets',
  'SHOW TABLES',
  `SELECT * FROM file('/etc/hostname', LineAsString)`,
  `SELECT file('/etc/hostname')`,
  `SELECT * FROM url('http://127.0.0.1:1', LineAsString)`,
  'CREATE TABLE mine (a UInt8) ENGINE = Memory',
  'DROP TABLE secrets',
  'KILL QUERY WHERE 1',
  'SYSTEM SHUTDOWN',
  'SYSTEM STOP LISTEN HTTP',
]

test.each(QUERIES)('the store rejects %s without credentials', async (query) => {
  const answer = await ask(query, {})

  expect(answer).toEqual({ status: 401, code: null })
})

test.each(QUERIES)('the store rejects %s of a user without a password', async (query) => {
  const answers = await Promise.all([
    ask(query, named('default')),
    ask(query, named('default', '')),
    ask(query, basic('default', '')),
    ask(query, {}, '?user=default'),
    ask(query, {}, '?user=default&password='),
  ])

  for (const answer of answers) expect(answer).toEqual({ status: 401, code: null })
})

// ClickHouse prefers some ways of naming a user to others: none may open the back door behind the named one.
test.each(QUERIES)('the store rejects %s when a request names a second user', async (query) => {
  const service = named('attribution', STORE_PASSWORD)

  const answers = await Promise.all([
    ask(query, service, '?user=default'),
    ask(query, service, '?user=default&password='),
    ask(query, { ...service, ...basic('default', '') }),
    ask(query, named('attribution'), '?user=default'),
  ])

  for (const answer of answers) expect(answer).toEqual({ status: 403, code: '516' })
})

test('the store rejects basic authorization, whichever user the URL names', async () => {
  const headers = basic('attribution', STORE_PASSWORD)

  const answers = [await ask('SELECT 1', headers), await ask('SELECT 1', headers, '?user=default')]

  for (const answer of answers) expect(answer).toEqual({ status: 401, code: null })
})

test('the store rejects a wrong password with its error code', async () => {
  const answers = [await ask('SELECT 1', named('attribution', 'wrong')), await ask('SELECT 1', named('attribution'))]

  for (const answer of answers) expect(answer).toEqual({ status: 403, code: '516' })
})

test.each([
  "CREATE TABLE mine (a String) ENGINE = File(CSV, '/etc/passwd')",
  "CREATE TABLE mine (a String) ENGINE = URL('http://127.0.0.1:1', CSV)",
  "CREATE TABLE mine (a String) ENGINE = Executable('x', TabSeparated)",
  'CREATE TABLE mine (a UInt8) ENGINE = Null',
  "CREATE DICTIONARY mine (a UInt64) PRIMARY KEY a SOURCE(FILE(path '/etc/passwd' format 'CSV')) " +
    'LAYOUT(FLAT()) LIFETIME(1)',
  'CREATE FUNCTION mine AS (a) -> a + 1',
])('the service user is denied %s', async (query) => {
  expect((await ask(query, named('attribution', STORE_PASSWORD))).code).toBe('497')
})

// The engine has no right for the function `file()` alone: see `config-files.ts`.
test.each([
  "SELECT * FROM file('/etc/hostname', LineAsString)",
  "INSERT INTO FUNCTION file('/tmp/attribution-store-wrote', CSV, 'a String') VALUES ('x')",
  "SELECT * FROM url('http://127.0.0.1:1', LineAsString)",
  "SELECT * FROM s3('http://127.0.0.1:1/b/k.csv', 'CSV', 'a String')",
  "SELECT * FROM remote('127.0.0.1:1', system.one)",
  "SELECT * FROM mysql('127.0.0.1:1', 'd', 't', 'u', 'p')",
  "SELECT * FROM postgresql('127.0.0.1:1', 'd', 't', 'u', 'p')",
  "SELECT * FROM sqlite('/etc/hostname', 't')",
  "SELECT * FROM executable('x', TabSeparated, 'a String')",
  "SELECT * FROM hdfs('hdfs://127.0.0.1:1/x', LineAsString)",
  "SELECT * FROM deltaLakeLocal('/etc/')",
  "SELECT catboostEvaluate('/etc/hostname', 1)",
  "CREATE TABLE mine (a UInt8) ENGINE = MergeTree ORDER BY a SETTINGS disk = disk(type = local, path = '/tmp/x/')",
  "BACKUP TABLE secrets TO File('/tmp/attribution-store-backup')",
])('the service user is refused what reads or writes outside of the tables: %s', async (query) => {
  expect((await ask(query, named('attribution', STORE_PASSWORD))).status).not.toBe(200)
})

test.each(['MergeTree ORDER BY a', 'ReplacingMergeTree ORDER BY a', 'AggregatingMergeTree ORDER BY a', 'Memory'])(
  'the service user may create a table with the engine %s',
  async (engine) => {
    const user = named('attribution', STORE_PASSWORD)

    expect((await ask(`CREATE TABLE mine (a UInt8) ENGINE = ${engine}`, user)).status).toBe(200)
    expect((await ask('DROP TABLE mine SYNC', user)).status).toBe(200)
  },
)

test('the store keeps its data and still answers after rejected requests', async () => {
  const result = await store.client.query({ query: 'SELECT a FROM secrets', format: 'JSONEachRow' })

  expect(await result.json()).toEqual([{ a: 1 }])
})

test('the configuration files of the store are private and contain no password', async () => {
  const folder = join(store.dataDir, 'store')
  const files = ['config.xml', 'users.xml']

  const modes = await Promise.all([...files, '.'].map(async (file) => (await stat(join(folder, file))).mode & 0o777))
  const texts = await Promise.all(files.map((file) => readFile(join(folder, file), 'utf8')))

  expect(modes).toEqual([0o600, 0o600, 0o700])
  expect(texts.join('')).not.toContain(STORE_PASSWORD)
})

test.each(['0.0.0.0', '::', 'localhost', '127.0.0.2'])('the store refuses to listen on %s', async (host) => {
  const { args, env } = storeLaunch(privateFolder(), store.port)

  const refused = launch(STORE_MAIN, { args: [...args, '--host', host], env })

  expect(await refused.exited).toEqual({ code: 1, signal: null })
  expect(refused.lines).toEqual(['store: --host must be 127.0.0.1: the store serves one machine'])
})

test('the store ignores the address of the gateway in the environment', async () => {
  const { args, env } = storeLaunch(store.dataDir, store.port)

  const second = launch(STORE_MAIN, { args, env: { ...env, ATTRIBUTION_HOST: '0.0.0.0' } })

  await second.exited
  expect(second.lines).toEqual([expect.stringContaining('in use by another engine')])
})

test('the store requires a password', async () => {
  const { args } = storeLaunch(privateFolder(), store.port)
  const { ATTRIBUTION_STORE_PASSWORD: _, ...env } = process.env

  const refused = launch(STORE_MAIN, { args, env: { ...(env as Record<string, string>) } })

  expect(await refused.exited).toEqual({ code: 1, signal: null })
  expect(refused.lines).toEqual(['store: --store-password (or ATTRIBUTION_STORE_PASSWORD) must be set'])
})

test('the audit log table accepts inserts, and nobody can change or delete a row', async () => {
  const user = named('attribution', STORE_PASSWORD)
  const rows = 'a UInt8, at DateTime) ENGINE = MergeTree PARTITION BY toYYYYMM(at) ORDER BY a'
  const statuses = async (queries: readonly string[]) => {
    const answers: Answer[] = []
    for (const query of queries) answers.push(await ask(query, user))
    return answers
  }
  const done = await statuses([
    `CREATE TABLE attribution.other (${rows}`,
    "INSERT INTO attribution.audit_log (tenant_id, created_at) VALUES ('tnt_one', now())",
    'SELECT * FROM attribution.audit_log',
    'ALTER TABLE attribution.other DELETE WHERE 1',
    'DROP TABLE attribution.other',
  ])
  const refused = await statuses([
    'ALTER TABLE attribution.audit_log UPDATE at = now() WHERE 1',
    'ALTER TABLE attribution.audit_log DELETE WHERE 1',
    'DELETE FROM attribution.audit_log WHERE 1',
    'ALTER TABLE attribution.audit_log DROP PARTITION 197001',
    'ALTER TABLE attribution.audit_log MODIFY TTL at + INTERVAL 1 DAY',
    'ALTER TABLE attribution.audit_log DROP COLUMN at',
    'TRUNCATE TABLE attribution.audit_log',
    'DROP TABLE attribution.audit_log',
    'DETACH TABLE attribution.audit_log PERMANENTLY',
    'RENAME TABLE attribution.audit_log TO attribution.mine',
    `CREATE OR REPLACE TABLE attribution.audit_log (${rows}`,
    'EXCHANGE TABLES attribution.audit_log AND default.secrets',
    'ALTER TABLE attribution.audit_log REPLACE PARTITION 197001 FROM default.secrets',
    'DROP DATABASE attribution',
    'DETACH DATABASE attribution',
  ])

  expect(done.map(({ status }) => status)).toEqual(done.map(() => 200))
  expect(refused.map(({ code }) => code)).toEqual(refused.map(() => '497'))
  expect(
    await (await store.client.query({ query: 'SELECT tenant_id FROM attribution.audit_log', format: 'JSON' })).json(),
  ).toMatchObject({ rows: 1 })
})

test("a store starts again over a view of the operator's, and not over one that reads files", async () => {
  const query = 'CREATE VIEW attribution.mine AS SELECT count() AS n FROM (SELECT 1) AS a JOIN (SELECT 2) AS b ON 1'
  await store.client.command({ query })
  const config = {
    ...{ storePort: store.port, storeUser: 'attribution', storePassword: STORE_PASSWORD },
    storeDatabase: 'attribution',
  }

  await makeTables(config)
  await store.client.command({
    query: "ALTER TABLE attribution.settling ADD COLUMN x String ALIAS file('/etc/hostname')",
  })
  await expect(makeTables(config)).rejects.toThrow('attribution.settling calls file')
  await store.client.command({ query: 'ALTER TABLE attribution.settling DROP COLUMN x' })
  await store.client.command({ query: "CREATE VIEW default.other AS SELECT file('/etc/hostname')" })
  await expect(makeTables(config)).rejects.toThrow('default.other calls file')
})
