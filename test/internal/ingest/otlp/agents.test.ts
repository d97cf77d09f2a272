import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Billing } from '../../../../internal/auth/billing.js'
import { KeyList } from '../../../../internal/ingest/otlp/key-list.js'
import { type ReadTelemetry, readTelemetry } from '../../../../internal/ingest/otlp/read-request.js'
import type { SpanEvent } from '../../../../internal/ingest/otlp/span-events.js'
import type { Signal } from '../../../../internal/ingest/otlp/telemetry.js'
import { validateInvocation } from '../../../../internal/invocations/validate-invocation.js'
import {
  asProtobuf,
  logsJson,
  type PlainValue,
  START_MS,
  type TestLogRecord,
  type TestRequest,
  type TestSpan,
  tracesJson,
} from '../../../support/otlp.js'

const KEYS = new KeyList()
type Attributes = Readonly<Record<string, PlainValue>>

async function read(json: object, signal: Signal, billing?: Billing): Promise<ReadTelemetry> {
  const message = signal === 'traces' ? 'ExportTraceServiceRequest' : 'ExportLogsServiceRequest'
  const context = { tenantId: 'tnt_1', isGateway: false, billing }
  const result = await readTelemetry(asProtobuf(message, json), 'protobuf', signal, KEYS, context)
  const same = await readTelemetry(Buffer.from(JSON.stringify(json)), 'json', signal, KEYS, context)
  expect(same).toEqual(result)
  if (typeof result === 'string') throw new Error(result)
  for (const { event } of result.events) {
    const validation = validateInvocation(JSON.parse(JSON.stringify(event)), START_MS + 60_000)
    expect(validation).toMatchObject({ ok: true, unknownFields: 0 })
  }
  return result
}

const readLogs = (records: readonly TestLogRecord[], request: TestRequest, billing?: Billing) =>
  read(logsJson(records, request), 'logs', billing)
const readSpans = (spans: readonly TestSpan[], request: TestRequest, billing?: Billing) =>
  read(tracesJson(spans, request), 'traces', billing)

const eventsOf = ({ events }: ReadTelemetry): SpanEvent[] => events.map(({ event }) => event)
const codesOf = (event: SpanEvent | undefined): readonly string[] => event?.assumptions?.split(',') ?? []
const passedOver = ({ senders }: ReadTelemetry): unknown =>
  Object.fromEntries(senders.flatMap((sender) => [...sender.passedOver]))

