import { describe, expect, test } from 'vitest'
import { KeyList } from '../../../../internal/ingest/otlp/key-list.js'
import { readTelemetry } from '../../../../internal/ingest/otlp/read-request.js'
import type { SpanEvent } from '../../../../internal/ingest/otlp/span-events.js'
import { type PlainValue, type TestRequest, tracesJson } from '../../../support/otlp.js'

const KEYS = new KeyList()
type Attributes = Readonly<Record<string, PlainValue>>

async function eventOf(
  attributes: Attributes,
  request: TestRequest = {},
  isGateway = true,
  trustedFields?: readonly string[],
): Promise<SpanEvent> {
  const bytes = Buffer.from(JSON.stringify(tracesJson([{ attributes }], request)))
  const read = await readTelemetry(bytes, 'json', 'traces', KEYS, { tenantId: 'tnt_1', isGateway, trustedFields })
  if (typeof read === 'string') throw new Error(read)
  return read.events[0]?.event as SpanEvent
}

/** The first mode of LiteLLM 1.108.7. */
const FIRST: Attributes = {
  'llm.request.type': 'acompletion',
  'gen_ai.operation.name': 'acompletion',
  'gen_ai.system': 'openai',
  'gen_ai.request.model': 'gpt-4o',
  'gen_ai.response.model': 'gpt-4o',
  'gen_ai.response.id': 'chatcmpl-fake421',
  'gen_ai.usage.input_tokens': 1421,
  'gen_ai.usage.output_tokens': 521,
  'gen_ai.cost.total_cost': 0.0084425,
  'litellm.call_id': '034e82d1-46db-4cef-912b-7838f53142c0',
  hidden_params: '{"cache_key": null, "response_cost": 0.0084425, "additional_headers": {}}',
}
const CALLER: Attributes = {
  'metadata.user_api_key_hash': 'hash-search',
  'metadata.user_api_key_alias': 'search-bot',
  'metadata.user_api_key_team_alias': 'team-search',
  'metadata.user_api_key_user_email': 'ada@example.com',
}
/** The second, and that for Langfuse. */
const SECOND: Attributes = {
  'gen_ai.operation.name': 'chat',
  'gen_ai.provider.name': 'openai',
  'gen_ai.request.model': 'gpt-4o',
  'gen_ai.usage.input_tokens': 1243,
  'gen_ai.usage.output_tokens': 343,
  'litellm.call_id': '4ce3cf3d-9d67-454e-9fcb-bd61345e5a6f',
  'litellm.call_type': 'acompletion',
  'litellm.cost.total': 0.006217500000000001,
  'litellm.team.alias': 'team-search',
  'litellm.api_key.hash': 'hash-search',
  'litellm.metadata.user_api_key_alias': 'search-bot',
  'litellm.metadata.user_api_key_user_id': 'ada',
}
const LANGFUSE: Attributes = {
  'openinference.span.kind': 'LLM',
  'llm.request.type': 'acompletion',
  'llm.provider': 'openai',
  'llm.model_name': 'gpt-4o',
  'llm.response.id': 'chatcmpl-fake571',
  'llm.token_count.prompt': 1571,
  'llm.token_count.completion': 671,
  'llm.cost.total': 0.0103175,
  'user.id': 'ada',
  'litellm.team_alias': 'team-search',
  'litellm.key_alias': 'search-bot',
  metadata: '{"user_api_key_hash": "hash-search", "user_api_key_user_id": "ada", "user_agent": "OpenAI/Python"}',
}
const PROXY = { scope: 'litellm', resource: { 'service.name': 'litellm-proxy' } }

