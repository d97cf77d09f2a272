import { describe, expect, test } from 'vitest'
import { apim } from '../../../../internal/ingest/adapters/apim.js'
import { bedrockLog } from '../../../../internal/ingest/adapters/bedrock-log.js'
import { cloudevents } from '../../../../internal/ingest/adapters/cloudevents.js'
import { envoy } from '../../../../internal/ingest/adapters/envoy.js'
import { kong } from '../../../../internal/ingest/adapters/kong.js'
import { litellm } from '../../../../internal/ingest/adapters/litellm.js'
import { portkey } from '../../../../internal/ingest/adapters/portkey.js'
import { eventIdOf } from '../../../../internal/ingest/intake/event-id.js'
import type { JsonSource } from '../../../../internal/ingest/intake/json-source.js'
import { validateInvocation } from '../../../../internal/invocations/validate-invocation.js'
import {
  apimPayload,
  bedrockPayload,
  cloudEventPayload,
  envoyPayload,
  kongPayload,
  portkeyPayload,
} from './gateway-payloads.js'
import { CANARY, litellmPayload } from './litellm-payload.js'
import { eventOf, mapped, type Payload, sentOf } from './mapped-payload.js'

test.each([
  ['Kong', kong, kongPayload({ request: { id: '9', headers: { 'user-agent': 'curl/8' } } })],
  ['Envoy', envoy, envoyPayload({ 'user-agent': 'curl/8' })],
])('the user agent that %s logs is a tag of the caller', (_, source, payload) => {
  expect(eventOf(source, payload)).toMatchObject({ tags: { 'caller.user-agent': 'curl/8' } })
})

describe('Kong', () => {
  test('a request of an AI plugin becomes an event', () => {
    expect(eventOf(kong, kongPayload())).toEqual({
      event_id: eventIdOf('tnt_one', 'kong', '9ec9264afbbbad5fe5c64877d92eeb04'),
      ingestion_layer: 'gateway',
      ingestion_timestamp: '2026-11-21T09:50:00.250Z',
      provider: 'openai',
      requested_model: 'gpt-4o-mini',
      served_model: 'gpt-4o-mini-2024-07-18',
      input_tokens: 120,
      output_tokens: 40,
      cached_input_tokens: 20,
      reasoning_tokens: 8,
      request_id: '9ec9264afbbbad5fe5c64877d92eeb04',
      estimated_cost_usd: '0.000042',
      latency_ms: 1040,
      outcome: 'success',
      attributed_identity: 'search-app',
      tags: { gateway_service: 'llm', gateway_route: 'chat', workspace: 'default' },
    })
  })

  test('each plugin that called a model is an event of its own, and the main one keeps its id', () => {
    const transformer = {
      usage: { prompt_tokens: 89, completion_tokens: 56, cost: 0.0012 },
      meta: { provider_name: 'cohere', request_model: 'command' },
    }
    const { ai, ...rest } = kongPayload()
    const result = mapped(kong, { ...rest, ai: { ...(ai as object), 'ai-request-transformer': transformer } })

    const events = result.kind === 'events' ? result.events : []
    expect(events).toHaveLength(2)
    const [main, other] = [...events].sort((one) => (one.requested_model === 'command' ? 1 : -1))
    expect(main).toMatchObject({
      event_id: eventIdOf('tnt_one', 'kong', '9ec9264afbbbad5fe5c64877d92eeb04'),
      input_tokens: 120,
    })
    expect(other).toMatchObject({ provider: 'cohere', input_tokens: 89, estimated_cost_usd: '0.0012' })
    expect(other?.event_id).not.toBe(main?.event_id)
    expect(other?.operation_id).toBe(main?.operation_id)
  })

  test.each([
    [200, 'success'],
    [429, 'error'],
    [499, 'cancelled'],
  ])('a request that was answered with %i is a call that ended in %s', (status, outcome) => {
    expect(eventOf(kong, { ...kongPayload(), response: { status } })).toMatchObject({ outcome })
  })

  test('older versions and other plugins are read', () => {
    const { ai, ...rest } = kongPayload({}, { usage: { prompt_token: 7, completion_token: 3 } })
    const older = { ...rest, ai: { 'ai-proxy': (ai as { proxy: unknown }).proxy } }
    expect(eventOf(kong, older)).toMatchObject({ input_tokens: 7, output_tokens: 3 })
  })

  test('a hit of the semantic cache bought nothing', () => {
    const event = eventOf(kong, kongPayload({}, { cache: { cache_status: 'Hit' } }))
    expect(event).toMatchObject({ served_from_cache: true })
    expect(event).not.toHaveProperty('estimated_cost_usd')
  })

  test('other requests are no calls', () => {
    expect(mapped(kong, kongPayload({ ai: undefined }))).toEqual({ kind: 'skipped', reason: 'no_model_call' })
  })
})

