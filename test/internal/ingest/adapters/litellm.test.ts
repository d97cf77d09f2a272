import { describe, expect, test } from 'vitest'
import { litellm } from '../../../../internal/ingest/adapters/litellm.js'
import { eventIdOf } from '../../../../internal/ingest/intake/event-id.js'
import type { Mapped } from '../../../../internal/ingest/intake/json-source.js'
import { JsonSelector } from '../../../../internal/text/select-json.js'
import { CANARY, litellmPayload } from './litellm-payload.js'

const selector = new JsonSelector(litellm.wanted)

function mapped(payload: Record<string, unknown>, isGateway = true): Mapped {
  const selection = selector.select(Buffer.from(JSON.stringify(payload)))
  if (selection === undefined) throw new Error('the payload is not JSON')
  expect(JSON.stringify(selection.value)).not.toContain(CANARY)
  return litellm.map(selection.value, {
    contentType: 'application/json',
    caller: { tenantId: 'tnt_one', isGateway },
    receivedAtMs: Date.UTC(2026, 10, 21),
    header: () => '',
  })
}

const eventOf = (payload: Record<string, unknown>, isGateway = true): Record<string, unknown> => {
  const result = mapped(payload, isGateway)
  if (result.kind !== 'event') throw new Error(`${result.kind} and no event`)
  return JSON.parse(JSON.stringify(result.event)) as Record<string, unknown>
}

test('a payload becomes an event, its content nothing', () => {
  expect(eventOf(litellmPayload())).toEqual({
    event_id: eventIdOf('tnt_one', 'litellm', 'f6ad2c9e-0b3e-4d66-9a54-0a7f7e6d1c22'),
    ingestion_layer: 'gateway',
    ingestion_timestamp: '2026-11-21T09:50:00.250Z',
    provider: 'openai',
    requested_model: 'fast',
    served_model: 'gpt-4o-mini-2024-07-18',
    input_tokens: 100,
    output_tokens: 30,
    cached_input_tokens: 40,
    reasoning_tokens: 12,
    service_tier: 'standard',
    estimated_cost_usd: '0.00003',
    latency_ms: 2250,
    response_id: 'chatcmpl-B1x',
    outcome: 'success',
    attributed_service: 'search-prod',
    attributed_identity: 'ana@example.com',
    trace_id: '3a0c7d0e-5f0e-4b75-a8f4-7c1f3c0e9d11',
    tags: {
      team: 'Search',
      key_alias: 'search-prod',
      'caller.feature': 'autocomplete',
      'caller.user-agent': 'curl/8',
      'caller.tags': 'beta',
      'caller.environment': 'prod',
    },
  })
})

describe('who called', () => {
  test('is a claim unless a gateway sends it', () => {
    expect(eventOf(litellmPayload(), false)).toMatchObject({
      attributed_service: 'search-prod',
      attributed_identity: 'ana@example.com',
      attribution_confidence: 0.7,
    })
  })

  test('is the end user where nothing better is known, and always a claim', () => {
    const anonymous = {
      user_api_key_alias: null,
      user_api_key_user_id: 'default_user_id',
      user_api_key_user_email: null,
    }
    expect(eventOf(litellmPayload({}, anonymous))).toMatchObject({
      attributed_identity: 'end-9',
      attribution_confidence: 0.7,
    })
  })
})

describe('the cost', () => {
  test.each([
    ['without a margin', { response_cost: 0.0123, cost_breakdown: null }, '0.0123'],
    [
      'with all digits of a float',
      { response_cost: '1.2345678901234567e-7', cost_breakdown: {} },
      '0.000000123456789012',
    ],
    ['as a text', { response_cost: '0.5', cost_breakdown: undefined }, '0.5'],
    ['of 0, which is one that LiteLLM does not know', { response_cost: 0 }, undefined],
    ['below its margin', { response_cost: 1e-6 }, undefined],
    ['that nobody can pay', { response_cost: 1e30 }, undefined],
    ['of a replay from the cache', { response_cost: 0.1, cache_hit: true }, undefined],
  ])('%s', (_, fields, cost) => {
    expect(eventOf(litellmPayload(fields))['estimated_cost_usd']).toBe(cost)
  })
})

test('what callers write about people is no tag', () => {
  const metadata = {
    user_id: 'u-7',
    'end-user': 'ana',
    client_ip: '192.0.2.1',
    contact: 'ana@example.com',
    session: 's',
    usercase: 'kept',
    feature: 'kept',
  }
  const { tags } = eventOf(
    litellmPayload({ request_tags: ['user:ana', 'mail ana@example.com'] }, { requester_metadata: metadata }),
  )
  expect(tags).toEqual({
    team: 'Search',
    key_alias: 'search-prod',
    'caller.usercase': 'kept',
    'caller.feature': 'kept',
  })
})

test('an answer from the cache is marked', () => {
  expect(eventOf(litellmPayload({ cache_hit: true }))).toMatchObject({ served_from_cache: true })
  expect(eventOf(litellmPayload({ cache_hit: 'False' }))).not.toHaveProperty('served_from_cache')
})

test('usage that Python printed is read', () => {
  const printed =
    'Usage(completion_tokens=30, prompt_tokens=100, ' +
    'completion_tokens_details=CompletionTokensDetails(audio_tokens=3, reasoning_tokens=7), ' +
    'prompt_tokens_details=PromptTokensDetails(audio_tokens=None, cached_tokens=11), ' +
    'cache_creation_input_tokens=5)'
  expect(eventOf(litellmPayload({}, { usage_object: printed }))).toMatchObject({
    cached_input_tokens: 11,
    cache_write_tokens: 5,
    reasoning_tokens: 7,
    audio_output_tokens: 3,
  })
  expect(eventOf(litellmPayload({}, { usage_object: printed }))).not.toHaveProperty('audio_input_tokens')
})

