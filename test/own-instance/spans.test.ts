import { randomBytes } from 'node:crypto'
import { beforeAll, describe, expect, test } from 'vitest'
import { freePort } from '../../internal/local/supervisor/supervised-instance.js'
import { type Ask, askAs } from '../support/ask.js'
import { attributed, listedAll } from '../support/attributed.js'
import { type CollectedSpan, type Collector, launchCollector } from '../support/collector.js'
import { wireEvent } from '../support/invocations.js'
import { tracing } from '../support/otlp-sdk.js'
import { launchService, type RunningService } from '../support/service.js'

/** One event with a known `traceparent` through the running product: its spans, and what they link to. */

const newTrace = (): string => randomBytes(16).toString('hex')
const newSpan = (): string => randomBytes(8).toString('hex')

let collector: Collector
let service: RunningService
let intake: string
let ask: Ask

beforeAll(async () => {
  collector = await launchCollector()
  const intakePort = await freePort()
  service = await launchService({
    args: ['--intake-port', String(intakePort), '--otlp-traces-endpoint', collector.url, '--trace-sample-ratio', '1'],
    roles: [],
  })
  intake = `http://127.0.0.1:${intakePort}`
  ask = askAs(service.baseUrl, { 'x-api-key': service.credentials.api_key })
  // As many collectors do: what comes is passed on to the product itself as well.
  collector.forward = async (body) => {
    const answer = await fetch(`${intake}/v1/traces`, {
      method: 'POST',
      body,
      headers: { 'x-api-key': service.credentials.api_key, 'content-type': 'application/x-protobuf' },
    })
    expect(answer.status).toBe(200)
  }
})

async function send(event: Record<string, unknown>, traceparent: string): Promise<string> {
  const { status, json } = await ask('POST', '/api/v1/invocations', wireEvent(event), {
    traceparent,
    'idempotency-key': crypto.randomUUID(),
  })
  expect(status).toBe(202)
  return json.invocation_id.replace('inv_', 'attr_')
}

const idOf = ({ traceId, spanId }: CollectedSpan): string => `${traceId}-${spanId}`
const byStage = (spans: readonly CollectedSpan[]) =>
  ['a', 't', 'b', 'c'].flatMap((stage) => spans.filter(({ attributes }) => attributes['attribution.stage'] === stage))

describe('an event whose caller has sampled it', () => {
  const [traceId, caller] = [newTrace(), newSpan()]
  const call = { trace_id: newTrace(), span_id: newSpan() }
  let request: CollectedSpan
  let batches: readonly CollectedSpan[]
  let insert: CollectedSpan

  test('has a span of its request, of each stage’s batch and of the insert', async () => {
    const event_id = crypto.randomUUID()
    // Nobody is named, so that each stage hands it on to the next.
    await send(
      { event_id, attributed_identity: undefined, attributed_service: undefined, ...call },
      `00-${traceId}-${caller}-01`,
    )
    const isHere = (span: CollectedSpan): boolean => span.traceId === traceId
    const all = await collector.until(6, isHere)

    request = all.find(({ kind }) => kind === 2) as CollectedSpan
    batches = byStage(all.filter(({ kind }) => kind === 5))
    insert = all.find(({ kind }) => kind === 3) as CollectedSpan
    expect(all).toHaveLength(6)
    expect(request).toMatchObject({
      name: 'POST /api/v1/invocations',
      parentSpanId: caller,
      attributes: { 'http.response.status_code': 202 },
      resource: { 'service.name': 'attribution-gateway', 'attribution.role': 'gateway' },
    })
    expect(batches.map(({ name }) => name)).toEqual([
      'process invocations.a',
      'process invocations.t',
      'process invocations.b',
      'process invocations.c',
    ])
    expect(insert).toMatchObject({
      name: 'INSERT attributions',
      attributes: { 'db.system.name': 'clickhouse', 'db.operation.batch.size': 1, 'attribution.stage': 'c' },
    })
  })

  test('is followed by links: each of them names the request and the call itself', () => {
    for (const span of [...batches, insert]) {
      expect(span.links).toEqual([idOf(request), `${call.trace_id}-${call.span_id}`])
      expect(span.resource).toMatchObject({
        'service.name': 'attribution-attributor',
        'attribution.role': 'attributor',
      })
      expect(span.isError).toBe(false)
    }
    expect(batches.map(({ parentSpanId }) => parentSpanId)).toEqual(batches.map(() => request.spanId))
    expect(insert.parentSpanId).toBe(batches[3]?.spanId)
  })

  test('its batches say their stage, partition, events and bytes', () => {
    expect(batches.map(({ attributes }) => attributes)).toMatchObject(
      ['a', 't', 'b', 'c'].map((stage) => ({
        'attribution.stage': stage,
        'messaging.destination.name': `invocations.${stage}`,
        'messaging.destination.partition.id': expect.stringMatching(/^[01]$/),
        'messaging.batch.message_count': 1,
        'attribution.batch.events': 1,
        'attribution.batch.bytes': expect.any(Number),
        'attribution.batch.resolved': stage === 'c' ? 1 : 0,
        'attribution.batch.handed_on': stage === 'c' ? 0 : 1,
        'attribution.batch.is_repeat': false,
      })),
    )
  })
})

