import { describe, expect, test } from 'vitest'
import { KeyList } from '../../../../internal/ingest/otlp/key-list.js'
import { type Encoding, type ReadTelemetry, readTelemetry } from '../../../../internal/ingest/otlp/read-request.js'
import type { SpanEvent } from '../../../../internal/ingest/otlp/span-events.js'
import type { Signal } from '../../../../internal/ingest/otlp/telemetry.js'
import { validateInvocation } from '../../../../internal/invocations/validate-invocation.js'
import {
  asProtobuf,
  type PlainValue,
  SPAN,
  START_MS,
  type TestRequest,
  type TestSpan,
  TRACE,
  tracesJson,
} from '../../../support/otlp.js'

const KEYS = new KeyList()
const CONTEXT = { tenantId: 'tnt_1', isGateway: false }

async function read(json: object, signal: Signal, encoding: Encoding, context = CONTEXT) {
  const message = signal === 'traces' ? 'ExportTraceServiceRequest' : 'ExportLogsServiceRequest'
  const bytes = encoding === 'json' ? Buffer.from(JSON.stringify(json)) : asProtobuf(message, json)
  const result = await readTelemetry(bytes, encoding, signal, KEYS, context)
  if (typeof result === 'string') throw new Error(result)
  expect(countedIn(result)).toBe(recordsIn(json))
  return { ...result, passedOver: passedOverIn(result) }
}

/** By capture layer and reason. */
function passedOverIn({ senders }: ReadTelemetry): ReadonlyMap<string, ReadonlyMap<string, number>> {
  const layers = new Map<string, Map<string, number>>()
  for (const { sender, passedOver } of senders) {
    if (passedOver.size === 0) continue
    const reasons = layers.get(sender.layer) ?? new Map<string, number>()
    for (const [reason, count] of passedOver) reasons.set(reason, (reasons.get(reason) ?? 0) + count)
    layers.set(sender.layer, reasons)
  }
  return layers
}

/** Of all that a request holds, what is a call, is passed over or is rejected. */
const countedIn = ({ events, senders }: ReadTelemetry): number =>
  events.length + senders.flatMap((each) => [...each.passedOver.values(), ...each.rejected.values()]).reduce(sum, 0)
const sum = (one: number, other: number): number => one + other

/** Spans or log records of a request in JSON. */
function recordsIn(json: object): number {
  let count = 0
  JSON.stringify(json, (key, value: unknown) => {
    if ((key === 'spans' || key === 'logRecords') && Array.isArray(value)) count += value.length
    return value
  })
  return count
}

/** Reads spans in both encodings, which must agree. */
async function readSpans(spans: readonly TestSpan[], request: TestRequest = {}, context = CONTEXT) {
  const json = tracesJson(spans, request)
  const result = await read(json, 'traces', 'protobuf', context)
  expect(await read(json, 'traces', 'json', context)).toEqual(result)
  for (const { event } of result.events) {
    const validation = validateInvocation(JSON.parse(JSON.stringify(event)), START_MS + 1_000)
    expect(validation).toMatchObject({ ok: true, unknownFields: 0 })
  }
  return result
}

async function eventOf(attributes: TestSpan['attributes'], request: TestRequest = {}, isGateway = false) {
  const { events } = await readSpans([{ attributes }], request, { ...CONTEXT, isGateway })
  return events[0]?.event as SpanEvent
}

test('an event names the instrumentation that showed its call', async () => {
  const scope = 'openinference.instrumentation.anthropic'
  expect(await eventOf({ 'openinference.span.kind': 'LLM', 'llm.model_name': 'claude' }, { scope })).toMatchObject({
    instrumentation: scope,
  })
})

test('a response id that is too long for an event is hashed', async () => {
  const id = `resp_${'bGl0ZWxsbTpjdXN0b21fbGxt'.repeat(16)}`
  const event = await eventOf({
    'gen_ai.operation.name': 'chat',
    'gen_ai.request.model': 'gpt-4o',
    'gen_ai.response.id': id,
  })

  expect(event.response_id).toMatch(/^sha256:[0-9a-f]{64}$/)
})