test('cache writes of both lifetimes, images and web searches are read, as JSON and as Python printed them', () => {
  const usage = {
    cache_creation_input_tokens: 50,
    prompt_tokens_details: {
      image_tokens: 7,
      cache_creation_token_details: { ephemeral_5m_input_tokens: 20, ephemeral_1h_input_tokens: 30 },
    },
    completion_tokens_details: { image_tokens: 3 },
    server_tool_use: { web_search_requests: 2 },
  }
  const printed =
    'Usage(cache_creation_input_tokens=50, completion_tokens_details=CompletionTokensDetails(image_tokens=3), ' +
    'prompt_tokens_details=PromptTokensDetails(image_tokens=7, ' +
    'cache_creation_token_details=CacheCreationTokenDetails(ephemeral_5m_input_tokens=20, ' +
    'ephemeral_1h_input_tokens=30)), server_tool_use=ServerToolUse(web_search_requests=2))'
  const expected = {
    cache_write_tokens: 50,
    cache_write_5m_tokens: 20,
    cache_write_1h_tokens: 30,
    image_input_tokens: 7,
    image_output_tokens: 3,
    web_search_calls: 2,
  }

  expect(eventOf(litellmPayload({}, { usage_object: usage }))).toMatchObject(expected)
  expect(eventOf(litellmPayload({}, { usage_object: printed }))).toMatchObject(expected)
})

test('lifetimes of cache writes that contradict their total are left out', () => {
  const details = { cache_creation_token_details: { ephemeral_1h_input_tokens: 51 } }
  const usage = { cache_creation_input_tokens: 50, prompt_tokens_details: details }
  const event = eventOf(litellmPayload({}, { usage_object: usage }))

  expect(event).toMatchObject({ cache_write_tokens: 50 })
  expect(event).not.toHaveProperty('cache_write_1h_tokens')
})

test('an input that is smaller than its cached part leaves it out', () => {
  const usage = { cache_read_input_tokens: 900, cache_creation_input_tokens: 50 }
  expect(eventOf(litellmPayload({}, { usage_object: usage }))).toMatchObject({
    input_tokens: 1050,
    cached_input_tokens: 900,
    cache_write_tokens: 50,
  })
})

test.each([
  'aget_responses',
  'get_responses',
  'adelete_responses',
  'aretrieve_batch',
  'alist_batches',
  'acreate_file',
  'afile_content',
  'alist_input_items',
])('%s is no call of its own', (callType) => {
  expect(mapped(litellmPayload({ call_type: callType }))).toEqual({ kind: 'skipped', reason: 'repeated_call_type' })
})

test.each([
  'acompletion',
  'aresponses',
  'anthropic_messages',
  'aembedding',
  'agenerate_content',
  'pass_through_endpoint',
])('%s is a call', (callType) => {
  expect(mapped(litellmPayload({ call_type: callType })).kind).toBe('event')
})

test('a failure counts where tokens or a cost were used', () => {
  const failed = { status: 'failure', response_cost: 0, completion_tokens: 0 }
  expect(mapped(litellmPayload({ ...failed, prompt_tokens: 0 }, { usage_object: null }))).toEqual({
    kind: 'skipped',
    reason: 'failed_without_usage',
  })
  expect(eventOf(litellmPayload(failed))).toMatchObject({
    input_tokens: 100,
    output_tokens: 0,
    outcome: 'error',
    usage_basis: 'partial',
  })
})

test('a call whose caller went away is not free, whatever is known of its usage', () => {
  const cancelled = { status: 'failure', response_cost: 0, completion_tokens: 0, prompt_tokens: 0 }
  const by = (error_information: object) =>
    eventOf(litellmPayload({ ...cancelled, error_information }, { usage_object: null }))

  expect(by({ error_class: 'CancelledError' })).toMatchObject({ outcome: 'cancelled' })
  expect(by({ error_code: '499' })).toMatchObject({ outcome: 'cancelled' })
  expect(by({ error_code: '499' })).not.toHaveProperty('input_tokens')
})

test("the id of the response is the provider's, and no id of LiteLLM's own", () => {
  const named = (fields: Record<string, unknown>) => eventOf(litellmPayload(fields))['response_id']

  expect(named({ id: 'msg_01Xf' })).toBe('msg_01Xf')
  expect(named({ id: litellmPayload()['litellm_call_id'] })).toBeUndefined()
  expect(named({ id: '0f8fad5b-d9cb-469f-a165-70867728950e' })).toBeUndefined()
  expect(named({ id: 'x'.repeat(257) })).toBeUndefined()
  expect(named({ id: { nested: CANARY } })).toBeUndefined()
})

describe('the id', () => {
  const named = (fields: Record<string, unknown>) => eventOf(litellmPayload(fields))['event_id']

  test('is that of the call', () => {
    expect(named({ id: 'other' })).toBe(named({}))
    expect(named({ litellm_call_id: undefined, id: 'f6ad2c9e-0b3e-4d66-9a54-0a7f7e6d1c22' })).toBe(named({}))
  })

  test('of a response counts with its second, since providers repeat it', () => {
    const one = named({ litellm_call_id: undefined })
    expect(named({ litellm_call_id: undefined, startTime: 1_795_254_600.9 })).toBe(one)
    expect(named({ litellm_call_id: undefined, startTime: 1_795_254_601.1 })).not.toBe(one)
  })
})

test.each([
  ['an id', { id: null, litellm_call_id: null }, '/id'],
  ['a model', { model: '', hidden_params: {} }, '/model'],
])('a payload without %s is rejected', (_, fields, pointer) => {
  expect(mapped(litellmPayload(fields))).toMatchObject({ kind: 'rejected', errors: [{ pointer }] })
})
