import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { otlpRoutes } from '../../../../internal/ingest/otlp/otlp-routes.js'
import { passedOverTelemetry } from '../../../../internal/ingest/received/passed-over.js'
import { decodeGroup } from '../../../../internal/invocations/invocation-group.js'
import { createLog } from '../../../../internal/telemetry/log.js'
import { OWN_SCOPE } from '../../../../internal/telemetry/spans/finished-span.js'
import { endRequest, openSpans, SPANS } from '../../../../internal/telemetry/spans/spans.js'
import { type Collector, launchCollector } from '../../../support/collector.js'
import { type IntakeGateway, startIntakeGateway } from '../../../support/intake-gateway.js'
import { asProtobuf, type TestSpan, tracesJson } from '../../../support/otlp.js'
import { TENANT } from '../../../support/scope-keys.js'

/** The intake takes OTLP, and the product sends it: its own spans must become neither records nor further spans. */

const PARENT = 'b7ad6b7169203331'
const trace = (digit: string): string => digit.repeat(32)
const sampled = (digit: string): string => `00-${trace(digit)}-${PARENT}-01`
const call = (digit: string): TestSpan => ({
  traceId: trace(digit),
  spanId: PARENT,
  startMs: Date.now() - 1_000,
  endMs: Date.now(),
  attributes: { 'gen_ai.operation.name': 'chat', 'gen_ai.system': 'openai', 'gen_ai.request.model': 'gpt-4o' },
})

let gateway: IntakeGateway
let collector: Collector
/** Spans that the intake took and made nothing of. */
const passedOver = (): number =>
  passedOverTelemetry([...gateway.received.of(TENANT).all()]).find(({ kind }) => kind === 'unrelated')?.count ?? 0
const exportTo = (otlpTracesEndpoint: string): Promise<void> =>
  openSpans(
    { otlpTracesEndpoint, traceSampleRatio: 1 },
    { role: 'gateway', member: 'one', version: '1' },
    createLog('gateway', 'silent'),
  )
beforeAll(async () => {
  gateway = await startIntakeGateway({ routes: otlpRoutes({ dimensionsOf: () => [] }) })
  collector = await launchCollector()
  await exportTo(collector.url)
})
afterAll(async () => {
  await SPANS.close()
  await gateway.stop()
})

async function post(body: Uint8Array, headers: Record<string, string> = {}): Promise<number> {
  const answer = await fetch(`${gateway.url}/v1/traces`, {
    method: 'POST',
    body,
    headers: { 'x-api-key': gateway.plainKey, 'content-type': 'application/x-protobuf', ...headers },
  })
  return answer.status
}
const requestOf = (...scopes: (readonly [scope: string, spans: TestSpan[]])[]): Buffer => {
  const requests = scopes.map(([scope, spans]) => tracesJson(spans, { scope }).resourceSpans)
  return asProtobuf('ExportTraceServiceRequest', { resourceSpans: requests.flat() })
}
/** Sends one more call, whose span comes behind all others. @returns how many there are besides */
async function spansSoFar(): Promise<number> {
  const traceId = randomUUID().replaceAll('-', '')
  const body = requestOf(['app', [{ ...call('f'), traceId }]])
  expect(await post(body, { traceparent: `00-${traceId}-${PARENT}-01` })).toBe(200)
  markers++
  await collector.until(1, (span) => span.traceId === traceId)
  return collector.spans.length - markers
}
let markers = 0
const othersEvents = (): number => gateway.events().length - markers

test('calls of others have a span of their request, which their events carry', async () => {
  expect(await post(requestOf(['app', [call('1')]]), { traceparent: sampled('2') })).toBe(200)
  const [span] = await collector.until(1, ({ traceId }) => traceId === trace('2'))

  expect(span).toMatchObject({
    name: 'POST /v1/traces',
    parentSpanId: PARENT,
    attributes: { 'http.route': '/v1/traces', 'http.response.status_code': 200 },
  })
  const carried = gateway.stored.flatMap((message) => decodeGroup(message, 1)).at(-1)
  expect(carried).toMatchObject({
    traceparent: `00-${trace('2')}-${span?.spanId}-01`,
    invocation: { traceId: trace('1'), spanId: PARENT },
  })
})

test('the product’s own spans become no events, and no spans of their requests, however they come', async () => {
  endRequest(
    { context: { traceId: trace('3'), spanId: PARENT }, parentSpanId: undefined },
    'GET /x',
    200,
    1e12,
    1e12 + 1,
  )
  await collector.until(1, ({ traceId }) => traceId === trace('3'))
  const own = collector.requests.at(-1)
  if (own === undefined) throw new Error('nothing was exported')
  const before = { spans: await spansSoFar(), events: othersEvents() }

  // As they are sent; and as a collector passes them on, by itself and within a sampled trace of its own.
  const { traceparent } = own.headers as Record<string, string>
  expect(await post(own.body, { traceparent: traceparent ?? '' })).toBe(200)
  expect(await post(own.body)).toBe(200)
  expect(await post(own.body, { traceparent: sampled('4') })).toBe(200)
  // The export itself says that it is not sampled, whatever it holds.
  expect(await post(requestOf(['app', [call('4')]]), { traceparent: traceparent ?? '' })).toBe(200)
  // Refused: what it holds is not known.
  expect(await post(own.body, { 'x-api-key': 'none' })).toBe(401)
  expect(await post(Buffer.from('no protobuf'))).toBe(400)

  expect({ spans: await spansSoFar(), events: othersEvents() }).toEqual({ ...before, events: before.events + 1 })
})

test('a request in which a collector has put them together with calls has no span; the calls are events', async () => {
  const before = { spans: await spansSoFar(), events: othersEvents() }
  const mixed = requestOf(['app', [call('5')]], [OWN_SCOPE, [{ attributes: { 'http.route': '/x' } }]])
  expect(await post(mixed, { traceparent: sampled('6') })).toBe(200)

  expect({ spans: await spansSoFar(), events: othersEvents() }).toEqual({ ...before, events: before.events + 1 })
})

test('where the collector is its own intake, a call makes one span, and that span none', async () => {
  await SPANS.close()
  process.env['OTEL_EXPORTER_OTLP_TRACES_HEADERS'] = `x-api-key=${gateway.plainKey}`
  await exportTo(`${gateway.url}/v1/traces`)
  delete process.env['OTEL_EXPORTER_OTLP_TRACES_HEADERS']
  const before = passedOver()
  for (const calls of [1, 2, 3]) {
    expect(await post(requestOf(['app', [call(String(calls))]]), { traceparent: sampled('7') })).toBe(200)
    // A span of this export would come with the next one.
    await expect.poll(passedOver).toBeGreaterThanOrEqual(before + calls)
    expect(passedOver()).toBe(before + calls)
  }
})
