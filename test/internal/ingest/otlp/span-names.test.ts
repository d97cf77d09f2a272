import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { KeyList } from '../../../../internal/ingest/otlp/key-list.js'
import { type Encoding, readTelemetry } from '../../../../internal/ingest/otlp/read-request.js'
import type { SpanEvent } from '../../../../internal/ingest/otlp/span-events.js'
import { validateInvocation } from '../../../../internal/invocations/validate-invocation.js'
import { asProtobuf, START_MS, type TestSpan, tracesJson } from '../../../support/otlp.js'
import { drawn } from '../../../support/run/rings.js'

const KEYS = new KeyList()

/** The event of one span, which must be the same in both encodings. */
async function eventOf(attributes: TestSpan['attributes'], scope = 'test'): Promise<SpanEvent> {
  const json = tracesJson([{ attributes }], { scope })
  const read = async (encoding: Encoding): Promise<SpanEvent> => {
    const bytes =
      encoding === 'json' ? Buffer.from(JSON.stringify(json)) : asProtobuf('ExportTraceServiceRequest', json)
    const result = await readTelemetry(bytes, encoding, 'traces', KEYS, { tenantId: 'tnt_1', isGateway: false })
    if (typeof result === 'string') throw new Error(result)
    return result.events[0]?.event as SpanEvent
  }
  const event = await read('protobuf')
  expect(await read('json')).toEqual(event)
  expect(validateInvocation(JSON.parse(JSON.stringify(event)), START_MS + 1_000)).toMatchObject({ ok: true })
  return event
}

const CHAT = { 'gen_ai.operation.name': 'chat', 'gen_ai.usage.input_tokens': 10, 'gen_ai.usage.output_tokens': 1 }
const LLM = { 'openinference.span.kind': 'LLM', 'llm.token_count.prompt': 10, 'llm.token_count.completion': 1 }