describe('one call in each convention', () => {
  const CALL = { input_tokens: 1200, output_tokens: 80, cached_input_tokens: 1000, requested_model: 'gpt-4o' }

  test('OpenTelemetry GenAI, now', async () => {
    const event = await eventOf(
      {
        'gen_ai.operation.name': 'chat',
        'gen_ai.provider.name': 'openai',
        'gen_ai.request.model': 'gpt-4o',
        'gen_ai.response.model': 'gpt-4o-2024-08-06',
        'gen_ai.usage.input_tokens': 1200,
        'gen_ai.usage.output_tokens': 80,
        'gen_ai.usage.cache_read.input_tokens': 1000,
        'gen_ai.usage.reasoning.output_tokens': 20,
        'openai.response.service_tier': 'flex',
        'openai.request.service_tier': 'auto',
        'gen_ai.input.messages': '[{"role":"user","parts":[{"content":"secret"}]}]',
      },
      { resource: { 'service.name': 'search', 'deployment.environment.name': 'production' } },
    )

    expect(event).toMatchObject({
      ...CALL,
      provider: 'openai',
      served_model: 'gpt-4o-2024-08-06',
      reasoning_tokens: 20,
      service_tier: 'flex',
      ingestion_layer: 'application',
      ingestion_timestamp: '2026-11-23T10:00:00.123Z',
      latency_ms: 850,
      trace_id: TRACE,
      attributed_service: 'search',
      tags: { environment: 'production' },
    })
    expect(event.attribution_confidence).toBeUndefined()
  })

  test('OpenTelemetry GenAI before 1.37', async () => {
    const event = await eventOf({
      'gen_ai.operation.name': 'chat',
      'gen_ai.system': 'openai',
      'gen_ai.request.model': 'gpt-4o',
      'gen_ai.usage.prompt_tokens': 1200,
      'gen_ai.usage.completion_tokens': 80,
      'gen_ai.usage.cache_read_input_tokens': 1000,
    })

    expect(event).toMatchObject({ ...CALL, provider: 'openai' })
  })

  test('OpenLLMetry', async () => {
    const event = await eventOf({
      'llm.request.type': 'chat',
      'gen_ai.system': 'OpenAI',
      'gen_ai.request.model': 'gpt-4o',
      'llm.usage.prompt_tokens': '1200',
      'llm.usage.completion_tokens': 80,
      'gen_ai.usage.cache_read_input_tokens': 1000,
      'llm.user': 'ada@example.com',
      'traceloop.workflow.name': 'answer-question',
      'traceloop.association.properties.customer': 'acme',
      'traceloop.association.properties.user_email': 'grace@example.com',
      'traceloop.association.properties.session_id': 's-1',
    })

    expect(event).toMatchObject({
      ...CALL,
      attributed_identity: 'ada@example.com',
      attributed_service: 'answer-question',
      tags: { workflow: 'answer-question', customer: 'acme', session_id: 's-1' },
    })
    expect(JSON.stringify(event.tags)).not.toContain('grace')
  })

  test('OpenInference', async () => {
    const event = await eventOf({
      'openinference.span.kind': 'LLM',
      'llm.system': 'openai',
      'llm.model_name': 'gpt-4o',
      'llm.token_count.prompt': 1200,
      'llm.token_count.completion': 80,
      'llm.token_count.prompt_details.cache_read': 1000,
      'llm.cost.total': 0.0042,
      'user.id': 'ada',
      'session.id': 's-1',
      metadata: '{"feature":"search","content":"secret","nested":{"a":1},"user":"grace"}',
      'tag.tags': ['beta', 'eu'],
    })

    expect(event).toMatchObject({
      ...CALL,
      provider: 'openai',
      estimated_cost_usd: '0.0042',
      attributed_identity: 'ada',
      tags: { session_id: 's-1', labels: 'beta,eu', feature: 'search' },
    })
    expect(Object.keys(event.tags ?? {})).toHaveLength(3)
  })

  test('Langfuse, whose counts exclude the cache', async () => {
    const event = await eventOf({
      'langfuse.observation.type': 'generation',
      'langfuse.observation.model.name': 'gpt-4o',
      'gen_ai.system': 'openai',
      'langfuse.observation.usage_details':
        '{"input":200,"output":60,"output_reasoning_tokens":20,"input_cached_tokens":1000,"total":1280}',
      'langfuse.observation.cost_details': '{"input":0.001,"output":0.002}',
      'langfuse.user.id': 'ada',
      'langfuse.trace.metadata.team': 'search',
    })

    expect(event).toMatchObject({
      ...CALL,
      reasoning_tokens: 20,
      estimated_cost_usd: '0.003',
      attributed_identity: 'ada',
      tags: { team: 'search' },
    })
  })

  test('Sentry', async () => {
    const event = await eventOf({
      'gen_ai.operation.name': 'chat',
      'gen_ai.system': 'openai',
      'gen_ai.request.model': 'gpt-4o',
      'gen_ai.usage.input_tokens': 1200,
      'gen_ai.usage.input_tokens.cached': 1000,
      'gen_ai.usage.output_tokens': 80,
    })

    expect(event).toMatchObject(CALL)
  })

  const LITELLM = {
    'llm.request.type': 'acompletion',
    'gen_ai.operation.name': 'acompletion',
    'gen_ai.system': 'openai',
    'gen_ai.request.model': 'gpt-4o-2024-08-06',
    'gen_ai.response.model': 'gpt-4o',
    'gen_ai.usage.input_tokens': 1200,
    'gen_ai.usage.output_tokens': 80,
    'gen_ai.usage.cache_read_input_tokens': 1000,
    'gen_ai.cost.total_cost': 0.0052,
    'gen_ai.cost.margin_total_amount': 0.001,
    'metadata.user_api_key_alias': 'search-key',
    'metadata.user_api_key_team_alias': 'team-search',
    'metadata.user_api_key_user_email': 'ada@example.com',
  }

  test('LiteLLM: models the other way round, cost less its margin, identity of its key', async () => {
    const request = { scope: 'litellm', resource: { 'service.name': 'litellm' } }
    const trusted = await eventOf(LITELLM, request, true)
    const claimed = await eventOf(LITELLM, request)

    expect(trusted).toMatchObject({
      ...CALL,
      served_model: 'gpt-4o-2024-08-06',
      ingestion_layer: 'gateway',
      estimated_cost_usd: '0.0042',
      attributed_service: 'search-key',
      attributed_identity: 'ada@example.com',
      tags: { team: 'team-search', key_alias: 'search-key' },
    })
    expect(trusted.attribution_confidence).toBeUndefined()
    expect(claimed.attribution_confidence).toBe(0.7)
  })

  test('a key alone: the service that a gateway span names is the gateway itself', async () => {
    const event = await eventOf(
      { 'gen_ai.operation.name': 'chat', 'gen_ai.request.model': 'gpt-4o' },
      { scope: 'envoyproxy/ai-gateway', resource: { 'service.name': 'ai-gateway' } },
    )

    expect(event).toMatchObject({ ingestion_layer: 'gateway', attributed_service: undefined })
  })
})