describe('the proxy', () => {
  const BY = { attributed_service: 'search-bot', ingestion_layer: 'gateway' }

  test.each([
    ['with a span of its own', { ...FIRST, ...CALLER }, PROXY, 'ada@example.com'],
    ['on the span of its web server', { ...FIRST, ...CALLER }, { ...PROXY, scope: 'fastapi' }, 'ada@example.com'],
    ['in its second mode', SECOND, PROXY, 'ada'],
  ])('%s says who called', async (_, attributes, request, person) => {
    const event = await eventOf(attributes, request)

    expect(event).toMatchObject({ ...BY, attributed_identity: person })
    expect(event.tags).toEqual({ team: 'team-search', key_alias: 'search-bot' })
    expect(event.attribution_confidence).toBeUndefined()
    expect((await eventOf(attributes, request, false)).attribution_confidence).toBe(0.7)
  })

  test('for Langfuse writes whole metadata, where callers write too: a claim unless the tenant trusts it', async () => {
    const request = { scope: 'litellm', resource: { 'service.name': 'litellm' } }
    const confidence = async (isGateway: boolean, trustedFields?: readonly string[]) =>
      (await eventOf(LANGFUSE, request, isGateway, trustedFields)).attribution_confidence

    expect(await eventOf(LANGFUSE, request)).toMatchObject({ ...BY, attributed_identity: 'ada' })
    expect(await confidence(true)).toBe(0.7)
    expect(await confidence(true, ['identity'])).toBe(0.7)
    expect(await confidence(true, ['identity', 'service'])).toBeUndefined()
    expect(await confidence(false, ['identity', 'service'])).toBe(0.7)
  })

  test('has the id by which its callback knows the call', async () => {
    expect(await eventOf({ ...FIRST, ...CALLER }, PROXY)).toMatchObject({
      request_id: FIRST['litellm.call_id'],
      operation_id: FIRST['litellm.call_id'],
      response_id: 'chatcmpl-fake421',
    })
    const ofEmbeddings = { ...FIRST, ...CALLER, 'gen_ai.response.id': FIRST['litellm.call_id'] as string }
    expect((await eventOf(ofEmbeddings, PROXY)).response_id).toBeUndefined()
  })

  test('knows the request of Bedrock', async () => {
    const hidden_params = '{"additional_headers": {"llm_provider-x-amzn-requestid": "6d90c825-0033"}}'
    expect(await eventOf({ ...FIRST, ...CALLER, hidden_params }, PROXY)).toMatchObject({
      request_id: '6d90c825-0033',
      response_id: 'chatcmpl-fake421',
    })
  })

  test('answers from its cache for nothing', async () => {
    const { 'gen_ai.cost.total_cost': _, ...unpriced } = { ...FIRST, ...CALLER }
    const hidden_params = '{"cache_key": "003b16e6", "response_cost": 0.0}'
    for (const attributes of [
      { ...unpriced, hidden_params },
      { ...unpriced, hidden_params, 'gen_ai.cost.total_cost': 0 },
      { ...unpriced, 'litellm.cache_hit': true },
    ]) {
      const event = await eventOf(attributes, PROXY)
      expect(event).toMatchObject({ served_from_cache: true })
      expect(event.estimated_cost_usd).toBeUndefined()
    }
    expect((await eventOf({ ...FIRST, ...CALLER }, PROXY)).served_from_cache).toBeUndefined()
  })

  test('states the cost of an image in its parameters only', async () => {
    const { 'gen_ai.cost.total_cost': _, ...image } = { ...FIRST, ...CALLER }
    const hidden_params = '{"cache_key": null, "response_cost": 0.04249000000000001}'
    expect(await eventOf({ ...image, hidden_params }, PROXY)).toMatchObject({ estimated_cost_usd: '0.04249' })
  })

  test('takes its margin off in the second mode, too', async () => {
    const margin = { 'litellm.cost.margin_total_amount': 0.0002175 }
    expect(await eventOf({ ...SECOND, ...margin }, PROXY)).toMatchObject({ estimated_cost_usd: '0.006' })
  })
})

describe('LiteLLM as a library', () => {
  test('is the application: its resource names the service', async () => {
    expect(await eventOf(FIRST, { scope: 'litellm', resource: { 'service.name': 'shop' } }, false)).toMatchObject({
      ingestion_layer: 'application',
      attributed_service: 'shop',
      attribution_confidence: undefined,
      request_id: FIRST['litellm.call_id'],
    })
  })

  test.each(['litellm', 'litellm-proxy'])('has no service where it calls itself %s', async (name) => {
    const event = await eventOf(FIRST, { scope: 'litellm', resource: { 'service.name': name } }, false)
    expect(event.attributed_service).toBeUndefined()
  })

  test('states 0 and 0 for a stream that it did not count', async () => {
    const counts = { 'gen_ai.usage.input_tokens': 0, 'gen_ai.usage.output_tokens': 0, 'gen_ai.cost.total_cost': 0 }
    const event = await eventOf({ ...FIRST, ...counts, hidden_params: '{"response_cost": 0.0}' }, { scope: 'litellm' })
    expect(event.input_tokens).toBeUndefined()
    expect(event.output_tokens).toBeUndefined()
    expect(event.estimated_cost_usd).toBeUndefined()
    expect(event.served_from_cache).toBeUndefined()
  })
})