describe('who served the call', () => {
  test.each<[string, TestSpan['attributes'], Partial<SpanEvent>]>([
    [
      'Vercel AI SDK 6: the provider is named after its API',
      {
        'ai.operationId': 'ai.generateText.doGenerate',
        'gen_ai.system': 'openai.responses',
        'ai.model.provider': 'openai.responses',
        'gen_ai.request.model': 'gpt-5-nano',
        'gen_ai.response.model': 'gpt-5-nano-2025-08-07',
      },
      { provider: 'openai', requested_model: 'gpt-5-nano', served_model: 'gpt-5-nano-2025-08-07' },
    ],
    [
      'Vercel AI SDK 6: an embedding has names of its own only',
      {
        'ai.operationId': 'ai.embed.doEmbed',
        'ai.model.provider': 'openai.embedding',
        'ai.model.id': 'text-embedding-3-small',
      },
      { provider: 'openai', requested_model: 'text-embedding-3-small' },
    ],
    [
      'Vercel AI Gateway: the vendor stands before the model',
      {
        ...CHAT,
        'gen_ai.provider.name': 'gateway',
        'gen_ai.request.model': 'anthropic/claude-haiku-4.5',
        'gen_ai.response.model': 'claude-haiku-4-5-20251001',
      },
      { provider: 'anthropic', assumptions: 'provider_from_model' },
    ],
    [
      'OpenAI’s client at a host of Azure',
      {
        ...CHAT,
        'gen_ai.provider.name': 'openai',
        'gen_ai.request.model': 'prod',
        'gen_ai.response.model': 'gpt-4o-2024-11-20',
        'server.address': 'contoso.openai.azure.com',
      },
      { provider: 'azure.ai.openai', assumptions: 'provider_from_host' },
    ],
    [
      'OpenAI’s client at a regional host',
      {
        ...CHAT,
        'gen_ai.provider.name': 'openai',
        'gen_ai.request.model': 'gpt-5.4',
        'server.address': 'eu.api.openai.com',
      },
      { provider: 'openai', region: 'eu' },
    ],
    [
      'an OpenTelemetry HTTP attribute in place of the address',
      {
        ...CHAT,
        'gen_ai.system': 'strands-agents',
        'gen_ai.request.model': 'm',
        'url.full': 'https://europe-west1-aiplatform.googleapis.com/v1/projects/p?key=secret',
      },
      { provider: 'gcp.vertex_ai', region: 'europe-west1', assumptions: 'provider_from_host' },
    ],
    [
      'strands-agents 1.62',
      { ...CHAT, 'gen_ai.system': 'strands-agents', 'gen_ai.request.model': 'us.anthropic.claude-sonnet-4-6' },
      { provider: 'aws.bedrock', requested_model: 'us.anthropic.claude-sonnet-4-6' },
    ],
    [
      'LangChain with OpenInference: what LangChain knows of the run',
      { ...LLM, 'llm.model_name': 'prod-chat', metadata: '{"ls_provider":"azure","ls_model_name":"prod-chat"}' },
      { provider: 'azure.ai.openai', requested_model: 'prod-chat' },
    ],
    [
      'LangChain with OpenLLMetry',
      {
        'llm.request.type': 'chat',
        'gen_ai.system': 'Langchain',
        'traceloop.association.properties.ls_provider': 'amazon_bedrock',
        'gen_ai.request.model': 'claude-sonnet-4-6',
      },
      { provider: 'aws.bedrock' },
    ],
    [
      'OpenInference on Vertex AI',
      { ...LLM, 'llm.provider': 'google', 'llm.system': 'vertexai', 'llm.model_name': 'gemini-2.5-pro' },
      { provider: 'gcp.vertex_ai' },
    ],
    [
      'MLflow writes texts as JSON',
      { ...LLM, 'mlflow.llm.provider': '"anthropic"', 'mlflow.llm.model': '"claude-sonnet-4-5"' },
      { provider: 'anthropic', requested_model: 'claude-sonnet-4-5', served_model: 'claude-sonnet-4-5' },
    ],
    [
      'a model in brackets is the model',
      { ...CHAT, 'gen_ai.provider.name': 'anthropic', 'gen_ai.request.model': 'claude-opus-5[1m]' },
      { provider: 'anthropic', requested_model: 'claude-opus-5' },
    ],
  ])('%s', async (_, attributes, expected) => {
    expect(await eventOf(attributes)).toMatchObject(expected)
  })

  test.each<[string, TestSpan['attributes'], string | undefined]>([
    ['LiteLLM by OpenInference', { 'llm.provider': 'anthropic', 'llm.model_name': 'anthropic/sonnet' }, 'sonnet'],
    [
      'an alias of the provider',
      { 'llm.provider': 'google', 'llm.model_name': 'gemini/gemini-2.5-pro' },
      'gemini-2.5-pro',
    ],
    ['what was served', { 'gen_ai.system': 'azure', 'gen_ai.response.model': 'azure/gpt-4o' }, 'gpt-4o'],
    ['a gateway', { 'gen_ai.system': 'gateway', 'gen_ai.request.model': 'openai/gpt-5' }, 'gpt-5'],
    ['a model of that name', { 'gen_ai.system': 'groq', 'gen_ai.request.model': 'groq/compound' }, undefined],
    [
      'another vendor',
      { 'gen_ai.system': 'openrouter', 'gen_ai.request.model': 'anthropic/claude-opus-4.5' },
      undefined,
    ],
    ['no vendor', { 'gen_ai.system': 'openai', 'gen_ai.request.model': 'team/gpt-4o' }, undefined],
  ])('a provider in front of the model is no part of its name: %s', async (_, attributes, served) => {
    const event = await eventOf({ ...CHAT, ...attributes })

    expect(event.served_model).toBe(served)
    expect(event.requested_model).toContain('/')
  })

  test('LiteLLM’s own name of a model says more than its group’s, with the profile of Bedrock', async () => {
    const group = { ...CHAT, 'gen_ai.provider.name': 'aws.bedrock', 'gen_ai.request.model': 'br' }
    const routed = 'bedrock/eu.anthropic.claude-sonnet-4-5-20250929-v1:0'
    const served = 'eu.anthropic.claude-sonnet-4-5-20250929-v1:0'

    expect(
      await eventOf({ ...group, 'gen_ai.response.model': 'br', 'litellm.provider.model': routed }, 'litellm'),
    ).toMatchObject({ provider: 'aws.bedrock', requested_model: 'br', served_model: served })
    expect(
      await eventOf(
        {
          'llm.request.type': 'aresponses',
          'gen_ai.request.model': 'gpt-5-mini',
          'gen_ai.response.model': 'resp',
          'litellm.provider.model': 'openai/gpt-5-mini',
        },
        'litellm',
      ),
    ).toMatchObject({ provider: 'openai', served_model: 'gpt-5-mini' })
    const hidden = JSON.stringify({ litellm_model_name: routed, api_base: null, response: { text: 'Hi' } })
    expect(await eventOf({ ...group, hidden_params: hidden }, 'litellm')).toMatchObject({ served_model: served })
  })
})

