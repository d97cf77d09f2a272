import { request } from 'node:http'
import { deflateSync, gzipSync } from 'node:zlib'
import { ClickHouseLogLevel, createClient } from '@clickhouse/client'
import type { Counter } from 'prom-client'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { BY_COLUMNS } from '../../../bench/query/by-columns.js'
import { closeRecords, generateRecords, LAST_AT_MS } from '../../../bench/query/generate.js'
import { toRecord } from '../../../internal/attribution/records/record.js'
import type { AuditEntry } from '../../../internal/auth/audit-entry.js'
import type { StoredSqlUser } from '../../../internal/auth/sql-users.js'
import { compressedBlock } from '../../../internal/sql/compressed-block.js'
import type { StoredAttribution } from '../../../internal/store/queries/records/attributions.js'
import type { SqlLimits } from '../../../internal/store/queries/sql/open-sql-store.js'
import { VIEW_COLUMNS } from '../../../internal/store/queries/sql/sql-views.js'
import { AS_OF_SNAPSHOT, snapshotParams } from '../../../internal/store/snapshot.js'
import { createLog } from '../../../internal/telemetry/log.js'
import { METRICS, readAll } from '../../../internal/telemetry/metrics.js'
import { basic, type Login, openSqlPort, type SqlPort } from '../../support/sql-port.js'
import { launchMigratedStore, type RunningStore, stopStore } from '../../support/store.js'
import { ALLOWED, ATTACKS } from './written-queries.js'

const TENANT = 'tnt_one'
const OTHER = 'tnt_two'
const ROWS = 2_000
const SNAPSHOT_MS = LAST_AT_MS + 60_000
const DECLARED = [{ key: 'Team', personal: false }]
/** A tenth is older than the declaration, a fifth of the rest has no team. */
const DIMENSIONS = `if(n % 10 = 0, [], [concat('team\\t', if(n % 5 = 1, '', concat('Team-', toString(n % 7))))])`

const lines: Record<string, unknown>[] = []
const log = createLog('gateway', 'info', {
  format: 'json',
  destination: { write: (line: string) => void lines.push(JSON.parse(line)) },
})

let store: RunningStore
let port: SqlPort
const entries: AuditEntry[] = []
let nowMs = Date.UTC(2026, 10, 1)
let region: string | null = null
let awayMs = 0
let one: Login

beforeAll(async () => {
  store = await launchMigratedStore()
  for (const tenantId of [TENANT, OTHER]) {
    const range = { from: 0, to: ROWS, total: ROWS }
    await generateRecords(store.client, {
      tenantId,
      ...range,
      seed: tenantId === TENANT ? 1 : 2,
      dimensions: DIMENSIONS,
    })
  }
  await closeRecords(store.client, TENANT, 200, ROWS)
  port = await openWith({ executionSMax: 3, memoryBytesMax: 1_000_000_000 })
  one = port.addUser(TENANT)
})
afterAll(async () => {
  await port.close()
  await stopStore(store)
})

const openWith = (limits: SqlLimits): Promise<SqlPort> =>
  openSqlPort(store, {
    limits,
    credentialsAwayMs: () => awayMs,
    residencyRegionOf: () => region,
    watermark: { latest: async () => SNAPSHOT_MS },
    dimensionsOf: () => DECLARED,
    auditSink: { record: async (entry) => void entries.push(entry) },
    clock: () => nowMs,
    log,
  })

const addUser = (tenantId: string, changes: Partial<StoredSqlUser> = {}): Login => port.addUser(tenantId, changes)
const send = (query: string, { login = one, search = '' }: { login?: Login; search?: string } = {}) =>
  port.send(query, login, search)

/** The official client as its users set it up. */
const clientOf = ({ user, password }: Login) =>
  createClient({ url: port.url, username: user, password, database: 'default', log: { level: ClickHouseLogLevel.OFF } })

async function rowsOf<T>(query: string, login = one, query_params: Record<string, unknown> = {}): Promise<T[]> {
  const client = clientOf(login)
  try {
    return await (await client.query({ query, query_params, format: 'JSONEachRow' })).json<T>()
  } finally {
    await client.close()
  }
}

