import { describe, expect, test } from 'vitest'
import type { Billing } from '../../../../internal/auth/billing.js'
import type { SpanEvent } from '../../../../internal/ingest/otlp/span-events.js'

import { type Attributes, codesOf, eventsOf, passedOver, readLogs, readSpans } from './coding-assistants.js'

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