describe('Claude Code', () => {
  const CALL = {
    'event.name': 'api_request',
    'event.timestamp': '2026-11-23T10:00:05.000Z',
    'event.sequence': 7,
    'session.id': 'f0a7c2',
    'user.id': 'hash-of-a-device',
    'user.email': 'ada@example.com',
    model: 'claude-sonnet-4-5-20250929',
    cost_usd: '0.0123',
    duration_ms: 4000,
    input_tokens: 3,
    output_tokens: 250,
    cache_read_tokens: 12000,
    cache_creation_tokens: 400,
    request_id: 'req_1',
  }
  const LOGS = { scope: 'com.anthropic.claude_code.events', resource: { 'service.name': 'claude-code' } }
  const SPANS = { scope: 'com.anthropic.claude_code.tracing', resource: { 'service.name': 'claude-code' } }
  const { 'event.name': _, 'event.timestamp': __, 'event.sequence': ___, cost_usd: ____, ...ON_SPAN } = CALL
  const SPAN_CALL = { ...ON_SPAN, 'gen_ai.system': 'anthropic', 'gen_ai.request.model': CALL.model, success: true }

  const logged = async (attributes: Attributes, billing?: Billing) => {
    const result = await readLogs([{ body: 'claude_code.api_request', attributes }], LOGS, billing)
    return eventsOf(result)[0] as SpanEvent
  }

  test('an api_request is a call; its input excludes the cache', async () => {
    expect(await logged(CALL)).toMatchObject({
      provider: 'anthropic',
      requested_model: 'claude-sonnet-4-5-20250929',
      ingestion_timestamp: '2026-11-23T10:00:01.000Z',
      latency_ms: 4000,
      input_tokens: 12403,
      cached_input_tokens: 12000,
      cache_write_tokens: 400,
      output_tokens: 250,
      estimated_cost_usd: '0.0123',
      is_cost_notional: true,
      attributed_service: 'claude-code',
      attributed_identity: 'ada@example.com',
      trace_id: 'f0a7c2',
      request_id: 'req_1',
      tags: { session_id: 'f0a7c2' },
    })
  })

  test('cache writes by lifetime, and the speed', async () => {
    const attributes = { ...CALL, cache_creation_5m_tokens: 300, cache_creation_1h_tokens: 100, speed: 'fast' }

    expect(await logged(attributes)).toMatchObject({
      input_tokens: 12403,
      cache_write_tokens: 400,
      cache_write_5m_tokens: 300,
      cache_write_1h_tokens: 100,
      speed: 'fast',
    })
    expect(await logged({ ...CALL, speed: 'normal' })).toMatchObject({ speed: 'standard' })
  })

  test('the long context that a model is asked for is no part of its name', async () => {
    expect(await logged({ ...CALL, model: 'claude-opus-5[1m]' })).toMatchObject({ requested_model: 'claude-opus-5' })
  })

  test('dollars in millionths', async () => {
    const { cost_usd: _cost, ...rest } = CALL

    expect(await logged({ ...rest, cost_usd_micros: 12_345 })).toMatchObject({ estimated_cost_usd: '0.012345' })
  })

  test.each([
    ['us.anthropic.claude-sonnet-4-5-20250929-v1:0', {}, 'aws.bedrock', false],
    ['arn:aws:bedrock:us-east-1:111122223333:application-inference-profile/a1b2', {}, 'aws.bedrock', false],
    ['arn:aws-us-gov:bedrock:us-gov-west-1:111122223333:inference-profile/x', {}, 'aws.bedrock', false],
    ['claude-sonnet-4-5@20250929', {}, 'gcp.vertex_ai', false],
    ['claude-sonnet-4-6', { 'anthropic.provider': 'vertex' }, 'gcp.vertex_ai', false],
    ['claude-sonnet-4-6', { 'anthropic.provider': 'bedrock' }, 'aws.bedrock', false],
    ['claude-sonnet-4-6', { 'anthropic.provider': 'foundry' }, 'azure.ai.inference', false],
    ['claude-sonnet-4-6', { 'anthropic.provider': 'firstParty' }, 'anthropic', true],
  ])('%s with %o is of %s: a cloud bills each call, a seat none', async (model, more, provider, isNotional) => {
    const event = await logged({ ...CALL, ...more, model })

    expect(event).toMatchObject({ provider, requested_model: model, is_cost_notional: isNotional })
    expect(codesOf(event)).toContain(isNotional ? 'billing_seat_assumed' : 'billing_from_provider')
  })

  test('what it states for Bedrock leaves out the cache: the price counts', async () => {
    const model = 'eu.anthropic.claude-opus-4-7'
    const record = { body: 'claude_code.api_request', attributes: { ...CALL, model } }
    const [bedrock] = (await readLogs([record], LOGS)).events
    const [own] = (await readLogs([{ attributes: CALL }], LOGS, 'api')).events

    expect(bedrock).toMatchObject({ trustsCost: false, event: { estimated_cost_usd: '0.0123' } })
    expect(codesOf(bedrock?.event)).toContain('stated_cost_without_cache')
    expect(own?.trustsCost).toBeUndefined()
  })

  test.each([
    ['seat', true, 'billing_from_credential'],
    ['api', false, 'billing_from_credential'],
    ['auto', true, 'billing_seat_assumed'],
    [undefined, true, 'billing_seat_assumed'],
  ] as const)('a credential of %s', async (billing, isNotional, code) => {
    const event = await logged(CALL, billing)

    expect(event.is_cost_notional).toBe(isNotional)
    expect(codesOf(event)).toContain(code)
  })

  test('a span of a request is a call, in the keys of the log events', async () => {
    const [event] = eventsOf(
      await readSpans(
        [{ attributes: { 'session.id': 'f0a7c2' }, spanId: 'c51b355bba564c16' }, { attributes: SPAN_CALL }],
        SPANS,
      ),
    )

    expect(event).toMatchObject({
      provider: 'anthropic',
      requested_model: CALL.model,
      input_tokens: 12403,
      cached_input_tokens: 12000,
      cache_write_tokens: 400,
      output_tokens: 250,
      latency_ms: 850,
      is_cost_notional: true,
      attributed_identity: 'ada@example.com',
      span_id: expect.any(String),
    })
  })

  test('log event and span of one request are two views of it, which have its id', async () => {
    const viewsOf = async (requestId: string) => {
      const log = await logged({ ...CALL, request_id: requestId })
      const [span] = eventsOf(await readSpans([{ attributes: { ...SPAN_CALL, request_id: requestId } }], SPANS))
      return [log, span as SpanEvent] as const
    }
    const [log, span] = await viewsOf('req_1')
    const [longLog, longSpan] = await viewsOf(`req_${'x'.repeat(400)}`)

    expect([log.request_id, log.instrumentation]).toEqual([span.request_id, `${LOGS.scope} (log)`])
    expect(span).toMatchObject({ instrumentation: SPANS.scope, requested_model: log.requested_model })
    expect(longSpan.request_id).toBe(longLog.request_id)
    expect(new Set([log, span, longLog].map(({ event_id: id }) => id)).size).toBe(3)
  })

  test('without an id of the request, its place in the session tells it apart', async () => {
    const { request_id: _id, ...rest } = CALL
    const ids = await Promise.all(
      [rest, { ...rest, 'event.sequence': 8 }, { ...rest, 'session.id': 'other' }].map(
        async (attributes) => (await logged(attributes)).event_id,
      ),
    )

    expect(new Set(ids).size).toBe(3)
    expect((await logged(rest)).event_id).toBe(ids[0])
  })

  test('other events, failures and other senders are passed over', async () => {
    const others = await readLogs(
      [
        { body: 'claude_code.user_prompt', attributes: { 'event.name': 'user_prompt', prompt: 'secret' } },
        { body: 'claude_code.api_request_body', attributes: { 'event.name': 'api_request_body', body: 'secret' } },
        { body: 'claude_code.api_error', attributes: { 'event.name': 'api_error', model: CALL.model, error: 'x' } },
      ],
      LOGS,
    )
    const another = await readLogs([{ attributes: CALL }], { scope: 'my-app', resource: { 'service.name': 'my-app' } })

    expect(others.events).toEqual([])
    expect(passedOver(others)).toEqual({ unrelated: 2, failed_without_usage: 1 })
    expect(another.events).toEqual([])
  })
})

