import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { gunzipSync } from 'node:zlib'
import { beforeAll, describe, expect, test } from 'vitest'
import { litellmPayload } from '../internal/ingest/adapters/litellm-payload.js'
import { type Ask, askAs } from '../support/ask.js'
import { attributed, attributedAll, type ShownRecord } from '../support/attributed.js'
import { faultsOf } from '../support/by-hand.js'
import { exact, focusFaults, parseCsv, sumOf } from '../support/focus-rules.js'
import { intakeOfProduct, newTenantOfProduct } from '../support/product.js'

/**
 * Calls that are billed by other units than tokens, as applications and LiteLLM send them: what they cost, what their
 * card says, and the rows of a chargeback file.
 */

let ask: Ask
let apiKey: string

const DAY = new Date(Date.now() - 86_400_000).toISOString().slice(0, 10)
const SECONDS = { type: 'duration', seconds: 90 }
const PAGES = { pages_processed: 3, doc_size_bytes: null }

beforeAll(async () => {
  const service = await newTenantOfProduct()
  apiKey = service.credentials.api_key
  ask = askAs(service.baseUrl, { 'x-api-key': apiKey })
  await ask('POST', '/api/v1/directory/services', { name: 'media', owner: 'team-media' })
  for (const [provider, model, usd_per_unit] of [
    ['cohere', 'rerank-v3.5', { search_units: '0.002' }],
    ['openai', 'tts-1', { characters: '0.000015' }],
    ['openai', 'dall-e-3', { images: '0.04' }],
  ] as const) {
    const usd_per_million = { input_tokens: '0', output_tokens: '0' }
    const made = await ask('POST', '/api/v1/prices', {
      ...{ provider, model, valid_from: '2026-01-01T00:00:00Z', usd_per_million, usd_per_unit },
    })
    expect(made).toMatchObject({ status: 201, json: { usd_per_unit } })
  }
  // The attributor knows them a moment later.
  const drawn = { provider: 'openai', requested_model: 'dall-e-3', billed_units: { images: '1' } }
  const costBasis = async () =>
    (await attributed(ask, { ...drawn, ingestion_timestamp: new Date().toISOString() })).cost_basis
  while ((await costBasis()) !== 'tenant_price');
})

const call = (provider: string, model: string, stated: object) => ({
  attributed_service: 'media',
  ingestion_timestamp: `${DAY}T10:00:00Z`,
  ...{ provider, requested_model: model, ...stated },
})

/** The cost of a record, and what its card says of it. */
const shown = ({ cost_usd, cost_basis, explanation: { cost } }: ShownRecord) => [
  cost_basis,
  cost_usd,
  ...cost.units.map((unit: Record<string, string>) => `${unit['quantity']} ${unit['unit']} × ${unit['usd_per_unit']}`),
  ...cost.unpriced_units,
]

test('a call that states its provider’s usage object costs its units', async () => {
  const records = await attributedAll(ask, [
    call('openai', 'whisper-1', { provider_usage: SECONDS }),
    call('mistral', 'mistral-ocr-2512', { provider_usage: PAGES }),
    call('cohere', 'rerank-v3.5', { provider_usage: { billed_units: { search_units: 2 } } }),
    call('openai', 'tts-1', { provider_usage: { input_characters: 1_200 } }),
    call('openai', 'dall-e-3', { billed_units: { images: '2' } }),
  ])
  expect(records.map(shown)).toEqual([
    ['price_book', '0.009', '90 seconds × 0.0001'],
    ['price_book', '0.006', '3 pages × 0.002'],
    ['tenant_price', '0.004', '2 search_units × 0.002'],
    ['tenant_price', '0.018', '1200 characters × 0.000015'],
    ['tenant_price', '0.08', '2 images × 0.04'],
  ])
  expect(records.flatMap(faultsOf)).toEqual([])
})

test('what has no price is named, and everything else counts', async () => {
  const [alone, beside] = await attributedAll(ask, [
    call('openai', 'of-no-price-book', { billed_units: { pages: '3' } }),
    call('openai', 'gpt-4o', { input_tokens: 1_000, output_tokens: 100, billed_units: { container_minutes: '5' } }),
  ])
  expect(shown(alone)).toEqual(['unpriced', '0', 'pages'])
  expect(shown(beside)).toEqual(['unpriced', '0.0035', 'container_minutes'])
  for (const { explanation, interpretation } of [alone, beside]) {
    expect(explanation.cost.details.reason).toBe('no_unit_price')
    expect(interpretation.export_eligibility).toBe('unpriced')
  }
  expect(beside.explanation.cost.assumptions).toContain(
    'No price per minute of a container is known. The cost leaves this unit out.',
  )
  expect(beside.explanation.summary).toContain('a part of its cost is unknown')
  expect([alone, beside].flatMap(faultsOf)).toEqual([])
})

