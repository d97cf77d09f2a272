import { describe, expect, test } from 'vitest'
import type { Admitted, IntakeRequest } from '../../../../internal/ingest/intake/intake-route.js'
import { asRpcStatus } from '../../../../internal/ingest/otlp/otlp-answers.js'
import { otlpRoutes } from '../../../../internal/ingest/otlp/otlp-routes.js'
import { problem } from '../../../../internal/problems/problem-catalogue.js'
import { asProtobuf, decodeOtlp, logsJson, START_MS, type TestSpan, tracesJson } from '../../../support/otlp.js'

const PROTOBUF = 'application/x-protobuf'
const JSON_TYPE = 'application/json; charset=utf-8'
const ALL: Admitted = { accepted: 0, duplicates: 0, rejected: [] }

const routeAt = (path: string) => {
  const dimensionsOf = () => [{ key: 'cost_centre', personal: false }]
  const route = otlpRoutes({ dimensionsOf }).find((each) => each.path === path)
  if (route === undefined) throw new Error(`no route ${path}`)
  return route
}
const request = (contentType: string): IntakeRequest => ({
  contentType,
  caller: { tenantId: 'tnt_1', isGateway: false },
  receivedAtMs: START_MS,
  header: (name) => (name === 'user-agent' ? 'OTel-OTLP-Exporter/1.2 (x)' : ''),
})
async function refusal(path: string, body: Buffer, contentType: string) {
  const read = await routeAt(path).read(body, request(contentType))
  if (read.kind !== 'refused') throw new Error('it is read')
  return read.problem
}
async function answer(path: string, body: Buffer, contentType: string, admitted = ALL) {
  const read = await routeAt(path).read(body, request(contentType))
  if (read.kind === 'refused') throw new Error(read.problem.detail)
  return read.answer(admitted)
}
async function sendersOf(path: string, body: Buffer, contentType: string) {
  const read = await routeAt(path).read(body, request(contentType))
  if (read.kind === 'refused') throw new Error(read.problem.detail)
  return read.senders
}
const CHAT: TestSpan = {
  attributes: { 'gen_ai.operation.name': 'chat', 'gen_ai.system': 'openai', 'gen_ai.request.model': 'gpt-4o' },
}
const traces = (...spans: TestSpan[]) => asProtobuf('ExportTraceServiceRequest', tracesJson(spans))

test('a full success is an empty response in the form of the request', async () => {
  const spans = traces(CHAT, { attributes: { 'http.request.method': 'GET' } })
  const protobuf = await answer('/v1/traces', spans, PROTOBUF)
  const json = await answer('/v1/logs', Buffer.from(JSON.stringify(logsJson([]))), JSON_TYPE)

  expect(protobuf).toMatchObject({ status: 200, headers: { 'Content-Type': PROTOBUF }, body: Buffer.alloc(0) })
  expect(json).toMatchObject({ status: 200, headers: { 'Content-Type': 'application/json' }, body: '{}' })
})

/** `resource_metrics` of an empty resource. */
const METRICS = Buffer.from([0x0a, 0x02, 0x0a, 0x00])

test('metrics are taken with a warning: nothing becomes of them; a request without any tests the connection', async () => {
  const errorMessage = expect.stringContaining('not kept')
  const protobuf = await answer('/v1/metrics', METRICS, PROTOBUF)
  const json = await answer('/v1/metrics', Buffer.from('{"resourceMetrics":[{}]}'), JSON_TYPE)
  const empty = await answer('/v1/metrics', Buffer.from('{}'), JSON_TYPE)

  expect(decodeOtlp('ExportMetricsServiceResponse', protobuf.body as Buffer)).toEqual({
    partialSuccess: { errorMessage },
  })
  expect(JSON.parse(json.body as string)).toEqual({ partialSuccess: { rejectedDataPoints: '0', errorMessage } })
  expect(JSON.parse(empty.body as string)).toEqual({})
})

test.each(['/v1/traces', '/v1/logs'])('%s takes a request without anything', async (path) => {
  expect(await answer(path, Buffer.alloc(0), PROTOBUF)).toMatchObject({ status: 200 })
  expect(await answer(path, Buffer.alloc(0), JSON_TYPE)).toMatchObject({ status: 200, body: '{}' })
  expect(await answer(path, Buffer.from('{}'), JSON_TYPE)).toMatchObject({ status: 200, body: '{}' })
})