describe('Gemini CLI', () => {
  const SENDER = { scope: 'gemini-cli', resource: { 'service.name': 'gemini-cli' } }
  const AT = '2026-11-23T10:00:05.261Z'
  const RESPONSE = {
    'event.name': 'gemini_cli.api_response',
    'event.timestamp': AT,
    'session.id': 'g-1',
    'user.email': 'ada@example.com',
    model: 'gemini-2.5-pro',
    duration_ms: 4100,
    input_token_count: 12000,
    output_token_count: 350,
    cached_content_token_count: 8000,
    thoughts_token_count: 420,
    tool_token_count: 0,
    total_token_count: 12770,
    auth_type: 'oauth-personal',
  }
  const DETAILS = {
    'event.name': 'gen_ai.client.inference.operation.details',
    'event.timestamp': AT,
    'session.id': 'g-1',
    'gen_ai.operation.name': 'generate_content',
    'gen_ai.provider.name': 'gcp.gen_ai',
    'gen_ai.request.model': 'gemini-2.5-pro',
    'gen_ai.response.id': 'gem-1',
    'gen_ai.usage.input_tokens': 12000,
    'gen_ai.usage.output_tokens': 350,
  }
  const {
    'gen_ai.response.id': _,
    'gen_ai.usage.input_tokens': __,
    'gen_ai.usage.output_tokens': ___,
    ...BEFORE
  } = DETAILS
  const record = (attributes: Attributes) => ({ body: 'API response from gemini. Status: 200.', attributes })

  test.each([
    ['its own first', [BEFORE, RESPONSE, DETAILS]],
    ['its own last', [BEFORE, DETAILS, RESPONSE]],
  ])('two log events of one call are one event: %s', async (__, events) => {
    const result = await readLogs(events.map(record), SENDER)

    expect(eventsOf(result)).toMatchObject([
      {
        provider: 'gcp.gemini',
        requested_model: 'gemini-2.5-pro',
        input_tokens: 12000,
        cached_input_tokens: 8000,
        output_tokens: 770,
        reasoning_tokens: 420,
        response_id: 'gem-1',
        is_cost_notional: true,
        attributed_identity: 'ada@example.com',
        attributed_service: 'gemini-cli',
      },
    ])
    expect(passedOver(result)).toEqual({ same_call: 2 })
  })

  test('the same in two requests, in either order', async () => {
    const details = await readLogs([record(DETAILS)], SENDER)
    const own = await readLogs([record(RESPONSE)], SENDER)

    expect(details.events).toEqual([])
    expect(eventsOf(own)).toMatchObject([{ input_tokens: 12000, output_tokens: 770 }])
  })

  test.each([
    ['oauth-personal', undefined, true, 'gcp.gemini', 'billing_from_auth_type'],
    ['oauth-personal', 'api', true, 'gcp.gemini', 'billing_from_auth_type'],
    ['gemini-api-key', 'seat', false, 'gcp.gemini', 'billing_from_auth_type'],
    ['vertex-ai', undefined, false, 'gcp.vertex_ai', 'billing_from_provider'],
    ['', 'api', false, 'gcp.gemini', 'billing_from_credential'],
    ['', undefined, true, 'gcp.gemini', 'billing_seat_assumed'],
  ] as const)('signed in by "%s" with a credential of %s', async (authType, billing, isNotional, provider, code) => {
    const [event] = eventsOf(await readLogs([record({ ...RESPONSE, auth_type: authType })], SENDER, billing))

    expect(event).toMatchObject({ is_cost_notional: isNotional, provider })
    expect(codesOf(event)).toContain(code)
  })

  test('failures and spans, whose calls the log events state', async () => {
    const failed = await readLogs([record({ ...RESPONSE, 'event.name': 'gemini_cli.api_error' })], SENDER)
    const spans = await readSpans(
      [
        { attributes: { 'gen_ai.operation.name': 'llm_call', 'gen_ai.request.model': 'gemini-2.5-pro' } },
        { attributes: { 'gen_ai.operation.name': 'invoke_agent', 'gen_ai.request.model': 'gemini-2.5-pro' } },
        { attributes: { 'http.request.method': 'POST' } },
      ],
      SENDER,
    )

    expect(passedOver(failed)).toEqual({ failed_without_usage: 1 })
    expect(spans.events).toEqual([])
    expect(passedOver(spans)).toEqual({ in_logs: 1, agent: 1, unrelated: 1 })
  })

  test('whatever the draw, one event a call', async () => {
    const call = fc.record({
      input: fc.integer({ min: 1, max: 5000 }),
      output: fc.integer({ min: 1, max: 500 }),
      thoughts: fc.integer({ min: 0, max: 500 }),
      second: fc.integer({ min: 0, max: 59 }),
    })
    const calls = fc.uniqueArray(call, { maxLength: 6, selector: ({ second }) => second })
    await fc.assert(
      fc.asyncProperty(calls, fc.integer(), async (drawn, seed) => {
        const records = drawn.flatMap(({ input, output, thoughts, second }) => {
          const at = `2026-11-23T10:00:${String(second).padStart(2, '0')}.261Z`
          const counts = { input_token_count: input, output_token_count: output, thoughts_token_count: thoughts }
          const own = { ...RESPONSE, ...counts, 'event.timestamp': at, cached_content_token_count: 0 }
          const told = { 'gen_ai.usage.input_tokens': input, 'gen_ai.usage.output_tokens': output }
          return [
            record({ ...own, total_token_count: input + output + thoughts }),
            record({ ...DETAILS, ...told, 'event.timestamp': at, 'gen_ai.response.id': `gem-${second}` }),
          ]
        })
        const shuffled = records.map((each, at) => ({ each, key: (at * 7919 + seed) % 101 }))
        const sorted = shuffled.sort((one, other) => one.key - other.key).map(({ each }) => each)
        const found = eventsOf(await readLogs(sorted, SENDER))

        expect(found).toHaveLength(drawn.length)
        for (const { input, output, thoughts, second } of drawn) {
          const expected = { input_tokens: input, output_tokens: output + thoughts, response_id: `gem-${second}` }
          expect(found).toContainEqual(expect.objectContaining(expected))
        }
      }),
      { numRuns: 25 },
    )
  })
})