const CHAT: Readonly<Record<string, PlainValue>> = {
  'gen_ai.operation.name': 'chat',
  'gen_ai.provider.name': 'openai',
  'gen_ai.request.model': 'gpt-4o',
  'gen_ai.usage.input_tokens': 100,
  'gen_ai.usage.output_tokens': 10,
}

test.each([
  [{ 'gen_ai.operation.name': 'invoke_agent', 'gen_ai.usage.input_tokens': 100 }, 'agent'],
  [{ 'gen_ai.operation.name': 'execute_tool' }, 'tool'],
  [{ 'gen_ai.operation.name': 'invoke_workflow' }, 'workflow'],
  [{ 'gen_ai.operation.name': 'count_tokens' }, 'other_operation'],
  [{ 'gen_ai.operation.name': 'retrieval' }, 'other_operation'],
  [{ 'openinference.span.kind': 'AGENT', 'llm.token_count.prompt': 100 }, 'agent'],
  [{ 'openinference.span.kind': 'CHAIN' }, 'chain'],
  [{ ...CHAT, 'openinference.span.kind': 'TOOL' }, 'tool'],
  [{ 'traceloop.span.kind': 'workflow', 'llm.request.type': 'chat' }, 'workflow'],
  [{ 'langfuse.observation.type': 'span' }, 'chain'],
  [{ 'ai.operationId': 'ai.generateText', 'gen_ai.request.model': 'gpt-4o' }, 'chain'],
  [{ 'llm.request.type': 'aget_responses', 'gen_ai.request.model': 'gpt-4o' }, 'other_operation'],
  [{ 'http.request.method': 'POST' }, 'unrelated'],
  [{ 'mlflow.spanType': '"AGENT"', 'gen_ai.request.model': 'gpt-4o', 'gen_ai.usage.input_tokens': 100 }, 'agent'],
  [{ 'mlflow.spanType': '"TOOL"' }, 'tool'],
  [{ 'langsmith.span.kind': 'chain', 'gen_ai.request.model': 'gpt-4o', 'gen_ai.usage.input_tokens': 100 }, 'chain'],
  [{ 'gen_ai.operation.name': 'run_agent', 'gen_ai.request.model': 'm', 'gen_ai.usage.input_tokens': 9 }, 'agent'],
  [{ 'gen_ai.operation.name': 'crew_kickoff', 'gen_ai.request.model': 'm', 'gen_ai.usage.input_tokens': 9 }, 'chain'],
  [{ 'gen_ai.operation.name': 'model_generation', 'gen_ai.request.model': 'm' }, 'other_operation'],
  [{ 'gen_ai.request.model': 'gpt-4o' }, 'no_operation'],
  [{ 'gen_ai.usage.input_tokens': 100, 'gen_ai.usage.output_tokens': 10 }, 'no_model'],
])('a span of %o is no record: %s', async (attributes, reason) => {
  const { events, passedOver, missing } = await readSpans([{ attributes }])

  expect(events).toEqual([])
  expect([...(passedOver.get('application') ?? [])]).toEqual([[reason, 1]])
  expect(missing.size).toBe(0)
})