async function stored(tenantId: string): Promise<StoredAttribution[]> {
  const result = await store.client.query({
    query: `SELECT ${BY_COLUMNS.select} FROM attributions WHERE tenant_id = {tenant:String} AND ${AS_OF_SNAPSHOT}`,
    query_params: snapshotParams(tenantId, SNAPSHOT_MS),
    format: 'JSONEachRow',
  })
  return (await result.json<Record<string, string>>()).map(BY_COLUMNS.rowOf)
}

describe('the official client, unmodified, with Basic authorization', () => {
  test('reads the records as the API shows them, current versions alone', async () => {
    const expected = (await stored(TENANT)).map((one) => toRecord(one, DECLARED))
    const rows = await rowsOf<Record<string, unknown>>('SELECT * FROM records', one)

    const shown = new Map(rows.map((row) => [row['id'], row]))
    expect(shown.size).toBe(expected.length)
    for (const { interpretation, tags, ...record } of expected) {
      const row = shown.get(record.id)
      const { tags: shownTags, confidence, event_time, materialized_at, ...rest } = row as Record<string, unknown>
      const { confidence: expectedConfidence, ...card } = interpretation
      expect({
        ...rest,
        input_tokens: asCount(rest['input_tokens']),
        output_tokens: asCount(rest['output_tokens']),
      }).toEqual({
        ...record,
        ...card,
        event_time: undefined,
        materialized_at: undefined,
      })
      expect(shownTags).toEqual(tags)
      expect(Number(confidence)).toBe(expectedConfidence)
      expect([event_time, materialized_at].map(asInstant)).toEqual([record.event_time, record.materialized_at])
    }
    const overridden = rows.filter((row) => row['owner'] === 'team-overridden')
    expect(overridden.length).toBeGreaterThan(100)
  })

  test('reads usage whose totals are those of the records to the digit', async () => {
    const sums = 'toString(sum(cost_usd)) AS usd, toString(sum(energy_wh)) AS wh, toString(sum(carbon_gco2e)) AS g'
    const [total] = await rowsOf(`SELECT ${sums}, sum(calls) AS n, sum(input_tokens) AS i FROM usage`)
    const [oracle] = await (
      await store.client.query({
        query:
          `SELECT ${sums}, count() AS n, sum(input_tokens) AS i FROM attributions ` +
          `WHERE tenant_id = {tenant:String} AND ${AS_OF_SNAPSHOT}`,
        query_params: snapshotParams(TENANT, SNAPSHOT_MS),
        format: 'JSONEachRow',
      })
    ).json()

    expect(total).toEqual(oracle)
    expect(await rowsOf('SELECT toString(sum(cost_usd)) AS usd FROM records')).toEqual([
      { usd: (oracle as { usd: string }).usd },
    ])
  })

  test('binds parameters, streams, pings and gets errors with code and type', async () => {
    const client = clientOf(one)

    expect(await client.ping()).toEqual({ success: true })
    expect(await client.ping({ select: true })).toEqual({ success: true })
    const [{ n }] = (await rowsOf<{ n: string }>(
      'SELECT count() AS n FROM records WHERE output_state IN ({states:Array(String)}) AND service != {odd:String}',
      one,
      { states: ['overridden', 'inferred'], odd: "a'b\\c\nd" },
    )) as [{ n: string }]
    expect(Number(n)).toBeGreaterThan(0)
    await expect(client.query({ query: 'SELECT nothing FROM records' })).rejects.toMatchObject({
      code: '47',
      type: 'UNKNOWN_IDENTIFIER',
    })
    await expect(client.query({ query: 'SELECT * FROM attributions' })).rejects.toMatchObject({ code: '497' })
    await client.close()
  })

  test('has neither identity hashes nor other fields that the API does not show', async () => {
    const [row] = await rowsOf<Record<string, unknown>>('SELECT * FROM records LIMIT 1')

    for (const name of ['identity_hash', 'workload_identity', 'principal', 'tenant_id'])
      expect(row).not.toHaveProperty(name)
    for (const name of ['identity_hash', 'tenant_id', 'source_log']) {
      expect((await send(`SELECT ${name} FROM records`)).code).toBe(47)
    }
    const [group] = await rowsOf<Record<string, unknown>>('SELECT * FROM usage LIMIT 1')
    for (const name of ['people', 'owner']) expect(group).not.toHaveProperty(name)
  })
})