describe('Codex', () => {
  const SENDER = { scope: 'codex_otel.log_only', resource: { 'service.name': 'codex_exec' } }
  const COMPLETED = {
    'event.name': 'codex.sse_event',
    'event.kind': 'response.completed',
    'event.timestamp': '2026-11-23T10:00:05.966Z',
    'conversation.id': 'c-1',
    model: 'gpt-5.3-codex',
    input_token_count: '1274',
    output_token_count: '374',
    cached_token_count: 256,
    cache_write_token_count: 0,
    reasoning_token_count: 30,
    tool_token_count: '1648',
  }
  const { input_token_count: _, output_token_count: __, tool_token_count: ___, ...STEP } = COMPLETED

  test('of all steps of a call the one with its tokens', async () => {
    const steps = [{ ...STEP, 'event.kind': 'response.created' }, STEP, COMPLETED]
    const result = await readLogs(
      steps.map((attributes) => ({ attributes })),
      SENDER,
    )

    expect(eventsOf(result)).toMatchObject([
      {
        provider: 'openai',
        requested_model: 'gpt-5.3-codex',
        input_tokens: 1274,
        cached_input_tokens: 256,
        output_tokens: 374,
        reasoning_tokens: 30,
        attributed_service: 'codex_exec',
        tags: { session_id: 'c-1' },
      },
    ])
    expect(passedOver(result)).toEqual({ unrelated: 2 })
  })

  test.each([
    [{ auth_mode: 'Chatgpt' }, undefined, true, 'billing_from_auth_type'],
    [{ auth_mode: 'ApiKey' }, 'seat', false, 'billing_from_auth_type'],
    [{}, 'seat', true, 'billing_from_credential'],
    [{}, undefined, false, 'billing_api_assumed'],
  ] as const)('signed in by %o with a credential of %s', async (more, billing, isNotional, code) => {
    const [event] = eventsOf(await readLogs([{ attributes: { ...COMPLETED, ...more } }], SENDER, billing))

    expect(event?.is_cost_notional).toBe(isNotional)
    expect(codesOf(event)).toContain(code)
  })

  test('a failure, and the spans of the program', async () => {
    const failed = await readLogs([{ attributes: { ...STEP, 'event.kind': 'response.failed' } }], SENDER)
    const spans = await readSpans(
      [
        { attributes: { 'code.line.number': 155, target: 'codex_core' } },
        { attributes: { 'gen_ai.usage.input_tokens': 1274, 'gen_ai.usage.output_tokens': 374 } },
      ],
      { scope: 'codex_exec' },
    )

    expect(passedOver(failed)).toEqual({ failed_without_usage: 1 })
    expect(passedOver(spans)).toEqual({ unrelated: 1, in_logs: 1 })
  })
})

