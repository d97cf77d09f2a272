import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { beforeAll, expect, test } from 'vitest'
import { type Ask, askAs } from '../support/ask.js'
import { attributedAll, type ShownRecord } from '../support/attributed.js'
import { newTenantOfProduct } from '../support/product.js'

/** A provider has one name, however events, filters and budgets spell it. */

const SPELLINGS = ['azure', 'azure.ai.openai', 'az.ai.openai', 'Azure-OpenAI']
let ask: Ask
let records: readonly ShownRecord[]

beforeAll(async () => {
  const service = await newTenantOfProduct()
  ask = askAs(service.baseUrl, { 'x-api-key': service.credentials.api_key })
  records = await attributedAll(
    ask,
    [...SPELLINGS, 'vertex_ai', 'In-House'].map((provider) => ({
      event_id: randomUUID(),
      provider,
      ingestion_timestamp: new Date().toISOString(),
      requested_model: 'gpt-4o',
      attributed_identity: undefined,
      estimated_cost_usd: '0.01',
    })),
  )
})

async function until(path: string, shows: (json: ShownRecord) => boolean): Promise<ShownRecord> {
  for (const end = Date.now() + 60_000; ; await sleep(50)) {
    const { status, json } = await ask('GET', path)
    if (status === 200 && shows(json)) return json
    expect(Date.now(), JSON.stringify(json)).toBeLessThan(end)
  }
}

test('a record shows the one name, and beside it the spelling that its event states', () => {
  expect(records.map(({ provider, stated_provider }) => [provider, stated_provider])).toEqual([
    ...SPELLINGS.map((spelling) => ['azure.ai.openai', spelling]),
    ['gcp.vertex_ai', 'vertex_ai'],
    ['In-House', 'In-House'],
  ])
})

test.each(['azure', 'az.ai.openai', 'azure.ai.openai', 'AZURE'])(
  'records are filtered by the provider as %s',
  async (named) => {
    const spellingsBy = async (filter: string) => {
      const { json } = await ask('GET', `/v1/attribution?sort=provider&filter[provider]${filter}`)
      return json.data.map((record: ShownRecord) => record.stated_provider).sort()
    }
    expect(await spellingsBy(`[eq]=${named}`)).toEqual([...SPELLINGS].sort())
    expect(await spellingsBy(`[in]=${named},vertexai`)).toEqual([...SPELLINGS, 'vertex_ai'].sort())
    expect(await spellingsBy(`[ne]=${named}`)).toEqual(['In-House', 'vertex_ai'])
    expect(await spellingsBy('[contains]=vertex')).toEqual(['vertex_ai'])
  },
)

test.each(['provider', '-provider'])(
  'pages sorted by %s follow the names that are shown, over their cursors',
  async (sort) => {
    const shown: string[] = []
    for (let path = `/v1/attribution?sort=${sort}&limit=1`; ; ) {
      const { json } = await ask('GET', path)
      shown.push(...json.data.map(({ provider }: ShownRecord) => provider))
      if (json.page.next_cursor == null) break
      path = `/v1/attribution?sort=${sort}&limit=1&cursor=${json.page.next_cursor}`
    }

    const inOrder = ['In-House', ...SPELLINGS.map(() => 'azure.ai.openai'), 'gcp.vertex_ai']
    expect(shown).toEqual(sort === 'provider' ? inOrder : inOrder.toReversed())
  },
)

test('a report has one row per provider, and any spelling filters it', async () => {
  const report = '/v1/reports/usage?group_by=provider&sort=provider'
  const rowsOf = ({ data }: ShownRecord) => data.map((row: ShownRecord) => [row.provider, row.calls, row.cost_usd])

  const whole = await until(
    report,
    ({ data }) => data?.reduce((sum: number, row: ShownRecord) => sum + row.calls, 0) === 6,
  )
  expect(rowsOf(whole)).toEqual([
    ['In-House', 1, '0.01'],
    ['azure.ai.openai', 4, '0.04'],
    ['gcp.vertex_ai', 1, '0.01'],
  ])
  const { json } = await ask('GET', `${report}&filter[provider][eq]=azure`)
  expect(rowsOf(json)).toEqual([['azure.ai.openai', 4, '0.04']])
})

test('a budget that is written with another spelling counts the calls of the provider', async () => {
  const made = await ask('POST', '/api/v1/budgets', {
    name: 'azure',
    monthly_ceiling_usd: '1',
    filter: { provider: 'az.ai.openai' },
  })
  expect(made.status).toBe(201)
  await until(`/api/v1/budgets/${made.json.id}`, ({ current }) => current.spent_usd === '0.04')
})
