import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { SCOPES } from '../../internal/auth/scopes.js'
import { sandboxCompany } from '../../internal/local/sandbox/company.js'
import { type Ask, askAs } from '../support/ask.js'
import { exact, sumOf } from '../support/focus-rules.js'
import { command } from '../support/instance.js'
import { launchService, type RunningService } from '../support/service.js'

const MODES = ['production', 'sandbox'] as const
type Mode = (typeof MODES)[number]
const other = (mode: Mode): Mode => (mode === 'sandbox' ? 'production' : 'sandbox')

const instances = new Map<Mode, RunningService>()
const instance = (mode: Mode): RunningService => {
  const found = instances.get(mode)
  if (found === undefined) throw new Error(`${mode} does not run`)
  return found
}
const RATES = ['--rate-control', '1000', '--rate-read', '1000']

beforeAll(async () => {
  const [production, sandbox] = await Promise.all([
    launchService({ roles: [], args: RATES }),
    launchService({ args: ['--mode', 'sandbox', ...RATES] }),
  ])
  instances.set('production', production).set('sandbox', sandbox)
})
afterAll(async () => {
  await Promise.all([...instances.values()].map((service) => service.stop()))
})

/** With the credentials of one mode, at the instance of another. */
async function tokenOf(credentialsOf: Mode, at: Mode) {
  const { client_id, client_secret } = instance(credentialsOf).credentials
  const answer = await fetch(`${instance(at).baseUrl}/v1/oauth/token`, {
    method: 'POST',
    body: new URLSearchParams({ grant_type: 'client_credentials', client_id, client_secret, scope: SCOPES.join(' ') }),
  })
  return { status: answer.status, token: ((await answer.json()) as { access_token?: string }).access_token ?? '' }
}

describe.each(MODES)('%s', (mode) => {
  const asked = async (headers: Record<string, string>) => {
    const { status, json } = await askAs(instance(mode).baseUrl, headers)('GET', '/v1/attribution')
    return `${status} ${json.error_code}`
  }

  test('an instance accepts keys, tokens and client secrets of its own mode', async () => {
    const { status, token } = await tokenOf(mode, mode)

    expect(status).toBe(200)
    expect(await asked({ 'x-api-key': instance(mode).credentials.api_key })).toBe('200 undefined')
    expect(await asked({ authorization: `Bearer ${token}` })).toBe('200 undefined')
  })

  test('an instance refuses credentials of the other mode', async () => {
    const { token } = await tokenOf(other(mode), other(mode))

    expect(await asked({ 'x-api-key': instance(other(mode)).credentials.api_key })).toBe('401 INVALID_CREDENTIALS')
    expect(await asked({ authorization: `Bearer ${token}` })).toBe('401 INVALID_CREDENTIALS')
    expect((await tokenOf(other(mode), mode)).status).toBe(401)
  })
})

describe('a new sandbox', () => {
  let ask: Ask
  // biome-ignore lint/suspicious/noExplicitAny: the contract is what is being checked
  let records: any[]

  beforeAll(async () => {
    const { dataDir, baseUrl, credentials } = instance('sandbox')
    ask = askAs(baseUrl, { 'x-api-key': credentials.api_key })
    while (!existsSync(join(dataDir, 'sandbox-data.json'))) await sleep(50)
    const { json } = await ask('POST', '/api/v1/invocations', {
      event_id: '0f8fad5b-d9cb-469f-a165-70867728950e',
      ingestion_layer: 'gateway',
      ingestion_timestamp: '2026-01-01T00:00:00Z',
      provider: 'openai',
      requested_model: 'gpt-4o',
    })
    const path = `/v1/attribution/${json.invocation_id.replace('inv_', 'attr_')}`
    while ((await ask('GET', path)).status === 404) await sleep(50)
    ;({ data: records } = (await ask('GET', '/v1/attribution?limit=200')).json)
  })

  test('a new sandbox fills itself with a company and its calls, through its own routes', async () => {
    const { services, identities } = sandboxCompany(1)
    const named = (await ask('GET', '/api/v1/directory/services?limit=200')).json.data

    expect(named.map(({ name }: { name: string }) => name)).toEqual(services.map(({ name }) => name).sort())
    expect((await ask('GET', '/api/v1/directory/identities?limit=1')).json.data).toHaveLength(1)
    expect(identities.length).toBeGreaterThan(1)
    expect(records).toHaveLength(200)
  })

  test('a sandbox holds records of every kind that a client must handle', () => {
    const kinds = (of: (record: (typeof records)[number]) => string) => new Set(records.map(of))

    const stages = [...kinds(({ interpretation }) => interpretation.stage_origin)]
    // On a slow machine a first model is trained meanwhile.
    expect(stages).toEqual(expect.arrayContaining(['stage_a', 'stage_c']))
    expect(kinds(({ interpretation }) => interpretation.confidence_band)).toContain('chargeback_ready')
    expect(kinds(({ interpretation }) => interpretation.export_eligibility)).toContain('eligible')
    expect(kinds(({ cost_basis }) => cost_basis)).toContain('price_book')
    expect(kinds(({ service }) => service).size).toBeGreaterThan(5)
  })

  test('the month of a sandbox by service folds at most two groups, and little of the cost', async () => {
    const { json } = await ask('GET', '/v1/reports/usage?group_by=service')

    const folded = json.data.filter((row: Record<string, unknown>) => row['folded'])
    expect(json.data.length).toBeGreaterThan(8)
    expect(folded.map((row: Record<string, unknown>) => row['groups'])).toEqual([2])
    expect(Number(folded[0].cost_share)).toBeLessThan(0.2)
    expect(sumOf(json.data, 'cost_usd')).toBe(exact(json.report.total_cost_usd))
  })

  test('filling a sandbox again with the same seed adds no record', async () => {
    const again = await command(instance('sandbox'), ['sandbox-data', '--seed', '1', '--days', '7', '--json'])

    expect(again.code).toBe(0)
    const { events, duplicates } = JSON.parse(again.lines.find((line) => line.startsWith('{')) ?? '')
    // Calls of the minutes that have passed meanwhile are new.
    expect(events).toBeGreaterThan(1_000)
    expect(events - duplicates).toBeLessThan(50)
  })
})

test('a production instance refuses synthetic data', async () => {
  const { code, lines } = await command(instance('production'), ['sandbox-data'])

  expect(code).toBe(1)
  expect(lines.join('\n')).toContain('is not a sandbox')
})