test('an unsampled event makes nothing', async () => {
  const [unsampled, sampled] = [newTrace(), newTrace()]
  const id = await send({ event_id: crypto.randomUUID() }, `00-${unsampled}-${newSpan()}-00`)
  await expect.poll(async () => (await ask('GET', `/v1/attribution/${id}`)).status, { timeout: 30_000 }).toBe(200)
  // Spans come in order: one of the attributor that is later than the record of the first. These two come in one
  // request.
  const events = [crypto.randomUUID(), crypto.randomUUID()].map((event_id) => wireEvent({ event_id }))
  await ask('POST', '/api/v1/invocations', events, { traceparent: `00-${sampled}-${newSpan()}-01` })
  const [request] = await collector.until(1, (span) => span.traceId === sampled && span.kind === 2)
  const [insert] = await collector.until(1, (span) => span.traceId === sampled && span.kind === 3)
  expect(insert?.links).toEqual([request && idOf(request)])

  const named = collector.spans.filter((span) => span.traceId === unsampled || span.links.join().includes(unsampled))
  expect(named).toEqual([])
})

test('a call that comes as a span is followed in the same way', async () => {
  const apiKey = service.credentials.api_key
  const { tracer, provider } = tracing({
    url: intake,
    apiKey,
    encoding: 'protobuf',
    resource: { 'service.name': 'app' },
  })
  const span = tracer.startSpan('chat', {
    attributes: { 'gen_ai.operation.name': 'chat', 'gen_ai.provider.name': 'openai', 'gen_ai.request.model': 'gpt-4o' },
  })
  span.end()
  await provider.shutdown()
  const { traceId, spanId } = span.spanContext()
  const [batch] = await collector.until(1, ({ links }) => links.includes(`${traceId}-${spanId}`))
  const [request] = await collector.until(1, (each) => each.traceId === batch?.traceId && each.kind === 2)

  expect(request).toMatchObject({ name: 'POST /v1/traces', attributes: { 'http.response.status_code': 200 } })
})

test('spans that a collector passes on to the product itself become no records and no spans', async () => {
  const { json } = await ask('GET', '/v1/attribution?limit=100')
  const ofIntake = collector.spans.filter(({ name }) => name === 'POST /v1/traces')

  // That of the call above; each export so far has been passed on.
  expect(ofIntake).toHaveLength(1)
  expect(json.data).toHaveLength(5)
  const texts = JSON.stringify(collector.spans)
  expect(texts).not.toMatch(/gen_ai|tnt_|key_|usr_|ada@example|search/)
  expect(texts).not.toContain(service.credentials.api_key)
})

test('a collector that does not answer costs no event', async () => {
  await collector.close()
  const calls = Array.from({ length: 20 }, () => ({ event_id: crypto.randomUUID() }))
  const traceparent = `00-${newTrace()}-${newSpan()}-01`

  expect(
    await attributed(askAs(service.baseUrl, { 'x-api-key': service.credentials.api_key, traceparent }), {}),
  ).toBeDefined()
  expect(await listedAll(ask, calls)).toHaveLength(20)
})

test('what is left at a stop is sent before the process ends', async () => {
  const back = await launchCollector(Number(new URL(collector.url).port))
  const request = async (): Promise<string> => {
    const traceId = newTrace()
    await send({ event_id: crypto.randomUUID() }, `00-${traceId}-${newSpan()}-01`)
    return traceId
  }
  // Until the exporter has noticed that the collector is back.
  const first = await request()
  await back.until(1, ({ traceId }) => traceId === first)
  const last = await request()
  await service.stop()

  expect(back.spans.filter(({ traceId, kind }) => traceId === last && kind === 2)).toHaveLength(1)
})
