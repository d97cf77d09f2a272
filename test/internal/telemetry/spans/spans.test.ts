import { afterEach, expect, test } from 'vitest'
import { createLog } from '../../../../internal/telemetry/log.js'
import { METRICS } from '../../../../internal/telemetry/metrics.js'
import { endRequest, openSpans, SPANS } from '../../../../internal/telemetry/spans/spans.js'
import { launchCollector } from '../../../support/collector.js'

const TRACE = '0af7651916cd43dd8448eb211c80319c'
const PARENT = 'b7ad6b7169203331'
const ORIGIN = { role: 'gateway', member: 'one', version: '1.2.3' }
const lines: Record<string, unknown>[] = []
const log = createLog('gateway', 'info', {
  format: 'json',
  destination: { write: (line: string) => void lines.push(JSON.parse(line)) },
})

const open = (otlpTracesEndpoint: string, traceSampleRatio = 1): Promise<void> =>
  openSpans({ otlpTracesEndpoint, traceSampleRatio }, ORIGIN, log)

afterEach(() => SPANS.close())

test('without a collector there are none', async () => {
  await open('')
  expect(SPANS.isOn).toBe(false)
  SPANS.end({
    name: 'none',
    kind: 'server',
    context: { traceId: TRACE, spanId: PARENT },
    startMs: 0,
    endMs: 1,
    attributes: {},
    isError: false,
  })
})

test('a request is sampled if its caller’s span is and the share has its trace; by the share otherwise', async () => {
  const { url } = await launchCollector()
  const begin = (traceparent: string) => SPANS.beginRequest(traceparent, () => 'c'.repeat(32))
  const withEnd = (end: string): string => `00-${'a'.repeat(19)}${end}-${PARENT}-01`

  await open(url, 1)
  expect(begin(`00-${TRACE}-${PARENT}-01`)).toEqual({
    context: { traceId: TRACE, spanId: expect.stringMatching(/^[0-9a-f]{16}$/) },
    parentSpanId: PARENT,
  })
  expect(begin(`00-${TRACE}-${PARENT}-00`)).toBeUndefined()
  expect(begin('')).toMatchObject({ context: { traceId: 'c'.repeat(32) }, parentSpanId: undefined })
  await SPANS.close()

  await open(url, 0.5)
  expect(begin(withEnd('fffffffffffff'))).toBeDefined()
  expect(begin(withEnd('0000000000000'))).toBeUndefined()
  await SPANS.close()

  await open(url, 0)
  expect(begin(withEnd('fffffffffffff'))).toBeUndefined()
  expect(begin('')).toBeUndefined()
})

test('a collector gets spans in OTLP, with what sent them, and no request of it is traced by others', async () => {
  const collector = await launchCollector()
  await open(collector.url)
  const context = { traceId: TRACE, spanId: '1'.repeat(16) }
  endRequest({ context, parentSpanId: PARENT }, 'GET /things/:id', 503, 1_700_000_000_123, 1_700_000_000_125)
  endRequest({ context, parentSpanId: undefined }, 'GET /left', 0, 1_700_000_000_000, 1_700_000_000_001)
  await SPANS.close()

  expect(collector.spans).toEqual([
    {
      name: 'GET /things/:id',
      kind: 2,
      traceId: TRACE,
      spanId: '1'.repeat(16),
      parentSpanId: PARENT,
      links: [],
      droppedLinks: 0,
      attributes: {
        'http.request.method': 'GET',
        'http.route': '/things/:id',
        'http.response.status_code': 503,
        'error.type': '503',
      },
      resource: {
        'service.namespace': 'attribution',
        'service.name': 'attribution-gateway',
        'service.version': '1.2.3',
        'service.instance.id': 'one',
        'attribution.role': 'gateway',
      },
      scope: 'attribution-service',
      isError: true,
      ms: 2,
    },
    expect.objectContaining({
      name: 'GET /left',
      parentSpanId: '',
      attributes: { 'http.request.method': 'GET', 'http.route': '/left' },
      isError: false,
    }),
  ])
  expect(collector.requests.map(({ headers }) => headers)).toEqual([
    expect.objectContaining({
      'content-type': 'application/x-protobuf',
      traceparent: expect.stringMatching(/^00-[0-9a-f]{32}-[0-9a-f]{16}-00$/),
    }),
  ])
})

test('a collector that refuses or does not answer costs the spans, which are counted', async () => {
  METRICS.getSingleMetric('attribution_spans_dropped_total')?.reset()
  const collector = await launchCollector()
  collector.status = 401
  await open(collector.url)
  const begun = { context: { traceId: TRACE, spanId: PARENT }, parentSpanId: undefined }
  endRequest(begun, 'GET /things', 200, 1_700_000_000_000, 1_700_000_000_001)
  await SPANS.close()

  expect(await METRICS.getSingleMetric('attribution_spans_dropped_total')?.get()).toMatchObject({
    values: [{ labels: { reason: 'export_failed' }, value: 1 }],
  })
  expect(lines.at(-1)).toMatchObject({ level: 'warn', msg: 'the collector takes no spans; they are dropped' })
})