describe('Qwen Code', () => {
  const SENDER = { scope: 'qwen-code', resource: { 'service.name': 'qwen-code' } }
  const LOG = {
    'event.name': 'qwen-code.api_response',
    'event.timestamp': '2026-11-23T10:00:05.613Z',
    'session.id': 'q-1',
    response_id: 'chatcmpl-1',
    model: 'gpt-4o-2024-08-06',
    duration_ms: 223,
    input_token_count: 1279,
    output_token_count: 379,
    cached_content_token_count: 256,
    thoughts_token_count: 0,
    total_token_count: 1658,
    auth_type: 'openai',
  }
  const SPAN = {
    'gen_ai.operation.name': 'chat',
    'gen_ai.provider.name': 'openai',
    'gen_ai.request.model': 'gpt-4o',
    'gen_ai.response.model': 'gpt-4o-2024-08-06',
    'gen_ai.response.id': 'chatcmpl-1',
    'gen_ai.usage.input_tokens': 1279,
    'gen_ai.usage.output_tokens': 379,
    'gen_ai.usage.cache_read.input_tokens': 256,
  }

  test('log event and span of one answer are one event', async () => {
    const [log] = eventsOf(await readLogs([{ attributes: LOG }], SENDER))
    const [span] = eventsOf(await readSpans([{ attributes: SPAN }], SENDER))

    for (const event of [log, span]) {
      expect(event).toMatchObject({
        event_id: log?.event_id,
        provider: 'openai',
        input_tokens: 1279,
        cached_input_tokens: 256,
        output_tokens: 379,
        response_id: 'chatcmpl-1',
        is_cost_notional: false,
      })
    }
  })

  test('a free quota', async () => {
    const attributes = { ...LOG, model: 'qwen3-coder-plus', auth_type: 'qwen-oauth' }
    const [event] = eventsOf(await readLogs([{ attributes }], SENDER, 'api'))

    expect(event).toMatchObject({ is_cost_notional: true, provider: 'dashscope' })
  })
})