describe('LiteLLM', () => {
  const UNCOUNTED = {
    prompt_tokens: 0,
    completion_tokens: 0,
    total_tokens: 0,
    response_cost: null,
    cost_breakdown: null,
  }
  const payload = (id: string, model: string, provider: string, usage: object, response: object = {}) =>
    litellmPayload(
      {
        ...UNCOUNTED,
        ...{ id, litellm_call_id: id, model, custom_llm_provider: provider, response, call_type: 'acall' },
        ...{ model_group: model, model_map_information: null, api_base: '', hidden_params: {}, trace_id: null },
        ...{ startTime: Date.parse(`${DAY}T11:00:00Z`) / 1_000, endTime: Date.parse(`${DAY}T11:00:02Z`) / 1_000 },
      },
      { usage_object: usage },
    )

  test('states the same units of its calls, in usage objects and in answers', async () => {
    const run = randomUUID()
    const body = [
      payload(`${run}-1`, 'whisper-1', 'openai', { ...SECONDS, seconds: 90.0000001 }),
      payload(`${run}-2`, 'mistral-ocr-2512', 'mistral', {}, { usage_info: PAGES }),
      payload(`${run}-3`, 'rerank-v3.5', 'cohere', {}, { meta: { billed_units: { search_units: 2 } } }),
      payload(`${run}-4`, 'tts-1', 'openai', { input_characters: 1_200 }),
      payload(`${run}-5`, 'dall-e-3', 'openai', { output_image_count: 2 }),
    ]
    const headers = { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' }
    const url = `${intakeOfProduct()}/intake/litellm`
    const answer = await fetch(url, { method: 'POST', body: JSON.stringify(body), headers })
    expect(await answer.json()).toMatchObject({ accepted: 5 })

    let records: ShownRecord[] = []
    while (records.length < 5) {
      await sleep(50)
      const { json } = await ask('GET', `/v1/attribution?limit=100&filter[event_time][gte]=${DAY}T11:00:00Z`)
      records = json.data.filter(({ event_time }: ShownRecord) => event_time.startsWith(`${DAY}T11:00`))
    }
    const costs = records.map(
      ({ requested_model, cost_basis, cost_usd }) => `${requested_model} ${cost_basis} ${cost_usd}`,
    )
    expect(costs.sort()).toEqual([
      'dall-e-3 tenant_price 0.08',
      'mistral-ocr-2512 price_book 0.006',
      'rerank-v3.5 tenant_price 0.004',
      'tts-1 tenant_price 0.018',
      'whisper-1 price_book 0.009',
    ])
  })
})

test('a file by meter has a row of seconds and of pages, at the price of one', async () => {
  const ordered = await ask('POST', '/v1/exports/focus', {
    ...{ format: 'focus', period: { from: DAY, to: DAY }, group_by: ['owner', 'served_model', 'meter'] },
  })
  let job = ordered.json
  while (job.result_url === undefined || job.result_url === null) {
    await sleep(50)
    job = (await ask('GET', ordered.json.status_url)).json
    expect(job.status).not.toBe('failed')
  }
  const { header, rows } = parseCsv(String(gunzipSync(Buffer.from(await (await fetch(job.result_url)).arrayBuffer()))))
  expect(focusFaults(header, rows, '1.4')).toEqual([])
  // Those of a service: LiteLLM's calls state none.
  const columns = ['SkuId', 'ConsumedQuantity', 'ConsumedUnit', 'ListUnitPrice', 'PricingUnit', 'BilledCost']
  const listed = rows.map((row) => columns.map((name) => row[name]).join(' '))
  expect(listed).toContain('openai/whisper-1/seconds 90 Seconds 0.0001 Seconds 0.009')
  expect(listed).toContain('mistral/mistral-ocr-2512/pages 3 Pages 0.002 Pages 0.006')
  expect(sumOf(rows, 'BilledCost')).toBeGreaterThanOrEqual(exact('0.117'))
})
