import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { envoy } from '../../../../internal/ingest/adapters/envoy.js'
import { KeyList } from '../../../../internal/ingest/otlp/key-list.js'
import { type ReadTelemetry, readTelemetry } from '../../../../internal/ingest/otlp/read-request.js'
import { validateInvocation } from '../../../../internal/invocations/validate-invocation.js'
import { JsonSelector } from '../../../../internal/text/select-json.js'
import {
  asProtobuf,
  logsJson,
  type PlainValue,
  SPAN,
  START_MS,
  type TestLogRecord,
  type TestRequest,
  TRACE,
} from '../../../support/otlp.js'
import { drawn } from '../../../support/run/rings.js'

const KEYS = new KeyList()
const DETAILS = 'gen_ai.client.inference.operation.details'

/** Envoy names no scope, and its resource is itself. */
const EDGE: TestRequest = { scope: '', resource: { 'service.name': 'envoy-edge', log_name: '', node_name: '' } }

async function read(records: readonly TestLogRecord[], request = EDGE): Promise<ReadTelemetry> {
  const json = logsJson(records, request)
  const context = { tenantId: 'tnt_1', isGateway: true, billing: undefined }
  const bytes = asProtobuf('ExportLogsServiceRequest', json)
  const result = await readTelemetry(bytes, 'protobuf', 'logs', KEYS, context)
  expect(await readTelemetry(Buffer.from(JSON.stringify(json)), 'json', 'logs', KEYS, context)).toEqual(result)
  if (typeof result === 'string') throw new Error(result)
  return result
}

async function eventsOf(records: readonly TestLogRecord[], request?: TestRequest) {
  const { events } = await read(records, request)
  return events.map(({ event }) => {
    const plain = JSON.parse(JSON.stringify(event)) as Record<string, unknown>
    expect(validateInvocation(plain, START_MS + 60_000)).toMatchObject({ ok: true, unknownFields: 0 })
    return plain
  })
}

/** As Envoy Gateway's sink sends the fields of its JSON format: all of them as texts. */
const FIELDS = {
  start_time: new Date(START_MS).toISOString(),
  method: 'POST',
  'x-request-id': 'a7c1',
  response_code: '200',
  response_flags: '-',
  duration: '1040',
  'gen_ai.original.model': '-',
  'gen_ai.request.model': 'claude-sonnet-4-5',
  'gen_ai.response.model': 'claude-sonnet-4-5',
  'gen_ai.provider.name': 'prod/anthropic/route/chat/rule/0/ref/0',
  'gen_ai.usage.input_tokens': '9033',
  'gen_ai.usage.cached_input_tokens': '1000',
  'gen_ai.usage.cache_creation_input_tokens': '4511',
  'gen_ai.usage.output_tokens': '5',
  'user.id': 'ana@example.com',
  'session.id': '-',
  'service.name': 'search',
  'user-agent': 'app/1',
}
const NONE = { 'gen_ai.usage.input_tokens': '-', 'gen_ai.usage.output_tokens': '-' }
const NO_PARTS = {
  'gen_ai.usage.cached_input_tokens': '-',
  'gen_ai.usage.cache_creation_input_tokens': '-',
}
const recordOf = (fields: Record<string, PlainValue> = {}, more: Partial<TestLogRecord> = {}): TestLogRecord => ({
  attributes: { ...FIELDS, ...fields },
  body: 'access',
  ...more,
})

test("a record of Envoy's access log is the call of its line, and the caller's service is not Envoy", async () => {
  const [event] = await eventsOf([recordOf({}, { traceId: TRACE, spanId: SPAN })])

  expect(event).toEqual({
    event_id: expect.any(String),
    ingestion_layer: 'gateway',
    ingestion_timestamp: FIELDS.start_time,
    provider: 'anthropic',
    requested_model: 'claude-sonnet-4-5',
    served_model: 'claude-sonnet-4-5',
    input_tokens: 9033,
    cached_input_tokens: 1000,
    cache_write_tokens: 4511,
    output_tokens: 5,
    latency_ms: 1040,
    outcome: 'success',
    attributed_identity: 'ana@example.com',
    attributed_service: 'search',
    attribution_confidence: 0.7,
    tags: { 'caller.user-agent': 'app/1' },
    trace_id: TRACE,
    span_id: SPAN,
    instrumentation: '(log)',
  })
})

