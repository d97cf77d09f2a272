import { setTimeout as sleep } from 'node:timers/promises'
import { beforeAll, expect, test } from 'vitest'
import { type Ask, askAs } from '../support/ask.js'
import type { ShownRecord } from '../support/attributed.js'
import { tracesJson } from '../support/otlp.js'
import { intakeOfProduct, newTenantOfProduct } from '../support/product.js'
import type { Instance } from '../support/service.js'

/**
 * Calls whose price depends on more than the model's plain name: a gateway's spelling, a profile that the answer does not
 * repeat, the region, the speed. What each cost is worked out by hand; its number of output tokens tells the records
 * apart.
 */

let service: Instance
let ask: Ask
/** Records with their explanation, by output tokens. */
const records = new Map<number, ShownRecord>()

const NOW_MS = Date.now() - 60_000
const INPUT = 10_000

const span = (output: number, attributes: Record<string, string>) =>
  [
    'v1/traces',
    tracesJson([
      {
        traceId: output.toString(16).padStart(32, '0'),
        startMs: NOW_MS,
        attributes: {
          'gen_ai.operation.name': 'chat',
          'gen_ai.usage.input_tokens': INPUT,
          'gen_ai.usage.output_tokens': output,
          ...attributes,
        },
      },
    ]),
  ] as const

const callback = (output: number, provider: string, model: string, fields: object = {}, usage: object = {}) =>
  [
    'intake/litellm',
    {
      ...{ litellm_call_id: `call-${output}`, call_type: 'acompletion', status: 'success', startTime: NOW_MS / 1_000 },
      ...{ custom_llm_provider: provider, model, prompt_tokens: INPUT, completion_tokens: output, ...fields },
      metadata: { usage_object: { prompt_tokens: INPUT, completion_tokens: output, ...usage } },
    },
  ] as const

const kong = (output: number, provider_name: string, request_model: string, response_model: string) =>
  [
    'intake/kong',
    {
      ai: {
        'ai-proxy': {
          usage: { prompt_tokens: INPUT, completion_tokens: output },
          meta: { request_model, response_model, provider_name },
        },
      },
      request: { id: `call-${output}` },
      started_at: NOW_MS,
    },
  ] as const

const bedrockLog = (output: number, modelId: string, region: string) =>
  [
    'intake/bedrock-log',
    {
      ...{ timestamp: new Date(NOW_MS).toISOString(), requestId: `call-${output}`, modelId, region },
      input: { inputTokenCount: INPUT },
      output: { outputTokenCount: output },
    },
  ] as const

const native = (output: number, event: Record<string, string>) =>
  [
    'intake/cloudevents',
    {
      ...{ id: `call-${output}`, source: 'test', time: new Date(NOW_MS).toISOString() },
      data: { input_tokens: INPUT, output_tokens: output, ...event },
    },
  ] as const