test.each([
  ['no operation: openai-agents by Logfire', {}],
  ['an operation of its own', { 'gen_ai.operation.name': 'call_llm' }],
  ['MLflow, which writes JSON', { 'mlflow.spanType': '"CHAT_MODEL"' }],
  ['MLflow, embeddings', { 'mlflow.spanType': '"EMBEDDING"' }],
  ['LangSmith', { 'langsmith.span.kind': 'llm' }],
  ['Alibaba', { 'gen_ai.span.kind': 'LLM' }],
  ['Laminar', { 'lmnr.span.type': 'LLM' }],
  ['HoneyHive', { honeyhive_event_type: 'model' }],
])('a span with a model and usage is a call: %s', async (_, kind) => {
  const { 'gen_ai.operation.name': __, ...call } = CHAT
  const { events, passedOver } = await readSpans([{ attributes: { ...call, ...kind } }])

  expect(events).toMatchObject([{ event: { requested_model: 'gpt-4o', input_tokens: 100, output_tokens: 10 } }])
  expect(passedOver.size).toBe(0)
})

describe('a call that Logfire shows when its stream begins and when it ends', () => {
  const { 'gen_ai.usage.input_tokens': input, 'gen_ai.usage.output_tokens': output, ...bare } = CHAT
  const usage = { 'gen_ai.usage.input_tokens': input as number, 'gen_ai.usage.output_tokens': output as number }
  const opening = { spanId: '1111111111111111', attributes: { ...bare, 'logfire.span_type': 'span' } }
  const log = { ...bare, 'logfire.span_type': 'log', 'gen_ai.response.id': 'chatcmpl-1' }
  const ending = { spanId: '2222222222222222', attributes: { ...log, ...usage } }
  const scope = 'logfire.openai'

  test.each([
    ['in one request', [opening, ending], 1],
    ['the end first', [ending, opening], 0],
  ])('is one record: %s', async (_, spans, place) => {
    const { events, passedOver } = await readSpans(spans, { scope })

    expect(events).toMatchObject([{ place, event: { input_tokens: 100, response_id: 'chatcmpl-1' } }])
    expect([...(passedOver.get('application') ?? [])]).toEqual([['same_call', 1]])
  })

  test('is one record also in two requests, and where the stream states no usage', async () => {
    expect((await readSpans([opening], { scope })).events).toEqual([])
    expect((await readSpans([{ ...ending, attributes: log }], { scope })).events).toHaveLength(1)
  })

  test('a call that is not streamed, a failure and other senders are none of it', async () => {
    const whole = { ...opening, attributes: { ...opening.attributes, ...usage } }
    const failed = await readSpans([{ ...opening, isError: true }], { scope })

    expect((await readSpans([whole], { scope })).events).toHaveLength(1)
    expect([...(failed.passedOver.get('application') ?? [])]).toEqual([['failed_without_usage', 1]])
    expect((await readSpans([opening], { scope: 'pydantic-ai' })).events).toHaveLength(1)
  })
})