const asCount = (value: unknown) => (value === null || value === undefined ? value : Number(value))
const asInstant = (value: unknown) => new Date(`${String(value).replace(' ', 'T')}Z`).toISOString()

test('the columns that are described are those that the views have', async () => {
  for (const table of ['records', 'usage'] as const) {
    const { text } = await send(`SELECT * FROM ${table} LIMIT 0 FORMAT JSONCompact`)
    const { meta } = JSON.parse(text) as { meta: unknown }
    expect(meta).toEqual(VIEW_COLUMNS[table].map(({ name, type }) => ({ name, type })))
    const described = await rowsOf<{ name: string; type: string }>(`DESCRIBE TABLE default.${table}`)
    expect(described.map(({ name, type }) => ({ name, type }))).toEqual(meta)
    const columns = await rowsOf(
      `SELECT name, type FROM system.columns WHERE database = 'default' AND table = '${table}' ORDER BY position`,
    )
    expect(columns).toEqual(meta)
  }
})

test.each(ALLOWED)('allowed: %s', async (query) => {
  const { status, text } = await send(query)

  expect([status, status === 200 ? '' : text]).toEqual([200, ''])
  expect(text).not.toContain(OTHER)
})

test.each(ATTACKS)('refused: %s', async (query) => {
  const search = new URLSearchParams({ param_t: 'attributions', param_f: 'file' }).toString()
  const { code, status, text } = await send(query, { search })

  expect([497, 62, 60], text).toContain(code)
  expect(status).toBeGreaterThanOrEqual(400)
  expect(text).not.toContain(OTHER)
})

test('what drivers ask about the instance is answered without the machine and without our own user', async () => {
  const [row] = await rowsOf('SELECT displayName() AS a, currentUser() AS b, USER() AS c')

  expect(row).toEqual({ a: 'attribution', b: one.user, c: one.user })
})

test('each escape in a text means what it means to the engine, or is refused', async () => {
  const refused: string[] = []
  const printable = Array.from({ length: 95 }, (_, i) => 32 + i)
  // One query, since all of them have a meaning.
  const byCode = printable.map((code) => `x${code.toString(16)}`).join("b'), hex('a\\\\")
  for (const escaped of [...printable.map((code) => String.fromCharCode(code)), byCode, 'x3F', 'x0a', 'xff', 'x7f']) {
    const query = `SELECT hex('a\\${escaped}b')`
    const { status, text } = await send(query)
    if (status !== 200) refused.push(escaped)
    else expect(text, escaped).toBe(await (await store.client.query({ query, format: 'TabSeparated' })).text())
  }
  expect(refused.join('')).toBe('0Nabefnrtvxx0axffx7f')
})

describe('a driver that asks for compressed answers', () => {
  test.each([
    ['SELECT nothing FROM records', 47],
    ['SELECT * FROM attributions', 497],
    ["SELECT 'a", 62],
  ])('reads the error of %s', async (query, code) => {
    const plain = await send(query)

    const compressed = await send(query, { search: 'compress=1' })
    expect([compressed.status, compressed.code]).toEqual([plain.status, code])
    expect(compressed.bytes).toEqual(compressedBlock(plain.text))
  })

  test('reads why it was not let in', async () => {
    const { bytes } = await send('SELECT 1', { login: { ...one, password: 'x' }, search: 'compress=1' })

    expect(bytes.toString('latin1')).toContain('The user or the password is not valid')
  })
})