test('a partial success counts what was rejected and says why, without a value', async () => {
  const spans = [CHAT, { ...CHAT, spanId: '0' }, { attributes: { 'gen_ai.operation.name': 'chat' } }]
  const refused = problem('VALIDATION_FAILED', 'The event does not match its schema.', {
    errors: [{ pointer: '/ingestion_timestamp', detail: 'must not lie before the retention of records' }],
  })
  const admitted = { ...ALL, rejected: [{ place: 0, problem: refused }] }
  const partialSuccess = {
    rejectedSpans: '3',
    errorMessage:
      'Rejected model calls: 3 (no valid trace and span id: 1; no model (gen_ai.request.model): 1; ' +
      'ingestion_timestamp must not lie before the retention of records: 1).',
  }

  const protobuf = await answer('/v1/traces', traces(...spans), PROTOBUF, admitted)
  const json = await answer('/v1/traces', Buffer.from(JSON.stringify(tracesJson(spans))), JSON_TYPE, admitted)

  expect(decodeOtlp('ExportTraceServiceResponse', protobuf.body as Buffer)).toEqual({ partialSuccess })
  expect(JSON.parse(json.body as string)).toEqual({ partialSuccess })
})

test('a call without a provider is taken with a warning: nothing is rejected', async () => {
  const { body } = await answer(
    '/v1/traces',
    traces({ attributes: { 'gen_ai.operation.name': 'chat', 'gen_ai.request.model': 'my-model' } }),
    PROTOBUF,
  )

  expect(decodeOtlp('ExportTraceServiceResponse', body as Buffer)).toEqual({
    // 0 rejected, which protobuf does not write.
    partialSuccess: { errorMessage: 'Model calls without a provider (gen_ai.provider.name): 1.' },
  })
})

test('a log record is rejected as a log record', async () => {
  const attributes = { 'event.name': 'api_request', 'event.timestamp': '2026-11-23T10:00:05.000Z' }
  const json = logsJson([{ body: 'claude_code.api_request', attributes }])
  const { body } = await answer('/v1/logs', asProtobuf('ExportLogsServiceRequest', json), PROTOBUF)

  expect(decodeOtlp('ExportLogsServiceResponse', body as Buffer)).toMatchObject({
    partialSuccess: { rejectedLogRecords: '1' },
  })
})

test('a body of another form is refused, and nothing of it is taken', async () => {
  const whole = traces(CHAT)

  expect(await refusal('/v1/traces', whole.subarray(0, -1), PROTOBUF)).toMatchObject({ code: 'MALFORMED_REQUEST' })
  expect(await refusal('/v1/traces', whole, JSON_TYPE)).toMatchObject({ code: 'MALFORMED_REQUEST' })
  expect(await refusal('/v1/traces', whole, 'text/plain')).toMatchObject({ code: 'UNSUPPORTED_MEDIA_TYPE' })
  expect(await refusal('/v1/metrics', whole, '')).toMatchObject({ code: 'UNSUPPORTED_MEDIA_TYPE' })
})

test('a refusal is a google.rpc.Status in the form of the request', () => {
  const limited = problem('RATE_LIMITED', 'Too much.', { retryAfterSeconds: 3 })
  const statusIn = (contentType: string) =>
    asRpcStatus(limited, {
      contentType,
      instance: '/v1/traces',
      traceId: 'abc',
      tenantId: null,
      errorDocsUrl: 'https://docs',
    })
  const protobuf = statusIn(PROTOBUF)
  // Some drop what was answered 429.
  const status = { code: 14, message: 'Too much. (trace abc)' }

  expect(protobuf).toMatchObject({ status: 503, headers: { 'Content-Type': PROTOBUF, 'Retry-After': '3' } })
  expect(decodeOtlp('Status', protobuf.body as Buffer)).toMatchObject(status)
  expect(JSON.parse(statusIn('text/plain').body as string)).toEqual(status)
  expect(statusIn('text/plain').headers).toMatchObject({ 'Content-Type': 'application/json' })
})

