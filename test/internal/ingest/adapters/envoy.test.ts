import { describe, expect, test } from 'vitest'
import { envoy } from '../../../../internal/ingest/adapters/envoy.js'
import { nameOf } from '../../../../internal/ingest/adapters/fields.js'
import { envoyPayload } from './gateway-payloads.js'
import { eventOf, mapped } from './mapped-payload.js'

describe('Envoy', () => {
  test('a line of the access log becomes an event', () => {
    expect(eventOf(envoy, envoyPayload())).toEqual({
      event_id: expect.any(String),
      ingestion_layer: 'gateway',
      ingestion_timestamp: '2026-11-21T09:50:00.250Z',
      provider: 'openai',
      requested_model: 'gpt-4o-mini',
      served_model: 'gpt-4o-mini-2024-07-18',
      input_tokens: 120,
      output_tokens: 40,
      latency_ms: 1040,
      outcome: 'success',
      // Of a header: also from a gateway only a claim.
      attributed_identity: 'ana@example.com',
      attribution_confidence: 0.7,
    })
  })

  test.each([
    ['azure-openai', 'azure-openai'],
    ['ns/bedrock-eu/rule/0', 'bedrock'],
    ['my-own-models', 'my-own-models'],
    ['envoy-ai-gateway/anthropic/route/0', 'anthropic'],
    ['prod/gcp-vertexai-anthropic/route/a/rule/0/ref/0', 'gcp.vertexai'],
    ['mistral/openai-eu/route/a/rule/0/ref/0', 'openai'],
    ['mistral/own/route/a/rule/0/ref/0', 'mistral'],
  ])('the provider of %s is %s', (name, provider) => {
    const event = eventOf(envoy, envoyPayload({ 'gen_ai.provider.name': name }))
    expect(event).toMatchObject({ provider })
    expect(event).not.toHaveProperty('assumptions')
  })

  test.each([
    'ns/not-mistral-but-openai/route/r/rule/0/ref/0',
    'ns/mistral-fallback-openai/route/r/rule/0/ref/0',
    'ns/mistral-compatible/route/r/rule/0/ref/0',
    'ns/own/route/mistral/rule/0/ref/0',
    '-',
    null,
  ])('%s names no provider: the model tells, and the record says so', (name) => {
    expect(eventOf(envoy, envoyPayload({ 'gen_ai.provider.name': name }))).toMatchObject({
      provider: 'openai',
      assumptions: 'provider_from_model',
    })
    const own = { 'gen_ai.provider.name': name, 'gen_ai.request.model': 'own-7b', 'gen_ai.response.model': '-' }
    expect(eventOf(envoy, envoyPayload(own))).toMatchObject({ provider: nameOf(name) ?? 'unknown' })
  })

  test('the service that a header names is a claim', () => {
    const event = eventOf(envoy, envoyPayload({ 'user.id': '-', 'service.name': 'search' }))
    expect(event).toMatchObject({ attributed_service: 'search', attribution_confidence: 0.7 })
    expect(event).not.toHaveProperty('attributed_identity')
  })

  test.each([
    [200, 'DC', 'cancelled', 'partial'],
    [200, 'DownstreamRemoteReset', 'cancelled', 'partial'],
    ['200', 'URX,DPE', 'cancelled', 'partial'],
    [499, '-', 'cancelled', 'partial'],
    [200, 'UC', 'error', 'partial'],
    [200, 'UT', 'error', 'partial'],
    [0, 'UF', 'error', 'partial'],
    [0, 'UpstreamConnectionFailure', 'error', 'partial'],
    [502, 'UPE', 'error', 'partial'],
    [200, null, 'success', undefined],
    [200, 'NC', 'success', undefined],
  ])('a call of status %s and the flags %s ended in %s', (response_code, response_flags, outcome, basis) => {
    const counted = eventOf(envoy, envoyPayload({ response_code, response_flags }))
    expect([counted['outcome'], counted['usage_basis']]).toEqual([outcome, basis])
    if (response_code === 502) return
    const none = { 'gen_ai.usage.input_tokens': 0, 'gen_ai.usage.output_tokens': '-', 'gen_ai.usage.total_tokens': '-' }
    const unknown = eventOf(envoy, envoyPayload({ response_code, response_flags, ...none }))
    expect(unknown).toMatchObject({ outcome })
    expect(unknown).not.toHaveProperty('input_tokens')
    expect(unknown).not.toHaveProperty('usage_basis')
  })

  test('the service that Envoy itself knows is believed of a gateway, and claims beside it are left out', () => {
    const line = envoyPayload({ attributed_service: 'search', 'service.name': 'other', 'user.id': 'eve@example.com' })

    const event = eventOf(envoy, line)
    expect(event).toMatchObject({ attributed_service: 'search' })
    expect(event).not.toHaveProperty('attributed_identity')
    expect(event).not.toHaveProperty('attribution_confidence')
    expect(eventOf(envoy, line, false)).toMatchObject({ attribution_confidence: 0.7 })
    expect(eventOf(envoy, envoyPayload({ attributed_identity: 'ana@example.com' }))).not.toHaveProperty(
      'attribution_confidence',
    )
  })

  test('route and cluster are tags, by which rules can name a service', () => {
    expect(eventOf(envoy, envoyPayload({ route_name: 'search', upstream_cluster: 'ns/openai' }))).toMatchObject({
      tags: { gateway_route: 'search', gateway_cluster: 'ns/openai' },
    })
  })

  test('calls that are alike but for their connection, or the id that the provider gave, are as many events', () => {
    const same = { 'x-request-id': 'chosen' }
    const lines = [
      {},
      { connection_id: 7 },
      { connection_id: 8 },
      { upstream_request_id: 'req_1' },
      { upstream_request_id: 'req_2' },
      { connection_id: 7, upstream_request_id: 'req_1' },
    ]
    const idsOf = (): unknown[] => lines.map((line) => eventOf(envoy, envoyPayload({ ...same, ...line }))['event_id'])

    expect(new Set(idsOf()).size).toBe(lines.length)
    expect(idsOf()).toEqual(idsOf())
    for (const none of ['-', null, '', 'null']) {
      const line = envoyPayload({ ...same, connection_id: none, upstream_request_id: none })
      expect(eventOf(envoy, line)['event_id']).toBe(idsOf()[0])
    }
  })

  test('calls of one id that begin within a millisecond on one connection are told apart by finer times', () => {
    const idAt = (start_time: string) =>
      eventOf(envoy, envoyPayload({ 'x-request-id': 'chosen', connection_id: 7, start_time }))['event_id']
    const times = ['271', '271004', '271004517', '271004518'].map((digits) => `2026-11-21T09:30:00.${digits}Z`)

    expect(new Set(times.map(idAt)).size).toBe(times.length)
    expect(times.map(idAt)).toEqual(times.map(idAt))
    expect(idAt('2026-11-21T09:30:00.271000000Z')).toBe(idAt('2026-11-21T09:30:00.271Z'))
  })

  test('a client that went away before the answer may be charged for', () => {
    const gone = envoyPayload({
      response_code: '0',
      'gen_ai.usage.input_tokens': '-',
      'gen_ai.usage.output_tokens': '-',
    })

    expect(eventOf(envoy, gone)).toMatchObject({ outcome: 'cancelled' })
  })

  test('lines without a model, or of a failure without usage, are no calls', () => {
    const nothing = {
      'gen_ai.usage.input_tokens': '-',
      'gen_ai.usage.output_tokens': '-',
      'gen_ai.usage.total_tokens': '-',
    }
    const unnamed = { 'gen_ai.request.model': '-', 'gen_ai.response.model': '-' }
    expect(mapped(envoy, envoyPayload(unnamed))).toEqual({ kind: 'skipped', reason: 'no_model_call' })
    expect(mapped(envoy, envoyPayload({ ...nothing, response_code: 503 }))).toMatchObject({ kind: 'skipped' })
    expect(eventOf(envoy, envoyPayload(nothing))).not.toHaveProperty('input_tokens')
  })
})

test('zeros of every count are unknown in an access log of Envoy, not a free call', () => {
  const zeros = {
    'gen_ai.usage.input_tokens': 0,
    'gen_ai.usage.output_tokens': 0,
    'gen_ai.usage.total_tokens': 0,
    'gen_ai.usage.cached_input_tokens': 0,
    'gen_ai.usage.cache_creation_input_tokens': 0,
    'gen_ai.usage.reasoning_tokens': 0,
  }
  const event = eventOf(envoy, envoyPayload(zeros))

  expect(event).not.toHaveProperty('input_tokens')
  expect(event).not.toHaveProperty('output_tokens')
})