test('a query comes plain, as gzip or as deflate, and is no longer than any other', async () => {
  const ask = async (coding: string, body: Buffer) => {
    const headers = { authorization: basic(one), 'content-encoding': coding }
    const answer = await fetch(port.url, { method: 'POST', headers, body: new Uint8Array(body) })
    return [answer.status, await answer.text()]
  }

  expect(await ask('gzip', gzipSync('SELECT 1'))).toEqual([200, '1\n'])
  expect(await ask('deflate', deflateSync('SELECT 1'))).toEqual([200, '1\n'])
  for (const body of [gzipSync(`SELECT '${' '.repeat(50_000_000)}'`), Buffer.from('SELECT 1')]) {
    expect(await ask('gzip', body)).toEqual([400, expect.stringContaining('no gzip, or is too long')])
  }
  expect(await ask('br', Buffer.from('x'))).toEqual([400, expect.stringContaining('plain, gzip or deflate')])
})

describe('another tenant', () => {
  test.each([
    "SELECT count() AS n FROM records WHERE 'tnt_two' = 'tnt_two'",
    `WITH '${OTHER}' AS tenant_id SELECT count() AS n FROM records`,
    `WITH tuple('${OTHER}') AS attributions SELECT count() AS n FROM records`,
    'WITH 1 AS valid_from, 2 AS snapshot, 3 AS closed_at SELECT count() AS n FROM records',
    'SELECT count() AS n FROM (SELECT * FROM records) AS records',
    'SELECT count() AS n FROM records AS attributions',
    'SELECT count() AS n FROM (WITH 1 AS id, 2 AS service SELECT * FROM records)',
    'SELECT toUInt64(sum(calls)) AS n FROM usage',
  ])('is not counted by: %s', async (query) => {
    const expected = (await stored(TENANT)).length

    expect(await rowsOf(query)).toEqual([{ n: String(expected) }])
  })

  test('shows in no record of either, however the query selects', async () => {
    const other = addUser(OTHER)
    const idsOf = async (login: Login, where = '') =>
      new Set((await rowsOf<{ id: string }>(`SELECT id FROM records ${where}`, login)).map(({ id }) => id))
    const theirs = await idsOf(other)
    const [foreign = ''] = theirs

    const ours = await idsOf(one)
    expect(ours.size).toBe(ROWS)
    expect(theirs.size).toBe(ROWS)
    expect([...ours].filter((id) => theirs.has(id))).toEqual([])
    expect(await idsOf(one, `WHERE id = '${foreign}' OR 1 = 1`)).toEqual(ours)
    expect(await idsOf(one, `WHERE id = '${foreign}'`)).toEqual(new Set())
  })

  test('is not read by conditions that fail for some values: a failure would reveal the value', async () => {
    await generateRecords(store.client, { tenantId: 'tnt_onf', from: 0, to: 50, total: 50, seed: 9 })
    await store.client.command({
      query:
        "ALTER TABLE attributions UPDATE service = 'only-theirs' WHERE tenant_id = 'tnt_onf' SETTINGS " +
        'mutations_sync = 2',
    })
    await store.client.command({ query: 'OPTIMIZE TABLE attributions FINAL' })

    for (const condition of [
      "intDiv(1, toUInt8(service != 'only-theirs')) = 1",
      "toUInt64(if(service = 'only-theirs', service, '1')) = 1",
    ]) {
      expect(await rowsOf(`SELECT count() AS n FROM records WHERE ${condition}`)).toEqual([{ n: String(ROWS) }])
      for (const query of [
        `SELECT service, sum(calls) FROM usage WHERE ${condition} GROUP BY service`,
        'SELECT count() FROM records AS r INNER JOIN usage AS u ON r.service = u.service AND ' +
          `${condition.replaceAll('service', 'u.service')}`,
        'SELECT count() FROM records AS r INNER JOIN usage AS u ON r.service = u.service WHERE ' +
          `${condition.replaceAll('service', 'r.service')}`,
        `SELECT event_time FROM records WHERE event_time > '2020-01-01' AND ${condition} ORDER BY event_time ` +
          'DESC LIMIT 5',
        `SELECT id FROM records ORDER BY ${condition}, event_time LIMIT 5`,
        `SELECT DISTINCT provider FROM (SELECT provider, ${condition} AS c FROM records) WHERE c OR provider = 'x'`,
        `SELECT count() FROM records WHERE id IN (SELECT id FROM records WHERE ${condition}) QUALIFY ` +
          `${condition.replaceAll('service', "'x'")}`,
        `SELECT countIf(${condition}), max(${condition}) FROM records WHERE provider LIKE '%' AND if(cost_usd >= ` +
          `0, ${condition}, 0)`,
      ]) {
        await rowsOf(query)
      }
    }
  })
})