describe('GitHub Copilot Chat', () => {
  const SENDER = { scope: 'copilot-chat', resource: { 'service.name': 'copilot-chat' } }
  const CHAT = {
    'gen_ai.operation.name': 'chat',
    'gen_ai.provider.name': 'github',
    'gen_ai.request.model': 'gpt-4o',
    'gen_ai.response.id': 'turn-1',
    'gen_ai.usage.input_tokens': 1500,
    'gen_ai.usage.output_tokens': 250,
    'gen_ai.usage.cache_read.input_tokens': 1200,
  }

  test('each span of a turn is a call of a seat, and the log event of it none', async () => {
    const spans = await readSpans(
      ['1', '2'].map((digit) => ({ spanId: digit.repeat(16), attributes: CHAT })),
      SENDER,
    )
    const logs = await readLogs(
      [{ attributes: { ...CHAT, 'event.name': 'gen_ai.client.inference.operation.details' } }],
      SENDER,
    )

    const [one, other] = eventsOf(spans)
    expect(one).toMatchObject({ input_tokens: 1500, cached_input_tokens: 1200, is_cost_notional: true })
    expect(codesOf(one)).toContain('billing_seat_assumed')
    expect([one?.response_id, other?.response_id]).toEqual([undefined, undefined])
    expect(one?.event_id).not.toBe(other?.event_id)
    expect(logs.events).toEqual([])
    expect(passedOver(logs)).toEqual({ same_call: 1 })
  })

  test('a key of the user’s own is billed', async () => {
    const attributes = { ...CHAT, 'gen_ai.provider.name': 'anthropic', 'gen_ai.request.model': 'claude-sonnet-4-5' }
    const [event] = eventsOf(await readSpans([{ attributes }], SENDER))

    expect(event).toMatchObject({ provider: 'anthropic', is_cost_notional: false })
  })
})