describe('Portkey', () => {
  test('a payload of its log hook becomes an event, and who called is what callers wrote', () => {
    expect(eventOf(portkey, portkeyPayload())).toEqual({
      event_id: eventIdOf('tnt_one', 'portkey', 'msg_1'),
      ingestion_layer: 'gateway',
      ingestion_timestamp: '2026-11-21T09:50:00.000Z',
      provider: 'anthropic',
      requested_model: 'claude-sonnet-4-5',
      served_model: 'claude-sonnet-4-5-20250929',
      // Portkey states input without the cache, and a total with it.
      input_tokens: 2_852,
      cached_input_tokens: 2_000,
      cache_write_tokens: 300,
      output_tokens: 152,
      response_id: 'msg_1',
      outcome: 'success',
      attributed_service: 'search',
      attributed_identity: 'ada@example.com',
      attribution_confidence: 0.7,
      tags: { 'caller.user-agent': 'curl/8', 'caller.service': 'search', 'caller.feature': 'chat' },
      assumptions: 'cache_apart_by_convention',
    })
  })

  test("usage of OpenAI, and of a provider's own API, is read as it is", () => {
    const usage = {
      prompt_tokens: 1_044,
      completion_tokens: 144,
      total_tokens: 1_188,
      prompt_tokens_details: { cached_tokens: 256, audio_tokens: 0 },
    }
    const ofOpenAi = portkeyPayload(
      { provider: 'openai' },
      { model: 'gpt-4o-2024-08-06', usage, service_tier: 'default' },
      { json: { model: 'gpt-4o' } },
    )
    expect(eventOf(portkey, ofOpenAi)).toMatchObject({
      provider: 'openai',
      input_tokens: 1_044,
      cached_input_tokens: 256,
      output_tokens: 144,
      service_tier: 'default',
    })
    const own = { input_tokens: 552, output_tokens: 152, cache_read_input_tokens: 2_000 }
    expect(eventOf(portkey, portkeyPayload({ requestType: 'messages' }, { usage: own }))).toMatchObject({
      input_tokens: 2_552,
      cached_input_tokens: 2_000,
    })
  })

  test('a streamed answer comes without usage: the call is there, and unpriced', () => {
    const stream = portkeyPayload(
      { response: { json: null, text: '', statusCode: 200 } },
      {},
      { json: { model: 'gpt-4o' }, isStreamingRequest: true },
    )
    const event = eventOf(portkey, { ...stream, provider: 'openai' })

    expect(event).toMatchObject({ provider: 'openai', requested_model: 'gpt-4o', outcome: 'success' })
    expect(event).not.toHaveProperty('input_tokens')
    expect(event).not.toHaveProperty('response_id')
  })

  test('a failure without usage is no call, nor is what names no model', () => {
    expect(
      mapped(portkey, portkeyPayload({ response: { json: { error: { message: CANARY } }, statusCode: 429 } })),
    ).toEqual({ kind: 'skipped', reason: 'failed_without_usage' })
    expect(mapped(portkey, { provider: 'openai' })).toEqual({ kind: 'skipped', reason: 'no_model_call' })
  })
})

test.each([
  ['Envoy', envoy, (model: string) => envoyPayload({ 'gen_ai.request.model': model, 'gen_ai.response.model': model })],
  ['Kong', kong, (model: string) => kongPayload({}, { meta: { request_model: model, response_model: model } })],
  ['API Management', apim, (model: string) => apimPayload({ DeploymentName: model, ModelName: model })],
])('a model that a caller of %s names as it likes costs no record', (_, source, payloadOf) => {
  const named = (model: string) => eventOf(source, payloadOf(model))
  expect(named('claude-opus-5[1m]')).toMatchObject({ requested_model: 'claude-opus-5', served_model: 'claude-opus-5' })
  expect(named('gpt-4o","gen_ai.usage.output_tokens":0')['requested_model']).toMatch(/^gpt-4o__/)
})