describe('who may ask', () => {
  test.each([
    ['a wrong password', () => ({ ...one, password: `${one.password.slice(0, -1)}x` }), 516],
    ['the password of another', () => ({ ...addUser(TENANT), password: one.password }), 516],
    ['an expired user', () => addUser(TENANT, { expires_at: '2026-10-31T23:59:59.999Z' }), 516],
    ['a revoked user', () => addUser(TENANT, { status: 'revoked' }), 516],
    ['an unreadable expiry', () => addUser(TENANT, { expires_at: 'never' }), 516],
    ['a password of the sandbox', () => ({ ...one, password: one.password.replace('sp_live_', 'sp_test_') }), 516],
  ] as const)('%s is refused', async (_, login, code) => {
    const answer = await send('SELECT 1', { login: login() })

    expect([answer.status, answer.code]).toEqual([403, code])
  })

  test('ClickHouse headers are taken, credentials in the address and in two ways are not', async () => {
    const headers = { 'x-clickhouse-user': one.user, 'x-clickhouse-key': one.password }
    const ask = async (search: string, sent: Record<string, string>) =>
      (await fetch(`${port.url}/?query=SELECT%201${search}`, { headers: sent })).status

    expect(await ask('', headers)).toBe(200)
    expect(await ask('', {})).toBe(401)
    expect(await ask('', { ...headers, authorization: basic(one) })).toBe(403)
    expect(await ask(`&user=${one.user}&password=${one.password}`, {})).toBe(403)
    expect(await ask('&user=attribution', headers)).toBe(403)
  })

  test.each(['//', '/\\', '*', 'http://[', '/%', '//@:x'])(
    'an odd address (%s) is answered, and the next request too',
    async (path) => {
      const { port: number } = new URL(port.url)
      const status = await new Promise<number | undefined>((resolve, reject) => {
        request({ host: '127.0.0.1', port: number, path }, (answer) => {
          answer.resume()
          resolve(answer.statusCode)
        })
          .on('error', reject)
          .end()
      })
      expect([400, 401, 404]).toContain(status)
      expect(await (await fetch(`${port.url}/ping`)).text()).toBe('Ok.\n')
    },
  )

  test('a user is refused once it expires, while credentials are stale, and where the data may not be', async () => {
    nowMs = Date.UTC(2027, 0, 1)
    expect((await send('SELECT 1')).code).toBe(516)
    nowMs = Date.UTC(2026, 10, 1)
    awayMs = 1
    expect((await send('SELECT 1')).status).toBe(503)
    awayMs = 0
    region = 'ap-south-1'
    expect(await send('SELECT 1')).toMatchObject({ status: 409, code: 497 })
    region = null
    expect((await send('SELECT 1')).status).toBe(200)
  })
})

/** Answers of the SQL port with 200 and with 403. */
async function countsByStatus(): Promise<number[]> {
  await readAll((cause) => expect.fail(String(cause)))
  const { values } = await (METRICS.getSingleMetric('attribution_http_requests_total') as Counter).get()
  return ['200', '403'].map(
    (status) => values.find(({ labels }) => labels['class'] === 'sql' && labels['status'] === status)?.value ?? 0,
  )
}

