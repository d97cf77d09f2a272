import { expect, test } from 'vitest'
import { faultOf, faultOfLoaded } from '../../../../internal/local/backup/known-tables.js'

const FOLDER = 'store/34b/34b87f8b-20b6-4520-a81a-0967f74d3fc2'
const UUID = "UUID '7feec298-6cae-47ea-ae10-d4783fc3dd77'"
const of = (path: string, text = '') => faultOf(path, () => text)
const ofTable = (name: string, text: string) => of(`${FOLDER}/${name}.sql`, text)
const mutation = (commands: string) =>
  of(
    `${FOLDER}/mutation_5.txt`,
    `format version: 1\ncreate time: 2026-11-29 20:00:00\ncommands: ${commands}\ntid: (1, 1, 0)\n`,
  )
const settling = (column = '', end = 'ENGINE = ReplacingMergeTree(ends_at)\nORDER BY state\n') =>
  ofTable('settling', `ATTACH TABLE _ ${UUID}\n(\n    \`state\` LowCardinality(String)${column}\n)\n${end}`)

test('tables with their engines, a view, a change of rows and the database are taken', () => {
  expect(settling()).toBeUndefined()
  expect(settling(", `starts_at` DateTime64(3, 'UTC') TTL toDateTime(starts_at) + toIntervalDay(30)")).toBeUndefined()
  expect(
    ofTable(
      'usage_15m_of_closed',
      `ATTACH MATERIALIZED VIEW _ ${UUID} TO attribution.usage_15m\n(\n    \`tenant_id\` String\n)\n` +
        "AS SELECT tenant_id, toStartOfFifteenMinutes(event_time, 'UTC') AS bucket FROM attribution.closed\n",
    ),
  ).toBeUndefined()
  expect(mutation("UPDATE owner = \\'it\\\\\\'s erased\\' WHERE (tenant_id = \\'t\\') AND has(mapKeys(x), 1)")).toBe(
    undefined,
  )
  expect(of(`metadata/attribution.sql`, `ATTACH DATABASE _ ${UUID}\nENGINE = Atomic\n`)).toBeUndefined()
  expect(of(`${FOLDER}/format_version.txt`)).toBeUndefined()
})

test.each([
  ['another engine', "ENGINE = File('CSV', '/etc/passwd')\n"],
  ['a quoted engine', "ENGINE = `File`('CSV')\n"],
  ['two engines', 'ENGINE = ReplacingMergeTree(ends_at) ENGINE = Log\n'],
  ['a disk of its own', "ENGINE = ReplacingMergeTree(ends_at)\nSETTINGS disk = disk(type = local, path = '/etc/')\n"],
  ['a comment', "ENGINE = ReplacingMergeTree(ends_at) -- '\nSETTINGS disk = disk(type = local) -- '\n"],
  ['another comment', "ENGINE = ReplacingMergeTree(ends_at) # '\nSETTINGS disk = disk(type = local) # '\n"],
  ['no engine', 'AS SELECT 1\n'],
])('a known table with %s is refused', (_, end) => {
  expect(settling('', end)).toEqual(expect.any(String))
})

test.each([
  "file('/etc/passwd')",
  "FILE ('/etc/passwd')",
  "`file`('/etc/passwd')",
  '"file"(\'/etc/passwd\')',
  "if(1, file('/etc/passwd'), '')",
  "(SELECT any(x) FROM url('http://127.0.0.1', CSV, 'x String'))",
  "file/**/('/etc/passwd')",
  "'''' || file('/etc/passwd') || ''''",
  "dictGet('d', 'x', 1)",
  "joinGet('j', 'x', 1)",
  "$a$'$a$ || file('/etc/passwd') || $a$'$a$",
  "‘'‘ || file('/etc/passwd')",
])('a column with the default %s is refused', (expression) => {
  expect(settling(`, \`x\` String DEFAULT ${expression}`)).toEqual(expect.any(String))
  expect(mutation(`UPDATE x = ${expression.replaceAll("'", "\\'")} WHERE 1`)).toEqual(expect.any(String))
})

test.each([
  ['a table of no version', `${FOLDER}/secrets.sql`],
  ['a function', 'user_defined/mine.sql'],
  ['an account', 'access/users.list'],
  ['a dictionary', 'metadata/attribution/mine.sql'],
  ['a file beside the tables', `${FOLDER}/x.bin`],
  ['a database of another engine', 'metadata/other.sql'],
  ['a change with an escape that hides a call', `${FOLDER}/mutation_1.txt`],
])('%s is refused', (_, path) => {
  const text = path.includes('mutation')
    ? 'format version: 1\ncreate time: x\ncommands: UPDATE x = \\x66ile(1) WHERE 1\n'
    : `ATTACH DATABASE _ ${UUID}\nENGINE = PostgreSQL('h', 'd', 'u', 'p')\n`

  expect(of(path, text)).toEqual(expect.any(String))
})

test('what the engine has loaded may be tables and views of the operator, that call nothing that reads files', () => {
  const view = 'CREATE MATERIALIZED VIEW default.`of it` TO default.days (`day` Date) AS SELECT toDate(at) AS day FROM'
  expect(faultOfLoaded(undefined, `${view} (SELECT now() AS at) AS t`)).toBeUndefined()
  expect(faultOfLoaded(undefined, "CREATE VIEW default.file (`x` String) AS SELECT file('/etc/passwd') AS x")).toBe(
    'calls file',
  )
  expect(faultOfLoaded('settling', 'CREATE VIEW attribution.settling (`x` String) AS SELECT 1')).toBe(
    'has another engine than its table',
  )
})