describe('the log event of an inference, by OpenTelemetry', () => {
  const DETAILS = {
    'event.name': 'gen_ai.client.inference.operation.details',
    'gen_ai.operation.name': 'chat',
    'gen_ai.provider.name': 'openai',
    'gen_ai.request.model': 'gpt-4o',
    'gen_ai.usage.input_tokens': 1200,
    'gen_ai.usage.output_tokens': 80,
  }
  const SENDER = { scope: 'opentelemetry.instrumentation.openai_v2', resource: { 'service.name': 'search' } }

  test('is a call, which has the id of the span around it', async () => {
    const { 'event.name': _, ...onSpan } = DETAILS
    const span = { traceId: '0af7651916cd43dd8448eb211c80319c', spanId: 'b7ad6b7169203331' }
    const [log] = eventsOf(await readLogs([{ ...span, attributes: DETAILS }], SENDER))
    const [other] = eventsOf(await readSpans([{ ...span, attributes: onSpan }], SENDER))

    expect(log).toMatchObject({
      input_tokens: 1200,
      output_tokens: 80,
      outcome: 'success',
      attributed_service: 'search',
    })
    expect(log?.event_id).toBe(other?.event_id)
  })

  test('is known by the id of its response, or by what it states', async () => {
    const events = [
      { ...DETAILS, 'gen_ai.response.id': 'chatcmpl-1' },
      { ...DETAILS, 'gen_ai.response.id': 'chatcmpl-2' },
      DETAILS,
      { ...DETAILS, 'gen_ai.usage.output_tokens': 81 },
    ]
    const found = eventsOf(
      await readLogs(
        events.map((attributes) => ({ attributes })),
        SENDER,
      ),
    )

    expect(new Set(found.map(({ event_id }) => event_id)).size).toBe(4)
  })

  test('may have any name: several within one span are calls of their own', async () => {
    const { 'event.name': _, ...stated } = DETAILS
    const span = { traceId: '0af7651916cd43dd8448eb211c80319c', spanId: 'b7ad6b7169203331' }
    const records = [
      { ...stated, 'event.name': 'llm.call.finished' },
      { ...stated, 'gen_ai.usage.output_tokens': 81 },
      { ...stated, 'gen_ai.response.id': 'chatcmpl-1' },
    ].map((attributes) => ({ ...span, attributes }))

    const found = eventsOf(await readLogs(records, SENDER))

    expect(new Set(found.map(({ event_id }) => event_id)).size).toBe(3)
    expect(found.map(({ span_id, parent_span_id }) => [span_id, parent_span_id])).toEqual(
      records.map(() => [undefined, span.spanId]),
    )
    expect(eventsOf(await readLogs(records, SENDER))).toEqual(found)
  })

  test('without usage, and by another name, is none', async () => {
    const attributes = { 'event.name': 'gen_ai.user.message', 'gen_ai.request.model': 'gpt-4o' }

    expect((await readLogs([{ attributes }], SENDER)).events).toEqual([])
  })

  test('is none before the answer, of a failure, or of an agent', async () => {
    const { 'gen_ai.usage.input_tokens': _, 'gen_ai.usage.output_tokens': __, ...before } = DETAILS
    const result = await readLogs(
      [before, { ...before, 'error.type': 'timeout' }, { ...DETAILS, 'gen_ai.operation.name': 'invoke_agent' }].map(
        (attributes) => ({ attributes }),
      ),
      SENDER,
    )

    expect(result.events).toEqual([])
    expect(passedOver(result)).toEqual({ same_call: 1, failed_without_usage: 1, agent: 1 })
  })
})

test('a credential of a seat covers every span that it brings', async () => {
  const attributes = {
    'gen_ai.operation.name': 'chat',
    'gen_ai.provider.name': 'anthropic',
    'gen_ai.request.model': 'claude-sonnet-4-5',
    'gen_ai.usage.input_tokens': 10,
    'gen_ai.usage.output_tokens': 1,
  }
  const [seat] = eventsOf(await readSpans([{ attributes }], { resource: { 'service.name': 'opencode' } }, 'seat'))
  const [usual] = eventsOf(await readSpans([{ attributes }], { resource: { 'service.name': 'opencode' } }))

  expect(seat).toMatchObject({ is_cost_notional: true, assumptions: 'billing_from_credential' })
  expect(usual?.is_cost_notional).toBeUndefined()
})