describe('limits and the audit log', () => {
  test('settings of the client change no limit, and a result that is too large is an error', async () => {
    const search = 'max_result_rows=0&readonly=0&max_execution_time=0&result_overflow_mode=break'
    const large = 'SELECT r.service FROM records AS r, records AS s'
    expect(await send(large, { search })).toMatchObject({ code: 396 })
  })

  test('names that double are ended by the engine before they take memory', async () => {
    const doubled = Array.from({ length: 25 }, (_, i) => `a${i} + a${i} AS a${i + 1}`).join(', ')
    expect((await send(`WITH 1 AS a0, ${doubled} SELECT a25`)).code).toBe(36)
  })

  const SQUARE = '(SELECT r.id AS id FROM records AS r, records AS s)'
  const ENDLESS = `SELECT count() FROM ${SQUARE} AS x, ${SQUARE} AS y WHERE position(x.id, y.id) > 40`

  test('a query that runs too long is ended', async () => {
    expect(await send(ENDLESS)).toMatchObject({ code: 159, status: 408 })
  })

  test('one tenant’s users with queries that last keep no other tenant waiting', async () => {
    const busy = await openWith({ executionSMax: 2, memoryBytesMax: 500_000_000 })
    let ended = 0
    const heavy = Array.from({ length: 12 }, () => busy.addUser(OTHER)).flatMap((login) =>
      [1, 2].map(() => busy.send(ENDLESS, login).finally(() => ended++)),
    )
    const quiet = busy.addUser(TENANT)
    await busy.send('SELECT count() FROM records', quiet)

    expect(await busy.send('SELECT 1', quiet)).toMatchObject({ status: 200, text: '1\n' })
    // Of 24, only those of the first round can have reached their limit meanwhile.
    expect(ended).toBeLessThanOrEqual(4)
    const codes = (await Promise.all(heavy)).map(({ code }) => code)
    expect(new Set(codes)).toEqual(new Set([159, 202]))
    await busy.close()
  })

  test('groups that do not fit into memory go to disk', async () => {
    const small = await openWith({ executionSMax: 60, memoryBytesMax: 100_000_000 })
    const grouped =
      'SELECT r.id AS a, s.id AS b FROM records AS r, records AS s WHERE s.output_tokens % 5 = 0 GROUP BY a, b'
    const { status, text } = await small.send(`SELECT count() > 100000 FROM (${grouped})`, small.addUser(TENANT))
    expect([status, text]).toEqual([200, '1\n'])
    await small.close()
  })

  test('a refused query has a line without its text, and each is counted', async () => {
    lines.length = 0
    const before = await countsByStatus()
    await send('SELECT 1')
    await send("SELECT file('ada@example.com')")
    await send("SELECT 'ada@example.com")

    const trace_id = expect.stringMatching(/^[0-9a-f]{32}$/)
    const of = { level: 'info', msg: 'request refused', route: 'POST / of the SQL port', trace_id }
    expect(lines).toEqual([
      expect.objectContaining({ ...of, status: 403, error_code: 'INSUFFICIENT_SCOPE' }),
      expect.objectContaining({ ...of, status: 400, error_code: 'MALFORMED_REQUEST' }),
    ])
    expect(JSON.stringify(lines)).not.toContain('ada@')
    const after = await countsByStatus()
    expect(after.map((count, i) => count - (before[i] ?? 0))).toEqual([1, 1])
  })

  test('each query is recorded by its hash and what it read, never by its text', async () => {
    entries.length = 0
    await send("SELECT count() FROM records WHERE owner = 'ada@example.com'")
    await send("SELECT file('ada@example.com')")

    expect(
      entries.map(({ tenantId, actor, action, outcome, errorCode }) => [tenantId, actor, action, outcome, errorCode]),
    ).toEqual([
      [TENANT, one.user, 'sql.query', 'succeeded', null],
      [TENANT, one.user, 'sql.query', 'refused', 'INSUFFICIENT_SCOPE'],
    ])
    expect(entries[0]?.changes?.after).toMatchObject({ tables: ['records'], rows: 1 })
    expect(JSON.stringify(entries)).not.toContain('ada@')
  })
})