test.each([
  ['Envoy', envoy, envoyPayload({ 'gen_ai.request.model': 'claude-sonnet-4-5', 'gen_ai.response.model': '-' })],
  ['Kong', kong, kongPayload({}, { meta: { request_model: 'claude-sonnet-4-5', provider_name: 'openai' } })],
])("a model of another behind OpenAI's API is the other's at %s, and the record says so", (_, source, payload) => {
  expect(eventOf(source, payload)).toMatchObject({ provider: 'anthropic', assumptions: 'provider_from_model' })
})

describe('Bedrock', () => {
  test.each([
    [
      'application-inference-profile/a1b2c3d4e5f6',
      'arn:aws:bedrock:us-east-1:1:application-inference-profile/a1b2c3d4e5f6',
    ],
    ['provisioned-model/q9', 'arn:aws:bedrock:us-east-1:1:provisioned-model/q9'],
    ['inference-profile/us.anthropic.claude-haiku-4-5-20251001-v1:0', 'us.anthropic.claude-haiku-4-5-20251001-v1:0'],
    ['foundation-model/amazon.nova-lite-v1:0', 'amazon.nova-lite-v1:0'],
  ])('the ARN %s names the model %s', (rest, model) => {
    const modelId = `arn:aws:bedrock:us-east-1:1:${rest}`
    expect(eventOf(bedrockLog, bedrockPayload({ modelId }))).toMatchObject({ requested_model: model })
  })

  test('an invocation becomes an event, its input with what the cache held', () => {
    expect(eventOf(bedrockLog, bedrockPayload())).toEqual({
      event_id: eventIdOf('tnt_one', 'bedrock-log', '915a6a04-3f83-4c70-a277-7fbf7ea546b3'),
      ingestion_layer: 'connector',
      ingestion_timestamp: '2026-11-21T09:50:00.000Z',
      provider: 'aws.bedrock',
      requested_model: 'eu.anthropic.claude-3-haiku-20240307-v1:0',
      input_tokens: 1000,
      output_tokens: 40,
      cached_input_tokens: 900,
      cache_write_tokens: 65,
      response_id: '915a6a04-3f83-4c70-a277-7fbf7ea546b3',
      outcome: 'success',
      region: 'eu-central-1',
      attributed_identity: 'arn:aws:sts::123456789012:assumed-role/search-service',
      tags: { aws_account: '123456789012', 'caller.feature': 'chat' },
    })
  })

  test('the input of a model of OpenAI includes them', () => {
    const event = eventOf(
      bedrockLog,
      bedrockPayload({ modelId: 'openai.gpt-oss-120b-1:0' }, { inputTokenCount: 1000, cacheWriteInputTokenCount: 0 }),
    )
    expect(event).toMatchObject({ input_tokens: 1000, cached_input_tokens: 900 })
  })

  test.each([
    ['arn:aws:iam::1:user/ana', 'arn:aws:iam::1:user/ana'],
    ['arn:aws:sts::1:assumed-role/AWSReservedSSO_Dev_1a/ana@example.com', 'ana@example.com'],
  ])('the identity of %s is %s', (arn, identity) => {
    expect(eventOf(bedrockLog, bedrockPayload({ identity: { arn } }))['attributed_identity']).toBe(identity)
  })

  test('those who may assume a role choose the name of its session: a claim, unless the tenant trusts it', () => {
    const arn = 'arn:aws:sts::1:assumed-role/Analysts/cfo@example.com'
    const payload = bedrockPayload({ identity: { arn } })

    expect(eventOf(bedrockLog, payload)).toMatchObject({ attribution_confidence: 0.7 })
    expect(eventOf(bedrockLog, payload, true, ['identity'])).not.toHaveProperty('attribution_confidence')
    expect(eventOf(bedrockLog, payload, false, ['identity'])).toMatchObject({ attribution_confidence: 0.7 })
    expect(eventOf(bedrockLog, bedrockPayload())).not.toHaveProperty('attribution_confidence')
  })

  test('a failure without usage is no call', () => {
    const failed = bedrockPayload(
      { errorCode: 'ThrottlingException', output: {} },
      {
        inputTokenCount: 0,
        cacheReadInputTokenCount: 0,
        cacheWriteInputTokenCount: 0,
      },
    )
    expect(mapped(bedrockLog, failed)).toEqual({ kind: 'skipped', reason: 'failed_without_usage' })
  })
})

