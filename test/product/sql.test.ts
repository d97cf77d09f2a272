import { ClickHouseLogLevel, createClient } from '@clickhouse/client'
import { beforeAll, expect, test } from 'vitest'
import { type Ask, askAs, refusalOf } from '../support/ask.js'
import { listedAll } from '../support/attributed.js'
import { command, setRegion } from '../support/instance.js'
import { newTenantOfProduct, sqlOfProduct } from '../support/product.js'
import type { Instance } from '../support/service.js'

const PATH = '/api/v1/sql-users'

interface Login {
  readonly id: string
  readonly password: string
}

let service: Instance
let ask: Ask
let other: Ask
beforeAll(async () => {
  service = await newTenantOfProduct()
  ask = askAs(service.baseUrl, { 'x-api-key': service.credentials.api_key })
  const another = await newTenantOfProduct()
  other = askAs(another.baseUrl, { 'x-api-key': another.credentials.api_key })
  const calls = (name: string, count: number) =>
    Array.from({ length: count }, (_, i) => ({
      attributed_service: `${name}-${i % 3}`,
      attributed_identity: `person-${i}@example.com`,
      ingestion_timestamp: `2026-10-05T10:${10 + i}:00Z`,
      estimated_cost_usd: `0.10${i}`,
      input_tokens: 100 + i,
    }))
  await listedAll(ask, calls('ours', 20))
  await listedAll(other, calls('theirs', 4))
})

async function create(by: Ask = ask): Promise<Login> {
  const created = await by('POST', PATH, { name: 'dashboards' })
  expect(created.status).toBe(201)
  return created.json
}

async function rowsOf<T>({ id, password }: Login, query: string): Promise<T[]> {
  const log = { level: ClickHouseLogLevel.OFF }
  const client = createClient({ url: sqlOfProduct(), username: id, password, log })
  try {
    return await (await client.query({ query, format: 'JSONEachRow' })).json<T>()
  } finally {
    await client.close()
  }
}

/** A gateway knows a new user once its watch has it. */
async function known(login: Login): Promise<Login> {
  const isKnown = () =>
    rowsOf(login, 'SELECT 1').then(
      () => true,
      () => false,
    )
  await expect.poll(isKnown).toBe(true)
  return login
}

test('the totals by SQL are those of the API to the digit, and have nothing of another tenant', async () => {
  const login = await known(await create())
  const report = await ask('GET', '/v1/reports/usage?from=2026-10-01&to=2026-11-01')
  const page = await ask('GET', '/v1/attribution?limit=100')

  const sums =
    'toString(sum(cost_usd)) AS cost_usd, toString(sum(energy_wh)) AS energy_wh, toString(sum(carbon_gco2e)) ' +
    'AS carbon_gco2e'
  const { cost_usd, energy_wh, carbon_gco2e, calls, input_tokens } = report.json.data[0]
  expect(calls).toBe(20)
  expect(
    await rowsOf(login, `SELECT ${sums}, sum(calls) AS calls, sum(input_tokens) AS input_tokens FROM usage`),
  ).toEqual([{ cost_usd, energy_wh, carbon_gco2e, calls: String(calls), input_tokens: String(input_tokens) }])
  expect(await rowsOf(login, `SELECT ${sums} FROM records`)).toEqual([{ cost_usd, energy_wh, carbon_gco2e }])
  const rows = await rowsOf<Record<string, string>>(login, 'SELECT * FROM records')
  const shown = (records: Record<string, string>[]) =>
    records.map(({ id, service: name, cost_usd: usd, owner }) => [id, name, usd, owner]).sort()
  expect(shown(rows)).toEqual(shown(page.json.data))
  expect(JSON.stringify(rows)).not.toContain('theirs')
  const theirs = await rowsOf<{ service: string }>(await known(await create(other)), 'SELECT service FROM records')
  expect(theirs.map((row) => row.service.slice(0, 6))).toEqual(Array(4).fill('theirs'))
})

test('the newest call is there as soon as the API has it', async () => {
  const login = await known(await create())
  await listedAll(ask, [{ attributed_service: 'newest' }])

  expect(await rowsOf(login, "SELECT count() AS n FROM records WHERE service = 'newest'")).toEqual([{ n: '1' }])
})

test('a user shows its password once, is listed without it, and is refused once it is revoked', async () => {
  const login = await known(await create())

  const listed = await ask('GET', `${PATH}/${login.id}`)
  expect(listed.json).toMatchObject({ id: login.id, status: 'active', last_four: login.password.slice(-4) })
  expect(JSON.stringify((await ask('GET', PATH)).json)).not.toContain(login.password)
  expect(refusalOf(await other('DELETE', `${PATH}/${login.id}`))).toEqual([403, 'TENANT_MISMATCH'])
  expect((await ask('DELETE', `${PATH}/${login.id}`)).status).toBe(204)
  await expect.poll(() => rowsOf(login, 'SELECT 1').catch(({ code }) => code)).toBe('516')
  const actions = async () => {
    const log = await ask('GET', '/api/v1/audit-log?limit=200')
    const entries = log.json.data as { action: string; target: string }[]
    return entries.filter(({ target }) => target === login.id).map(({ action }) => action)
  }
  await expect.poll(actions).toEqual(expect.arrayContaining(['sql_user.create', 'sql.query', 'sql_user.revoke']))
})

test('an SQL password is no API key, and an API key no SQL password', async () => {
  const login = await known(await create())

  expect((await askAs(service.baseUrl, { 'x-api-key': login.password })('GET', '/v1/attribution')).status).toBe(401)
  const { api_key: password } = service.credentials
  for (const id of [login.id, password]) {
    await expect(rowsOf({ id, password }, 'SELECT 1')).rejects.toMatchObject({ code: '516' })
  }
})

test('the command line creates, lists and revokes', async () => {
  const { tenant_id: tenant } = service.credentials
  const created = await command(service, ['sql-user', 'create', '--tenant', tenant, '--days', '2', '--json'])
  const login = JSON.parse(created.lines.join('')) as Login
  await known(login)

  const listed = await command(service, ['sql-user', 'list', '--tenant', tenant])
  expect(listed.lines.some((line) => line.includes(login.id))).toBe(true)
  const long = await command(service, ['sql-user', 'create', '--tenant', tenant, '--days', '9999'])
  expect([long.code, long.lines.join('')]).toEqual([1, expect.stringContaining('--days')])
  expect((await command(service, ['sql-user', 'revoke', login.id, '--tenant', tenant])).code).toBe(0)
  await expect.poll(() => rowsOf(login, 'SELECT 1').catch(({ code }) => code)).toBe('516')
})

test('a tenant whose data stays in another region reads nothing by SQL', async () => {
  const login = await known(await create(other))
  await setRegion(service, other, 'ap-south-1')

  await expect.poll(() => rowsOf(login, 'SELECT 1').catch(({ code }) => code)).toBe('497')
})