test('a failed call without usage is no record, one with usage is', async () => {
  const { 'gen_ai.usage.input_tokens': _, 'gen_ai.usage.output_tokens': __, ...bare } = CHAT
  const { events, passedOver } = await readSpans([
    { attributes: bare, isError: true },
    { attributes: CHAT, isError: true, spanId: '00f067aa0ba902b7' },
  ])

  expect([...(passedOver.get('application') ?? [])]).toEqual([['failed_without_usage', 1]])
  expect(events.map(({ place }) => place)).toEqual([1])
})

describe('how a call ended', () => {
  const outcomeOf = async (span: Partial<TestSpan>) =>
    (await readSpans([{ attributes: CHAT, ...span }])).events.map(({ event }) => event.outcome)

  test.each([
    ['a span that ended', {}, 'success'],
    ['a span with an error', { isError: true }, 'error'],
    ['a kind of error', { attributes: { ...CHAT, 'error.type': 'timeout' } }, 'error'],
    ['an aborted request', { isError: true, attributes: { ...CHAT, 'error.type': 'AbortError' } }, 'cancelled'],
    ['a cancelled one', { attributes: { ...CHAT, 'error.type': 'asyncio.CancelledError' } }, 'cancelled'],
  ])('%s', async (_, span, outcome) => {
    expect(await outcomeOf(span)).toEqual([outcome])
  })

  test('an interrupted call without usage is a record, since the provider may charge for it', async () => {
    const { 'gen_ai.usage.input_tokens': _, 'gen_ai.usage.output_tokens': __, ...bare } = CHAT
    const attributes = { ...bare, 'error.type': 'APIUserAbortError' }

    expect(await outcomeOf({ isError: true, attributes })).toEqual(['cancelled'])
  })
})

test.each(['gen_ai.response.id', 'llm.response.id', 'ai.response.id', 'gen_ai.generation.id', 'aws.request_id'])(
  'the id of the response under %s',
  async (key) => {
    const { events } = await readSpans([{ attributes: { ...CHAT, [key]: 'chatcmpl-9' } }])

    expect(events[0]?.event).toMatchObject({ response_id: 'chatcmpl-9', span_id: SPAN, trace_id: TRACE })
  },
)