describe('Azure API Management', () => {
  test('the row with tokens becomes an event', () => {
    expect(eventOf(apim, apimPayload())).toEqual({
      event_id: eventIdOf('tnt_one', 'apim', '5f7c4a1e-2a1b-4f0c-8f5d-1d2e3f4a5b6c'),
      ingestion_layer: 'gateway',
      ingestion_timestamp: '2026-11-21T09:50:00.250Z',
      provider: 'azure.ai.openai',
      requested_model: 'fast',
      served_model: 'gpt-4o-mini',
      input_tokens: 120,
      output_tokens: 40,
      attributed_identity: 'search-app',
      tags: { gateway_api: 'openai' },
    })
  })

  test('the counts of a streamed request are estimates, for which API Management says so', () => {
    const streamed = apimPayload({ IsStreamCompletion: 'True' })
    expect(eventOf(apim, streamed)).toMatchObject({ input_tokens: 120, usage_basis: 'estimated' })
  })

  test('counts of 0 are unknown, and of a total alone the parts are', () => {
    const none = eventOf(apim, apimPayload({ PromptTokens: 0, CompletionTokens: 0, TotalTokens: 0 }))
    expect(none).not.toHaveProperty('input_tokens')
    const total = eventOf(apim, apimPayload({ PromptTokens: null, CompletionTokens: null, TotalTokens: 160 }))
    expect(total).not.toMatchObject({ input_tokens: 0 })
  })

  test.each([
    [{ ResponseCode: 200 }, 'success'],
    [{ ResponseCode: '0' }, 'cancelled'],
    [{ ResponseCode: 200, LastErrorReason: 'ClientConnectionFailure' }, 'cancelled'],
    [{ ResponseCode: 503 }, 'error'],
  ])('a request that was answered with %j ended in %s', (fields, outcome) => {
    expect(eventOf(apim, apimPayload(fields))).toMatchObject({ outcome })
  })

  test.each([1, '2', undefined])('the row %j does not', (SequenceNumber) => {
    expect(mapped(apim, apimPayload({ SequenceNumber }))).toEqual({ kind: 'skipped', reason: 'message_row' })
  })
})