test('what is no model call is counted by sender and reason', async () => {
  const agent = { attributes: { 'gen_ai.operation.name': 'invoke_agent' } }
  const spans = traces(CHAT, agent, agent, { attributes: { 'http.request.method': 'GET' } })

  const [sender] = await sendersOf('/v1/traces', spans, PROTOBUF)
  const [exporter] = await sendersOf('/v1/metrics', Buffer.from('{}'), JSON_TYPE)

  expect(sender?.sender).toMatchObject({ layer: 'application' })
  expect(Object.fromEntries(sender?.passedOver ?? [])).toEqual({ agent: 2, unrelated: 1 })
  expect(exporter?.sender).toEqual({ name: 'OTel-OTLP-Exporter', version: '1.2', service: '', layer: 'application' })
  expect(Object.fromEntries(exporter?.passedOver ?? [])).toEqual({ metrics_request: 1 })
})

describe('spans that look like model calls and became no records', () => {
  const OWN_WORDS = {
    attributes: {
      'my_llm.model': 'gpt-4o',
      'my_llm.usage.input_tokens': 12,
      'my_llm.request.max_tokens': 100,
      'my_llm.messages.0.content': 'secret',
      'my_llm.choices.3.token_count': 7,
    },
  }
  const WARNING = 'Became no records, but look like model calls: 2. See /api/v1/sources.'

  test('are a warning in the answer: nothing is rejected', async () => {
    const { body } = await answer('/v1/traces', traces(OWN_WORDS, OWN_WORDS), PROTOBUF)

    expect(decodeOtlp('ExportTraceServiceResponse', body as Buffer)).toEqual({
      partialSuccess: { errorMessage: WARNING },
    })
  })

  test.each([
    ['protobuf', traces(OWN_WORDS), PROTOBUF],
    ['json', Buffer.from(JSON.stringify(tracesJson([OWN_WORDS]))), JSON_TYPE],
  ])('show in %s how their sender spells what it states, and nothing that it states', async (_, body, type) => {
    const [sender] = await sendersOf('/v1/traces', body, type)

    expect(Object.fromEntries(sender?.passedOver ?? [])).toEqual({ unread_call: 1 })
    expect([...(sender?.fieldNames ?? [])]).toEqual(['my_llm.model', 'my_llm.usage.input_tokens'])
  })

  test.each([
    ['a call of the same sender is understood', [CHAT, OWN_WORDS]],
    [
      'they sum up the steps of the AI SDK',
      [{ attributes: { 'ai.operationId': 'ai.x', 'gen_ai.request.model': 'm' } }],
    ],
    ['they are of something else', [{ attributes: { 'auth.token': 'x', 'device.model': 'y', 'http.usage': 'z' } }]],
  ])('are none where %s', async (_, spans) => {
    expect(await answer('/v1/traces', traces(...spans), PROTOBUF)).toMatchObject({ body: Buffer.alloc(0) })
  })

  test('of a log are told as well', async () => {
    const json = logsJson([{ body: 'x', attributes: { model: 'gpt-5', total_token_count: 5 } }])
    const { body } = await answer('/v1/logs', Buffer.from(JSON.stringify(json)), JSON_TYPE)

    expect(JSON.parse(body as string)).toEqual({
      partialSuccess: { rejectedLogRecords: '0', errorMessage: WARNING.replace('2', '1') },
    })
  })
})

test('a request that names more senders than are told apart counts the others together', async () => {
  const resources = Array.from({ length: 100 }, (_, i) => tracesJson([CHAT], { scope: `scope-${i}` }).resourceSpans)
  const body = Buffer.from(JSON.stringify({ resourceSpans: resources.flat() }))

  const senders = await sendersOf('/v1/traces', body, JSON_TYPE)

  expect(senders).toHaveLength(65)
  expect(senders.at(-1)?.sender.name).toBe('other')
})

test.each([
  ['/v1/metrics', { resourceMetrics: [{}] }, 'Metrics are not kept: calls are read from spans.'],
  ['/v1development/profiles', { resourceProfiles: [{}] }, 'Profiles are not kept.'],
])('%s is taken, and says that nothing is kept', async (path, body, errorMessage) => {
  const { body: answered } = await answer(path, Buffer.from(JSON.stringify(body)), JSON_TYPE)
  expect(JSON.parse(answered as string)).toMatchObject({ partialSuccess: { errorMessage } })
})