describe('one request that two instrumentations show', () => {
  const outer = { spanId: '1111111111111111', attributes: CHAT }
  const inner = { spanId: '2222222222222222', parentSpanId: '1111111111111111', attributes: CHAT }

  test('the inner span counts', async () => {
    const { events, passedOver } = await readSpans([inner, outer])

    expect(events.map(({ place }) => place)).toEqual([0])
    expect([...(passedOver.get('application') ?? [])]).toEqual([['same_call', 1]])
  })

  test('the outer one, if only it states usage', async () => {
    const bare = { ...inner, attributes: { 'gen_ai.operation.name': 'chat', 'gen_ai.request.model': 'gpt-4o' } }

    expect((await readSpans([bare, outer])).events.map(({ place }) => place)).toEqual([1])
  })

  test('the outer one of LiteLLM, which it bills', async () => {
    const attributes = { ...CHAT, 'llm.request.type': 'acompletion' }
    const { events } = await readSpans(
      [
        { ...inner, attributes },
        { ...outer, attributes },
      ],
      { scope: 'litellm' },
    )

    expect(events.map(({ place }) => place)).toEqual([1])
  })

  test('what counts has what only the other one states: who called, ids, tags, parts of equal totals', async () => {
    const stated = {
      ...CHAT,
      'user.id': 'ada',
      'langfuse.trace.metadata.feature': 'search',
      'gen_ai.usage.cache_read.input_tokens': 5,
    }
    const own = { ...CHAT, 'gen_ai.response.id': 'chatcmpl-9' }
    const { events } = await readSpans([
      { ...inner, attributes: own },
      { ...outer, attributes: stated },
    ])

    expect(events.map(({ event }) => event)).toMatchObject([
      {
        span_id: inner.spanId,
        response_id: 'chatcmpl-9',
        attributed_identity: 'ada',
        cached_input_tokens: 5,
        tags: { feature: 'search' },
      },
    ])
  })

  test('three layers are one call, and several calls within one are as many', async () => {
    const innermost = { spanId: '3333333333333333', parentSpanId: inner.spanId, attributes: CHAT }
    const user = { ...CHAT, 'user.id': 'ada' }
    const { events } = await readSpans([innermost, inner, { ...outer, attributes: user }])
    expect(events.map(({ event }) => event)).toMatchObject([{ span_id: innermost.spanId, attributed_identity: 'ada' }])

    const second = { ...inner, spanId: '4444444444444444' }
    const both = await readSpans([inner, second, { ...outer, attributes: user }])
    expect(both.events.map(({ event }) => [event.span_id, event.attributed_identity])).toEqual([
      [inner.spanId, 'ada'],
      [second.spanId, 'ada'],
    ])
  })

  test('another model with other tokens is a tool that ran within the call', async () => {
    const attributes = {
      'gen_ai.operation.name': 'embeddings',
      'gen_ai.provider.name': 'openai',
      'gen_ai.request.model': 'text-embedding-3-small',
      'gen_ai.usage.input_tokens': 9,
    }

    expect((await readSpans([{ ...inner, attributes }, outer])).events).toHaveLength(2)
  })

  test('calls of one agent are different requests', async () => {
    const agent = { spanId: '3333333333333333', attributes: { 'gen_ai.operation.name': 'invoke_agent' } }
    const calls = ['4', '5'].map((digit) => ({
      spanId: digit.repeat(16),
      parentSpanId: agent.spanId,
      attributes: CHAT,
    }))

    expect((await readSpans([...calls, agent])).events).toHaveLength(2)
  })
})