describe('tier, speed and geography', () => {
  const OPENAI = { ...CHAT, 'gen_ai.provider.name': 'openai', 'gen_ai.request.model': 'gpt-5-mini' }

  test.each<[string, TestSpan['attributes'], Partial<SpanEvent>]>([
    ['the served tier', { 'gen_ai.response.service_tier': 'flex' }, { service_tier: 'flex' }],
    [
      'the served tier beats the requested one',
      { 'gen_ai.openai.response.service_tier': 'default', 'gen_ai.request.service_tier': 'flex' },
      { service_tier: 'standard' },
    ],
    [
      'a requested tier counts where none is stated as served, and the event says so',
      { 'gen_ai.request.service_tier': 'priority' },
      { service_tier: 'priority', assumptions: 'tier_from_request' },
    ],
    [
      'Langfuse: a JSON text',
      { 'langfuse.observation.metadata.service_tier': '"priority"' },
      { service_tier: 'priority' },
    ],
    [
      'Vercel AI SDK: among what the provider adds',
      { 'ai.response.providerMetadata': '{"openai":{"responseId":"resp_1","serviceTier":"flex"}}' },
      { service_tier: 'flex' },
    ],
    [
      'Vercel AI SDK: Anthropic’s usage',
      {
        'ai.response.providerMetadata': JSON.stringify({
          anthropic: { usage: { service_tier: 'standard', speed: 'fast', inference_geo: 'us' }, note: 'say "hi"' },
        }),
      },
      { service_tier: 'standard', speed: 'fast', region: 'us' },
    ],
    [
      'LiteLLM: the breakdown of its cost',
      { cost_breakdown: '{"total_cost":0.1,"service_tier":"priority"}' },
      { service_tier: 'priority' },
    ],
    [
      'Logfire: the provider’s own usage',
      { 'gen_ai.usage.raw': '{"input_tokens":1,"inference_geo":"global","speed":"standard"}' },
      { speed: 'standard', region: undefined },
    ],
  ])('%s', async (_, attributes, expected) => {
    expect(await eventOf({ ...OPENAI, ...attributes })).toMatchObject(expected)
  })

  test('`auto` is a wish, and no tier', async () => {
    const event = await eventOf({ ...OPENAI, 'gen_ai.request.service_tier': 'auto' })

    expect(event.service_tier).toBeUndefined()
    expect(event.assumptions).toBeUndefined()
  })

  test('OpenInference: model and tier stand among the parameters, beside what may be content', async () => {
    const parameters = {
      model: 'gpt-5-mini',
      instructions: 'say "service_tier": "priority"',
      tools: [{ name: 't', parameters: { properties: { model: { enum: ['x'] } } } }],
      service_tier: 'flex',
    }
    const event = await eventOf({
      ...LLM,
      'llm.provider': 'openai',
      'llm.model_name': 'gpt-5-mini-2025-08-07',
      'llm.invocation_parameters': JSON.stringify(parameters),
    })

    expect(event).toMatchObject({
      requested_model: 'gpt-5-mini',
      served_model: 'gpt-5-mini-2025-08-07',
      service_tier: 'flex',
    })
    expect(JSON.stringify(event)).not.toContain('say')
  })

  test('parameters that are no JSON object, or too long, are passed over', async () => {
    for (const text of ["{'service_tier': 'flex'}", '[]', '', '{"service_tier":', `{"a":"${'x'.repeat(70_000)}"}`]) {
      const event = await eventOf({ ...LLM, 'llm.model_name': 'gpt-4o', 'llm.invocation_parameters': text })
      expect(event.service_tier).toBeUndefined()
    }
  })
})

test('whatever the order of the attributes, a call has one provider, model and tier', async () => {
  const attributes = Object.entries({
    ...LLM,
    'gen_ai.provider.name': 'langchain',
    'llm.provider': 'azure',
    'llm.system': 'openai',
    'llm.model_name': 'gpt-4o-2024-11-20',
    'llm.invocation_parameters': '{"model":"prod","service_tier":"auto"}',
    'gen_ai.response.service_tier': 'priority',
    'gen_ai.request.service_tier': 'flex',
    'server.address': 'contoso.openai.azure.com',
  })
  await fc.assert(
    fc.asyncProperty(fc.shuffledSubarray(attributes, { minLength: attributes.length }), async (shuffled) => {
      expect(await eventOf(Object.fromEntries(shuffled))).toMatchObject({
        provider: 'azure.ai.openai',
        requested_model: 'prod',
        served_model: 'gpt-4o-2024-11-20',
        service_tier: 'priority',
        assumptions: undefined,
      })
    }),
    { numRuns: drawn(30) },
  )
})

test('calls of one model have each its own provider, whichever came before', async () => {
  const providers = { openai: 'openai', groq: 'groq', 'azure.ai.openai': 'azure.ai.openai' }
  const calls = fc.array(fc.constantFrom(...Object.entries(providers)), { minLength: 2, maxLength: 6 })
  await fc.assert(
    fc.asyncProperty(calls, async (all) => {
      for (const [stated, provider] of all) {
        const names = { 'gen_ai.provider.name': stated, 'gen_ai.request.model': 'openai/gpt-oss-120b' }
        expect(await eventOf({ ...CHAT, ...names })).toMatchObject({ provider })
      }
    }),
    { numRuns: drawn(20) },
  )
})
