import { context, ROOT_CONTEXT, SpanStatusCode, trace } from '@opentelemetry/api'
import { SeverityNumber } from '@opentelemetry/api-logs'
import { afterEach, describe, expect, test } from 'vitest'
import { otlpRoutes } from '../../../../internal/ingest/otlp/otlp-routes.js'
import { type IntakeGateway, type IntakeGatewayOptions, startIntakeGateway } from '../../../support/intake-gateway.js'
import { logging, tracing } from '../../../support/otlp-sdk.js'

/** The unmodified OpenTelemetry SDK in front of the listener: batch processors, gzip, both encodings. */

let gateway: IntakeGateway

const start = async (options: IntakeGatewayOptions = {}) => {
  gateway = await startIntakeGateway({
    routes: otlpRoutes({ dimensionsOf: () => [] }),
    ...options,
  })
  return { url: gateway.url, apiKey: gateway.plainKey }
}
afterEach(() => gateway.stop())

const CHAT = {
  'gen_ai.operation.name': 'chat',
  'gen_ai.provider.name': 'openai',
  'gen_ai.request.model': 'gpt-4o',
  'gen_ai.usage.input_tokens': 100,
  'gen_ai.usage.output_tokens': 10,
}

describe.each(['protobuf', 'json'] as const)('%s', (encoding) => {
  test('spans: the calls of an agent are events, the agent is none', async () => {
    const resource = { 'service.name': 'search' }
    const { tracer, provider, outcomes } = tracing({ ...(await start()), encoding, resource })

    const agent = tracer.startSpan('invoke_agent', {
      attributes: { 'gen_ai.operation.name': 'invoke_agent', ...{ 'gen_ai.usage.input_tokens': 300 } },
    })
    const within = trace.setSpan(ROOT_CONTEXT, agent)
    for (const user of ['ada', 'grace', 'ada']) {
      const call = tracer.startSpan('chat gpt-4o', { attributes: { ...CHAT, 'user.id': user } }, within)
      call.addEvent('gen_ai.content.prompt', { 'gen_ai.prompt': 'canary' })
      call.recordException(new Error('canary'))
      call.setStatus({ code: SpanStatusCode.OK })
      call.end()
    }
    agent.end()
    await provider.forceFlush()
    const events = gateway.events()

    expect(outcomes).toEqual([true])
    expect(events).toHaveLength(3)
    // Events lie in the partitions of their ids.
    expect(events.find((event) => event.attributed_identity === 'ada')).toMatchObject({
      provider: 'openai',
      requested_model: 'gpt-4o',
      input_tokens: 100,
      output_tokens: 10,
      attributed_service: 'search',
      attributed_identity: 'ada',
      trace_id: agent.spanContext().traceId,
      parent_span_id: agent.spanContext().spanId,
    })
    expect(Buffer.concat(gateway.stored.map(Buffer.from)).includes('canary')).toBe(false)
    await provider.shutdown()
  })

  test('a batch that is sent again makes no second events', async () => {
    const options = { ...(await start()), encoding }
    const first = tracing(options)
    const span = first.tracer.startSpan('chat', { attributes: CHAT })
    span.end()
    await first.provider.forceFlush()
    const body = JSON.stringify({
      resourceSpans: [
        {
          scopeSpans: [
            {
              spans: [
                {
                  ...span.spanContext(),
                  startTimeUnixNano: `${Date.now()}000000`,
                  attributes: Object.entries(CHAT).map(([key, value]) => ({
                    key,
                    value: typeof value === 'string' ? { stringValue: value } : { intValue: value },
                  })),
                },
              ],
            },
          ],
        },
      ],
    })
    const headers = { 'x-api-key': options.apiKey, 'content-type': 'application/json' }
    const again = await fetch(`${options.url}/v1/traces`, { method: 'POST', headers, body })

    expect([again.status, await again.text()]).toEqual([200, '{}'])
    expect(new Set(gateway.events().map(({ event_id: id }) => id)).size).toBe(1)
    expect(gateway.events()).toHaveLength(1)
    await first.provider.shutdown()
  })

  test('log events of Claude Code are events', async () => {
    const resource = { 'service.name': 'claude-code' }
    const { logger, provider, outcomes } = logging(
      { ...(await start()), encoding, resource },
      'com.anthropic.claude_code.events',
    )
    const attributes = { 'session.id': 's-1', 'user.email': 'ada@example.com' }
    logger.emit({
      severityNumber: SeverityNumber.INFO,
      body: 'claude_code.user_prompt',
      attributes: { ...attributes, 'event.name': 'user_prompt', prompt: 'canary' },
    })
    logger.emit({
      severityNumber: SeverityNumber.INFO,
      body: 'claude_code.api_request',
      attributes: {
        ...attributes,
        'event.name': 'api_request',
        'event.timestamp': new Date().toISOString(),
        model: 'claude-sonnet-4-5-20250929',
        cost_usd: 0.0123,
        input_tokens: 3,
        cache_read_tokens: 12_000,
        output_tokens: 250,
        request_id: 'req_1',
      },
    })
    await provider.forceFlush()

    expect(outcomes).toEqual([true])
    expect(gateway.events()).toMatchObject([
      { provider: 'anthropic', input_tokens: 12_003, estimated_cost_usd: '0.0123', attributed_service: 'claude-code' },
    ])
    expect(Buffer.concat(gateway.stored.map(Buffer.from)).includes('canary')).toBe(false)
    await provider.shutdown()
  })

  test('what is over the limit is sent again when the answer says so', async () => {
    const { tracer, provider, outcomes } = tracing({ ...(await start({ ingestPerSecond: 10 })), encoding })
    const export_ = async (count: number): Promise<void> => {
      for (let i = 0; i < count; i++) tracer.startSpan('chat', { attributes: CHAT }).end()
      await provider.forceFlush()
    }
    await export_(20)
    await export_(5)

    expect(outcomes).toEqual([true, true])
    expect(gateway.events()).toHaveLength(25)
    await provider.shutdown()
  })
})

test('a batch of which a part is rejected is a success that says so', async () => {
  const { url, apiKey } = await start()
  const { tracer, provider, outcomes } = tracing({ url, apiKey, encoding: 'protobuf' })
  const { 'gen_ai.request.model': _, ...withoutModel } = CHAT
  tracer.startSpan('chat', { attributes: withoutModel }).end()
  tracer.startSpan('chat', { attributes: CHAT }).end()
  await provider.forceFlush()

  expect(outcomes).toEqual([true])
  expect(gateway.events()).toHaveLength(1)
  await provider.shutdown()
})

test('a credential that is none is refused for good', async () => {
  const { url } = await start()
  const { tracer, provider, outcomes } = tracing({ url, apiKey: 'ak_live_none', encoding: 'json' })
  tracer.startSpan('chat', { attributes: CHAT }).end()
  await context.with(ROOT_CONTEXT, () => provider.forceFlush().catch(() => undefined))

  expect(outcomes).toEqual([false])
  expect(gateway.events()).toEqual([])
  await provider.shutdown()
})