test('a record that names only what OpenTelemetry names, beside an id of the request, is a call as well', async () => {
  const attributes = {
    'event.name': DETAILS,
    'gen_ai.operation.name': 'chat',
    'gen_ai.provider.name': 'openai',
    'gen_ai.request.model': 'gpt-4o',
    'gen_ai.response.model': '-',
    'gen_ai.usage.input_tokens': '1001',
    'gen_ai.usage.output_tokens': '101',
    'gen_ai.usage.cache_read.input_tokens': '256',
    'x-request-id': '-',
    response_code: 200,
  }
  const [first, second] = await eventsOf([{ attributes }, { attributes, atMs: START_MS + 1 }])

  expect(first).toMatchObject({ provider: 'openai', input_tokens: 1001, cached_input_tokens: 256, output_tokens: 101 })
  expect(first).not.toHaveProperty('attributed_service')
  expect(second?.['event_id']).not.toBe(first?.['event_id'])
})

test.each<[string, TestRequest, object]>([
  ['of an instrumentation', { scope: 'my-app-logger', resource: { 'service.name': 'shop' } }, {}],
  ['that names an event', { scope: '', resource: { 'service.name': 'shop' } }, { 'event.name': DETAILS }],
])('a record %s that has an id of a request is not Envoy’s', async (_, request, named) => {
  const attributes = {
    ...named,
    'gen_ai.request.model': 'gpt-4o',
    'gen_ai.usage.input_tokens': 9,
    'x-request-id': 'a7',
  }
  const { events } = await read([{ attributes }], request)
  expect(events.filter(({ event }) => event.ingestion_layer === 'gateway')).toEqual([])
})

test('the line in a file and the record of one call are one event', () => {
  const line = fc.record({
    id: fc.constantFrom('-', 'a7c1', 'x'.repeat(393)),
    atMs: fc.integer({ min: START_MS - 86_400_000, max: START_MS }),
    input: fc.integer({ min: 0, max: 100_000 }),
    output: fc.integer({ min: 1, max: 100_000 }),
    flags: fc.constantFrom('-', 'DC', 'UC', 'DPE'),
    code: fc.constantFrom('200', '499', '503'),
  })
  return fc.assert(
    fc.asyncProperty(line, async ({ id, atMs, input, output, flags, code }) => {
      const fields = {
        ...FIELDS,
        ...NO_PARTS,
        'x-request-id': id,
        connection_id: String(input),
        upstream_request_id: id,
        route_name: 'search',
        upstream_cluster: 'openai',
        attributed_service: flags,
        start_time: new Date(atMs).toISOString(),
        'gen_ai.usage.input_tokens': String(input),
        'gen_ai.usage.output_tokens': String(output),
        response_flags: flags,
        response_code: code,
      }
      const { instrumentation, ...event } = (await eventsOf([{ attributes: fields }]))[0] ?? {}
      const selection = new JsonSelector(envoy.wanted).select(Buffer.from(JSON.stringify(fields)))
      const mapped = envoy.map(selection?.value ?? {}, {
        contentType: 'application/json',
        caller: { tenantId: 'tnt_1', isGateway: true },
        receivedAtMs: START_MS,
        header: () => '',
      })
      expect(mapped.kind === 'event' && JSON.parse(JSON.stringify(mapped.event))).toEqual(event)
      expect(instrumentation).toBe('(log)')
    }),
    { numRuns: drawn(30) },
  )
})

describe('the end of a call', () => {
  test.each([
    [{ response_flags: 'DC' }, 'cancelled', 'partial'],
    [{ response_code: '499', 'gen_ai.usage.output_tokens': '2' }, 'cancelled', 'partial'],
    [{ response_flags: 'DPE', ...NONE, ...NO_PARTS }, 'cancelled', undefined],
    [{ response_flags: 'UR', ...NONE, ...NO_PARTS }, 'error', undefined],
    [{ ...NONE, ...NO_PARTS }, 'success', undefined],
  ])('of %j is read', async (fields, outcome, basis) => {
    const [event] = await eventsOf([recordOf(fields)])
    expect([event?.['outcome'], event?.['usage_basis']]).toEqual([outcome, basis])
  })

  test('that was refused, or was no call of a model, is counted as such', async () => {
    const noModel = { 'gen_ai.request.model': '-', 'gen_ai.response.model': '-' }
    const result = await read([
      recordOf({ response_code: '429', ...NONE, ...NO_PARTS }),
      recordOf({ ...noModel, ...NONE, ...NO_PARTS }),
      recordOf(noModel),
    ])

    expect(result.events).toEqual([])
    expect(result.missing.size).toBe(0)
    expect(Object.fromEntries(result.senders.flatMap(({ passedOver }) => [...passedOver]))).toEqual({
      failed_without_usage: 1,
      unrelated: 1,
      no_model: 1,
    })
  })
})