describe('CloudEvents', () => {
  test('an event whose data is a call becomes one', () => {
    expect(eventOf(cloudevents, cloudEventPayload())).toEqual({
      event_id: eventIdOf('tnt_one', 'cloudevents', '/gateways/eu-1\nA234-1234-1234'),
      ingestion_layer: 'application',
      ingestion_timestamp: '2026-11-21T09:50:00.250Z',
      provider: 'openai',
      requested_model: 'gpt-4o-mini',
      input_tokens: 120,
      output_tokens: 40,
      estimated_cost_usd: '0.00004',
      attributed_service: 'search',
      tags: { environment: 'prod' },
    })
  })

  test('its data counts before its envelope, but not as its id', () => {
    const data = {
      event_id: '0f8fad5b-d9cb-469f-a165-70867728950e',
      ingestion_layer: 'proxy',
      attributed_service: 'own',
    }
    expect(eventOf(cloudevents, cloudEventPayload({}, data))).toMatchObject({
      event_id: eventIdOf('tnt_one', 'cloudevents', '/gateways/eu-1\nA234-1234-1234'),
      ingestion_layer: 'proxy',
      attributed_service: 'own',
    })
  })

  test('billed units and the usage object of a provider are read as those of the API', () => {
    const usage = {
      input_tokens: 400,
      cache_read_input_tokens: 1_600,
      cache_creation: { ephemeral_1h_input_tokens: 24 },
      output_tokens: 60,
      note: CANARY,
    }
    const data = { input_tokens: undefined, output_tokens: undefined, provider_usage: usage }
    const event = sentOf(cloudevents, cloudEventPayload({}, { ...data, provider: 'anthropic' }))
    expect(validateInvocation(event, Date.UTC(2026, 10, 21, 10))).toMatchObject({
      ok: true,
      event: { input_tokens: 2_024, cached_input_tokens: 1_600, cache_write_1h_tokens: 24, output_tokens: 60 },
    })

    const units = { seconds: '12.5', requests: '1' }
    expect(eventOf(cloudevents, cloudEventPayload({}, { billed_units: units }))).toMatchObject({ billed_units: units })
    const wrong = sentOf(cloudevents, cloudEventPayload({}, { billed_units: { seconds: 12.5 } }))
    expect(validateInvocation(wrong, Date.UTC(2026, 10, 21, 10))).toMatchObject({
      ok: false,
      errors: expect.arrayContaining([{ pointer: '/billed_units/seconds', detail: 'must be a string' }]),
    })
    expect(eventOf(cloudevents, cloudEventPayload({}, { billed_units: null }))).not.toHaveProperty('billed_units')
    for (const field of ['billed_units', 'provider_usage']) {
      for (const value of ['text', [1], 7]) {
        const sent = sentOf(cloudevents, cloudEventPayload({}, { [field]: value }))
        expect(validateInvocation(sent, Date.UTC(2026, 10, 21, 10))).toMatchObject({
          ok: false,
          errors: expect.arrayContaining([expect.objectContaining({ pointer: `/${field}` })]),
        })
      }
    }
  })

  test('other events are no calls', () => {
    expect(mapped(cloudevents, cloudEventPayload({ data: { temperature: 3 } }))).toMatchObject({ kind: 'skipped' })
  })
})

const SOURCES: readonly (readonly [JsonSource, Payload, readonly string[]])[] = [
  [litellm, litellmPayload(), ['model']],
  [kong, kongPayload(), ['started_at']],
  [envoy, envoyPayload(), ['start_time']],
  [portkey, portkeyPayload(), []],
  [bedrockLog, bedrockPayload(), ['modelId', 'timestamp']],
  [apim, apimPayload(), ['TimeGenerated']],
  [cloudevents, cloudEventPayload(), []],
]

/** Where LiteLLM also names a model. */
const NO_MODEL = { model_group: null, hidden_params: {}, model_map_information: {} }

describe.each(SOURCES.map((one) => [one[0].name, ...one] as const))('%s', (_, source, payload, required) => {
  test.each([...required])('without its %s is rejected', (name) => {
    const { [name]: _removed, ...rest } = { ...payload, ...(name === 'model' && NO_MODEL) } as Payload
    expect(mapped(source, rest).kind).toBe('rejected')
  })

  test('never throws, whatever any of its members is', () => {
    const odd = [
      null,
      true,
      -1,
      1e300,
      '',
      'x'.repeat(10_000),
      [],
      [1],
      {},
      { a: {} },
      '\u0000',
      '2026-13-45T99:99:99Z',
    ]
    const places = Object.keys(payload).flatMap((name) => {
      const inner = payload[name]
      const below = typeof inner === 'object' && inner !== null ? Object.keys(inner) : []
      return [[name], ...below.map((second) => [name, second])]
    })
    for (const [name = '', second] of places) {
      for (const value of odd) {
        const within = second === undefined ? value : { ...(payload[name] as Payload), [second]: value }
        const result = mapped(source, { ...payload, [name]: within })
        if (result.kind !== 'event') continue
        const event = JSON.parse(JSON.stringify(result.event)) as Payload
        // What an adapter makes is valid, unless the sender speaks our own fields.
        if (source !== cloudevents) {
          expect(validateInvocation(event, Date.UTC(2026, 10, 22)), `${name} ${second} ${value}`).toMatchObject({
            ok: true,
          })
        }
      }
    }
  })

  test('from a credential that is no gateway is believed no more than a claim', () => {
    const event = mapped(source, payload, false)
    if (event.kind !== 'event') throw new Error('no event')
    const { attributed_identity: identity, attribution_confidence: confidence } = event.event
    if (identity !== undefined) expect(confidence).toBe(0.7)
  })
})
