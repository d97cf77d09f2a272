import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { apimPayload, cloudEventPayload, envoyPayload } from '../internal/ingest/adapters/gateway-payloads.js'
import { askAs } from '../support/ask.js'
import { logsJson } from '../support/otlp.js'
import { intakeOfProduct, newTenantOfProduct } from '../support/product.js'

type Payload = Record<string, unknown>

/** A tenant, the key of its gateway, and its records once there are as many as are wanted. */
async function newTenant() {
  const { baseUrl, credentials } = await newTenantOfProduct()
  const ask = askAs(baseUrl, { 'x-api-key': credentials.api_key })
  const made = await ask('POST', '/api/v1/api-keys', { name: 'Edge', scopes: ['read:attribution'], is_gateway: true })
  const send = async (path: string, body: unknown): Promise<Payload> => {
    const headers = { 'x-api-key': made.json.secret, 'content-type': 'application/json' }
    for (;;) {
      const answer = await fetch(`${intakeOfProduct()}${path}`, { method: 'POST', body: JSON.stringify(body), headers })
      if (answer.status === 401) await sleep(20)
      else return (await answer.json()) as Payload
    }
  }
  const records = async (count: number): Promise<readonly Payload[]> => {
    for (;;) {
      const { json } = await ask('GET', '/v1/attribution?limit=50')
      if (json.data.length >= count) return json.data
      await sleep(100)
    }
  }
  return { send, records }
}

const minutesAgo = (minutes: number): string => new Date(Date.now() - minutes * 60_000).toISOString()
const sorted = (records: readonly Payload[], field: string): unknown[] => records.map((one) => one[field]).sort()

const SONNET = {
  'gen_ai.request.model': 'claude-sonnet-4-5',
  'gen_ai.response.model': 'claude-sonnet-4-5',
  'gen_ai.provider.name': 'prod/anthropic-eu/route/chat/rule/0/ref/0',
  'gen_ai.usage.input_tokens': 2000,
  'gen_ai.usage.cache_creation_input_tokens': 500,
  'gen_ai.usage.output_tokens': 100,
  'gen_ai.usage.total_tokens': '-',
}

test('lines of Envoy in the text of a collector are the calls that they say, sent twice or over OTLP as well', async () => {
  const { send, records } = await newTenant()
  const calls = [5, 4, 3, 2, 1].map((minutes) =>
    envoyPayload({ ...SONNET, 'x-request-id': 'one-job', start_time: minutesAgo(minutes), 'service.name': 'search' }),
  )
  const shipped = calls.map((line) => ({ file: '/var/log/envoy.log', message: JSON.stringify(line) }))

  expect(await send('/intake/envoy', shipped)).toMatchObject({ accepted: 5, duplicates: 0, rejected: 0 })
  expect(await send('/intake/envoy', [...calls].reverse())).toMatchObject({ accepted: 0, duplicates: 5 })
  const attributes = calls.map((line) =>
    Object.fromEntries(Object.entries(line).map(([name, value]) => [name, String(value)])),
  )
  const log = logsJson(
    attributes.map((each) => ({ attributes: each })),
    { scope: '' },
  )
  expect(await send('/v1/logs', log)).not.toHaveProperty('partialSuccess.rejectedLogRecords')

  const found = await records(5)
  expect(found).toHaveLength(5)
  // 1,500 x 3 + 500 x 3.75 + 100 x 15, per million
  expect(new Set(sorted(found, 'cost_usd'))).toEqual(new Set(['0.007875']))
  expect(new Set(sorted(found, 'service'))).toEqual(new Set(['search']))
})

test('what a stream did not say is unknown and unpriced, and what a client left is partial', async () => {
  const { send, records } = await newTenant()
  const none = {
    'gen_ai.usage.input_tokens': 0,
    'gen_ai.usage.output_tokens': 0,
    'gen_ai.usage.cache_creation_input_tokens': '-',
  }
  const times = [1, 2, 3].map((minutes) => ({ start_time: minutesAgo(minutes), 'x-request-id': '-' }))
  const lines = [{ ...none }, { response_flags: 'DC', response_code: 200 }, { ...none, response_code: 499 }]

  const answer = await send(
    '/intake/envoy',
    lines.map((line, place) => envoyPayload({ ...SONNET, ...line, ...times[place] })),
  )
  expect(answer).toMatchObject({ accepted: 3, rejected: 0 })

  const found = await records(3)
  const ends = found.map((one) => [one['outcome'], one['usage_basis'], one['cost_basis'], one['cost_usd']].join(' '))
  expect(ends.sort()).toEqual([
    'cancelled partial price_book 0.007875',
    expect.stringMatching(/^cancelled unknown unpriced/),
    expect.stringMatching(/^success unknown unpriced/),
  ])
})

test('estimates of API Management are no chargeback, and a provider counts in CloudEvents as at the API', async () => {
  const { send, records } = await newTenant()
  const row = { TimeGenerated: minutesAgo(2), ModelName: 'gpt-5.5', PromptTokens: 700, CompletionTokens: 300 }
  await send('/intake/apim', apimPayload({ ...row, TotalTokens: 1000, IsStreamCompletion: true }))
  const usage = { input_tokens: 1500, cache_creation_input_tokens: 500, output_tokens: 100 }
  const data = { provider: 'anthropic', requested_model: 'claude-sonnet-4-5', provider_usage: usage }
  const counts = { input_tokens: undefined, output_tokens: undefined, estimated_cost_usd: undefined }
  const event = cloudEventPayload({ id: 'None', time: minutesAgo(1) }, { ...data, ...counts })
  const sure = { ...data, ...counts, attributed_service: 'search' }
  const estimated = cloudEventPayload({ id: '-', time: minutesAgo(3) }, { ...sure, usage_basis: 'estimated' })
  const reported = cloudEventPayload({ id: null, time: minutesAgo(4) }, sure)
  expect(await send('/intake/cloudevents', [event, estimated, reported])).toMatchObject({ accepted: 3 })

  const found = await records(4)
  const eligibility = Object.fromEntries(
    found
      .filter((one) => one['provider'] === 'anthropic')
      .map((one) => [one['usage_basis'], (one['interpretation'] as Payload)['export_eligibility']]),
  )
  expect(eligibility).toEqual({ estimated: 'advisory', reported: 'eligible' })
  expect(found.find((one) => one['provider'] === 'azure.ai.openai')).toMatchObject({
    usage_basis: 'estimated',
  })
  expect(found.find((one) => one['provider'] === 'anthropic')).toMatchObject({
    input_tokens: 2000,
    output_tokens: 100,
    cost_usd: '0.007875',
  })
})
