import { describe, expect, test } from 'vitest'
import { eventIdOf } from '../../../../internal/ingest/intake/event-id.js'
import { eventOf, mapped } from './litellm-events.js'
import { CANARY, litellmPayload } from './litellm-payload.js'

test('a payload becomes an event, its content nothing', () => {
  expect(eventOf(litellmPayload())).toEqual({
    event_id: eventIdOf('tnt_one', 'litellm', 'f6ad2c9e-0b3e-4d66-9a54-0a7f7e6d1c22 1795254600250 openai'),
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
    request_id: 'f6ad2c9e-0b3e-4d66-9a54-0a7f7e6d1c22',
    operation_id: 'f6ad2c9e-0b3e-4d66-9a54-0a7f7e6d1c22',
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
    ['with the noise of a double', { response_cost: 0.00021779999999999998, cost_breakdown: {} }, '0.0002178'],
    ['of 0, which is one that LiteLLM does not know', { response_cost: 0 }, undefined],
    ['below its margin', { response_cost: 1e-6 }, undefined],
    ['that nobody can pay', { response_cost: 1e30 }, undefined],
    ['of a replay from the cache', { response_cost: 0.1, cache_hit: true }, undefined],
  ])('%s', (_, fields, cost) => {
    expect(eventOf(litellmPayload(fields))['estimated_cost_usd']).toBe(cost)
  })
})

describe('the cost of a call through OpenRouter', () => {
  /** The usage object that OpenRouter sends, in LiteLLM's payload. */
  const cost = (usage_object: object, response_cost: number) =>
    eventOf(litellmPayload({ custom_llm_provider: 'openrouter', response_cost, cost_breakdown: {} }, { usage_object }))[
      'estimated_cost_usd'
    ]
  const cost_details = { upstream_inference_cost: 0.0360795 }

  test('with a key of one’s own is what the provider charges, and the fee', () => {
    const byok = { is_byok: true, cost_details }
    expect(cost({ ...byok, cost: 0.001803975 }, 0.001803975)).toBe('0.037883475')
    expect(cost({ ...byok, cost: 0 }, 0)).toBe('0.0360795')
    // LiteLLM's own price of the same call is no fee.
    expect(cost({ ...byok, cost: 0.001803975 }, 0.0360795)).toBe('0.037883475')
    expect(cost(byok, 0.0360795)).toBe('0.0360795')
    expect(cost(byok, 0.001)).toBe('0.0370795')
  })

  test('with a key of OpenRouter’s has the upstream cost in it', () => {
    expect(cost({ is_byok: false, cost: 0.04, cost_details }, 0.04)).toBe('0.04')
    expect(cost({ cost: 0.04, cost_details }, 0.04)).toBe('0.04')
  })

  test('of 0 is one that OpenRouter states, and unknown where only LiteLLM does', () => {
    expect(cost({ is_byok: false, cost: 0 }, 0)).toBe('0')
    expect(cost({ cost: 0 }, 0)).toBeUndefined()
    expect(cost({ is_byok: true, cost: 0 }, 0)).toBeUndefined()
  })
})

describe('the model that served the call', () => {
  const models = (fields: Record<string, unknown>) => {
    const { requested_model: requested, served_model: served, tags } = eventOf(litellmPayload(fields))
    return [requested, served, (tags as Record<string, string>)['deployment']]
  }
  const sent = (provider: string, model: string, key: string) => ({
    custom_llm_provider: provider,
    model,
    model_group: 'alias',
    hidden_params: { litellm_model_name: model },
    model_map_information: { model_map_key: key },
  })
  const ARN = 'arn:aws:bedrock:eu-central-1:123456789012:application-inference-profile/abc123'
  const CLAUDE = 'anthropic.claude-sonnet-4-5-20250929-v1:0'

  test.each([
    ['azure', 'azure/dep-mini', 'azure/gpt-4o-mini', 'gpt-4o-mini', 'dep-mini'],
    ['azure', 'azure/responses/dep', 'azure/eu/gpt-5-2025-08-07', 'gpt-5-2025-08-07', 'dep'],
    ['bedrock', `bedrock/converse/${ARN}`, `bedrock/eu.${CLAUDE}`, `eu.${CLAUDE}`, ARN],
    ['bedrock', `bedrock/us-west-2/${CLAUDE}`, `bedrock/us-west-2/${CLAUDE}`, CLAUDE, undefined],
    ['bedrock', `bedrock/invoke/${CLAUDE}`, `bedrock/invoke/${CLAUDE}`, CLAUDE, undefined],
    ['azure', 'azure/dep-nobase', 'azure/dep-nobase', 'dep-nobase', undefined],
    ['openai', 'openai/gpt-4o-2024-08-06', 'gpt-4o', 'gpt-4o-2024-08-06', undefined],
    ['azure', 'azure/gpt-4o-mini-eu', 'azure/gpt-4o-mini', 'gpt-4o-mini', 'gpt-4o-mini-eu'],
    ['openrouter', 'openrouter/anthropic/claude-sonnet-4.5', '', 'anthropic/claude-sonnet-4.5', undefined],
  ])('%s: %s, priced as %s, is %s', (provider, model, key, served, deployment) => {
    expect(models(sent(provider, model, key))).toEqual(['alias', served, deployment])
  })

  test('is asked for by its own name where there is no group', () => {
    const call = { ...sent('openai', 'openai/gpt-5', 'openai/gpt-5'), model_group: null }
    expect(models(call)).toEqual(['gpt-5', 'gpt-5', undefined])
  })
})

