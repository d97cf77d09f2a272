import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { drawn } from '../../../support/run/rings.js'
import { type Attributes, codesOf, eventsOf, passedOver, readLogs, readSpans } from './coding-assistants.js'

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
      { numRuns: drawn(25) },
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