/** What was sent, its cost, and what of the price's evidence must be on the card. */
const CALLS: readonly (readonly [name: string, sent: readonly [string, unknown], cost: string, card?: object])[] = [
  [
    'a gateway, its vendor before the model, a dotted version: 1 and 5',
    span(101, { 'gen_ai.provider.name': 'vercel', 'gen_ai.request.model': 'anthropic/claude-haiku-4.5' }),
    '0.010505',
  ],
  [
    'a gateway and a model that only Anthropic has: 3 and 15',
    native(102, { provider: 'gateway', requested_model: 'claude-sonnet-4.6' }),
    '0.03153',
    { match: ['provider_from_model', 'vendor_form'], confidence: 0.8 },
  ],
  [
    'fast in the United States: 5 and 25, twice, and a tenth',
    span(103, {
      ...{ 'gen_ai.provider.name': 'anthropic', 'gen_ai.request.model': 'claude-opus-4-8' },
      ...{ 'anthropic.response.speed': 'fast', 'anthropic.response.inference_geo': 'us' },
    }),
    '0.115665',
    {
      multipliers: [
        { name: 'residency_us', factor: '1.1' },
        { name: 'speed_fast', factor: '2' },
      ],
    },
  ],
  [
    'fast where the mode was withdrawn: 5 and 25',
    callback(104, 'anthropic', 'claude-opus-4-6', {}, { speed: 'fast' }),
    '0.0526',
    { multipliers: [{ name: 'speed_fast', factor: '1' }] },
  ],
  [
    'fast where no rate is listed: 3 and 15',
    native(105, { provider: 'anthropic', requested_model: 'claude-sonnet-4-6', speed: 'fast' }),
    '0.031575',
    { flags: ['fast_rate_unlisted'] },
  ],
  [
    'a global profile that the answer does not repeat: 3 and 15',
    span(106, {
      ...{ 'gen_ai.provider.name': 'aws.bedrock', 'gen_ai.request.model': 'global.anthropic.claude-sonnet-4-6' },
      ...{ 'gen_ai.response.model': 'claude-sonnet-4-6', 'server.address': 'bedrock-runtime.eu-west-1.amazonaws.com' },
    }),
    '0.03159',
    { model_from: 'requested', flags: ['profile_of_request'] },
  ],
  [
    'the same through Kong, with a date: 1 and 5',
    kong(107, 'bedrock', 'global.anthropic.claude-haiku-4-5-20251001-v1:0', 'claude-haiku-4-5-20251001'),
    '0.010535',
    { model_from: 'requested', flags: ['profile_of_request'] },
  ],
  ['in its region: 5.5 and 27.5', bedrockLog(108, 'anthropic.claude-opus-5', 'us-west-2'), '0.05797'],
  [
    'a geographic profile: 2.2 and 11',
    bedrockLog(
      109,
      'arn:aws:bedrock:ap-northeast-1:111122223333:inference-profile/jp.anthropic.claude-sonnet-5',
      'ap-northeast-1',
    ),
    '0.023199',
  ],
  [
    'a regional endpoint of Vertex AI: 1 and 5, and a tenth',
    span(110, {
      ...{ 'gen_ai.provider.name': 'gcp.vertex_ai', 'gen_ai.request.model': 'claude-haiku-4-5@20251001' },
      'server.address': 'europe-west1-aiplatform.googleapis.com',
    }),
    '0.011605',
    { multipliers: [{ name: 'residency_regional', factor: '1.1' }] },
  ],
  [
    'a location that LiteLLM states: 5 and 25, and a tenth',
    callback(111, 'vertex_ai', 'claude-opus-5', { cost_breakdown: { vertex_location: 'us-east5' } }),
    '0.0580525',
  ],
  [
    'a regional host of OpenAI: 2.5 and 15, and a tenth',
    span(112, {
      ...{ 'gen_ai.provider.name': 'openai', 'gen_ai.request.model': 'gpt-5.4', 'server.address': 'jp.api.openai.com' },
    }),
    '0.029348',
  ],
  [
    'a free variant of OpenRouter: nothing, and that is known',
    callback(113, 'openrouter', 'z-ai/glm-5:free', { response_cost: 0 }),
    '0',
  ],
  [
    'a served name that no table knows: 2.5 and 15',
    native(114, { provider: 'openai', requested_model: 'gpt-5.4', served_model: 'gpt-5.4-internal-3' }),
    '0.02671',
    { model_from: 'requested', flags: ['served_model_unlisted'] },
  ],
]

beforeAll(async () => {
  service = await newTenantOfProduct()
  ask = askAs(service.baseUrl, { 'x-api-key': service.credentials.api_key })
  const headers = { authorization: `Bearer ${service.credentials.api_key}`, 'content-type': 'application/json' }
  for (const [name, [path, body]] of CALLS) {
    const answer = await fetch(`${intakeOfProduct()}/${path}`, { method: 'POST', body: JSON.stringify(body), headers })
    expect([name, answer.status]).toEqual([name, 200])
  }
  while (records.size < CALLS.length) {
    await sleep(100)
    const { json } = await ask('GET', '/v1/attribution?limit=50')
    for (const { id, output_tokens: output } of json.data) {
      const shown = await ask('GET', `/v1/attribution/${id}`)
      if (shown.status === 200) records.set(output, shown.json)
    }
  }
})

test.each(CALLS.map((each, place) => [each[0], each, 101 + place] as const))('%s', (_, [, , cost, card], output) => {
  const record = records.get(output)
  const { cost: explained } = record.explanation

  expect(record).toMatchObject({ cost_usd: cost, cost_basis: 'price_book' })
  expect(explained.details.price).toMatchObject(card ?? {})
  const flags = explained.details.price.flags ?? []
  expect(explained.assumptions).toHaveLength(flags.length)
})