describe('tier and speed', () => {
  const tier = (fields: object, usage: object = {}) =>
    eventOf(litellmPayload({ ...fields }, { usage_object: { prompt_tokens: 5, ...usage } }))['service_tier']

  test.each([
    [{ cost_breakdown: { service_tier: 'flex' }, model_parameters: { service_tier: 'flex' } }, {}, 'flex'],
    [{ cost_breakdown: {}, model_parameters: { service_tier: 'priority' } }, {}, 'priority'],
    [{ model_parameters: { service_tier: 'auto' } }, {}, undefined],
    [{ model_parameters: { service_tier: 'priority' } }, { service_tier: 'default' }, 'standard'],
    [{ cost_breakdown: { service_tier: 'priority' } }, { service_tier: 'standard' }, 'standard'],
  ])('of %j and %j: %s', (fields, usage, expected) => expect(tier(fields, usage)).toBe(expected))

  test('Anthropic states its fast mode', () => {
    expect(eventOf(litellmPayload({}, { usage_object: { speed: 'fast' } }))).toMatchObject({ speed: 'fast' })
    expect(eventOf(litellmPayload({}, { usage_object: { speed: 'warp' } }))).not.toHaveProperty('speed')
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
  const hit = { response_cost: 0, hidden_params: { cache_key: '003b16e6' } }
  expect(eventOf(litellmPayload(hit))).toMatchObject({ served_from_cache: true })
  expect(eventOf(litellmPayload({ ...hit, response_cost: 0.2 }))).not.toHaveProperty('served_from_cache')
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
  'aretrieve_fine_tuning_job',
  'acreate_batch',
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
  const failed = { status: 'failure', response_cost: 0, completion_tokens: 0, total_tokens: 100 }
  expect(mapped(litellmPayload({ ...failed, prompt_tokens: 0, total_tokens: 0 }, { usage_object: null }))).toEqual({
    kind: 'skipped',
    reason: 'failed_without_usage',
  })
  expect(eventOf(litellmPayload(failed, { usage_object: null }))).toMatchObject({
    input_tokens: 100,
    output_tokens: 0,
    outcome: 'error',
    usage_basis: 'partial',
  })
})

test('a call whose caller went away is not free, whatever is known of its usage', () => {
  const cancelled = { status: 'failure', response_cost: 0, completion_tokens: 0, prompt_tokens: 0, total_tokens: 0 }
  const by = (error_information: object) =>
    eventOf(litellmPayload({ ...cancelled, error_information }, { usage_object: null }))

  expect(by({ error_class: 'CancelledError' })).toMatchObject({ outcome: 'cancelled' })
  expect(by({ error_code: '499' })).toMatchObject({ outcome: 'cancelled' })
  expect(by({ error_code: '499' })).not.toHaveProperty('input_tokens')
  // As LiteLLM 1.108.7 logs it.
  const error_information = { error_code: '499', error_class: 'ClientDisconnected' }
  expect(eventOf(litellmPayload({ status: 'success', error_information }))).toMatchObject({
    outcome: 'cancelled',
    usage_basis: 'partial',
  })
})

test("the id of the response is the provider's, and no id of LiteLLM's own", () => {
  const named = (fields: Record<string, unknown>) => eventOf(litellmPayload(fields))['response_id']

  expect(named({ id: 'msg_01Xf' })).toBe('msg_01Xf')
  expect(named({ id: litellmPayload()['litellm_call_id'] })).toBeUndefined()
  expect(named({ id: '0f8fad5b-d9cb-469f-a165-70867728950e' })).toBeUndefined()
  expect(named({ id: 'None' })).toBeUndefined()
  expect(named({ id: 'x'.repeat(257) })).toMatch(/^sha256:[0-9a-f]{64}$/)
  expect(named({ id: { nested: CANARY } })).toBeUndefined()
})

test.each([
  ['an id', { id: null, litellm_call_id: null }, '/id'],
  ['a model', { model: '', model_group: null, hidden_params: {}, model_map_information: {} }, '/model'],
])('a payload without %s is rejected', (_, fields, pointer) => {
  expect(mapped(litellmPayload(fields))).toMatchObject({ kind: 'rejected', errors: [{ pointer }] })
})