test('an event id follows from tenant, trace and span alone', async () => {
  const ids = async (span: Partial<TestSpan>, tenantId = 'tnt_1') => {
    const { events } = await readSpans([{ attributes: CHAT, ...span }], {}, { tenantId, isGateway: false })
    return events[0]?.event.event_id
  }
  const first = await ids({})

  expect(first).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-5[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
  expect(await ids({ startMs: START_MS - 5, attributes: { ...CHAT, 'user.id': 'ada' } })).toBe(first)
  expect(await ids({ spanId: SPAN.replace('b', 'c') })).not.toBe(first)
  expect(await ids({ traceId: TRACE.replace('0', '1') })).not.toBe(first)
  expect(await ids({}, 'tnt_2')).not.toBe(first)
})

test('a call without ids, time or model is rejected, each by its reason', async () => {
  const { events, missing } = await readSpans([
    { attributes: CHAT, traceId: '0'.repeat(32) },
    { attributes: CHAT, spanId: '1234' },
    { attributes: CHAT, startMs: 0 },
    { attributes: { 'gen_ai.operation.name': 'chat', 'gen_ai.system': 'openai' } },
  ])

  expect(events).toEqual([])
  expect(Object.fromEntries(missing)).toEqual({ trace_or_span_id: 2, start_time: 1, model: 1 })
})

test('a provider that is not named is the first part of the model, or unknown', async () => {
  const byModel = await eventOf({
    'gen_ai.operation.name': 'chat',
    'gen_ai.request.model': 'anthropic/claude-sonnet-4',
  })
  const { events, withoutProvider } = await readSpans([
    { attributes: { 'gen_ai.operation.name': 'chat', 'gen_ai.request.model': 'my-model' } },
  ])

  expect(byModel.provider).toBe('anthropic')
  expect(events[0]?.event.provider).toBe('unknown')
  expect(withoutProvider).toBe(1)
})

test('image tokens are read', async () => {
  const event = await eventOf({ ...CHAT, 'gen_ai.usage.image.input_tokens': 5, 'gen_ai.usage.image.output_tokens': 6 })

  expect(event).toMatchObject({ image_input_tokens: 5, image_output_tokens: 6 })
})

test.each([
  ['parts beyond the whole were counted apart', 300, 1000, 200, 1500],
  ['parts within the whole are parts of it', 1500, 1000, 200, 1500],
  ['the whole may be all parts', 1200, 1000, 200, 1200],
])('input tokens: %s', async (_, input, cached, written, total) => {
  const event = await eventOf({
    ...CHAT,
    'gen_ai.usage.input_tokens': input,
    'gen_ai.usage.cache_read.input_tokens': cached,
    'gen_ai.usage.cache_creation.input_tokens': written,
  })

  expect(event).toMatchObject({ input_tokens: total, cached_input_tokens: cached, cache_write_tokens: written })
})

test.each([
  ['a double', { 'gen_ai.usage.cost': 1.5e-7 }, '0.00000015'],
  ['a text', { 'gen_ai.usage.cost': '0.25' }, '0.25'],
  ['an integer', { 'gen_ai.usage.cost': 3 }, '3'],
  ['zero, which instrumentations state for unknown prices', { 'gen_ai.usage.cost': 0 }, undefined],
  ['a negative amount', { 'gen_ai.usage.cost': -0.5 }, undefined],
  ['another currency', { 'gen_ai.usage.cost.amount': 0.5, 'gen_ai.usage.cost.currency': 'EUR' }, undefined],
  ['US dollars', { 'gen_ai.usage.cost.amount': 0.5, 'gen_ai.usage.cost.currency': 'USD' }, '0.5'],
])('a cost that is %s', async (_, cost, expected) => {
  expect((await eventOf({ ...CHAT, ...cost })).estimated_cost_usd).toBe(expected)
})

test('values that fit no field are absent', async () => {
  const event = await eventOf({
    ...CHAT,
    'gen_ai.usage.input_tokens': -1,
    'gen_ai.usage.output_tokens': 1.5,
    'gen_ai.response.model': 'm'.repeat(300),
    'user.id': 'line\nbreak',
    'openai.response.service_tier': 'auto',
    'gen_ai.usage.cache_read.input_tokens': 'many',
  })

  expect(event).toMatchObject({ requested_model: 'gpt-4o' })
  for (const field of ['input_tokens', 'output_tokens', 'served_model', 'attributed_identity', 'service_tier']) {
    expect(event).toHaveProperty(field, undefined)
  }
})

test('a service that nobody named is none', async () => {
  const event = await eventOf(
    { ...CHAT, 'gen_ai.agent.name': 'planner' },
    { resource: { 'service.name': 'unknown_service:node' } },
  )

  expect(event).toMatchObject({ attributed_service: 'planner', tags: { agent: 'planner' } })
})

test('Kubernetes attributes of the resource', async () => {
  const resource = {
    'k8s.namespace.name': 'shop',
    'k8s.deployment.name': 'search-api',
    'k8s.replicaset.name': 'search-api-7d',
  }

  expect(await eventOf(CHAT, { resource })).toMatchObject({ k8s_namespace: 'shop', k8s_workload: 'search-api' })
})
