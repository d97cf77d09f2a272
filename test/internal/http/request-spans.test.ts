import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import type { Route } from '../../../internal/http/route.js'
import { createLog } from '../../../internal/telemetry/log.js'
import { openSpans, SPANS } from '../../../internal/telemetry/spans/spans.js'
import { type Collector, launchCollector } from '../../support/collector.js'
import { serveRoutes } from '../../support/serve-routes.js'

/** The spans of requests: which have one, and what it says. */

const log = createLog('gateway', 'silent')
const operation = (id: string): Route['operation'] => ({ id, tag: 'Contract', summary: id, replies: {} })
const ROUTES: readonly Route[] = [
  {
    method: 'get',
    path: '/things/:id',
    access: 'public',
    operation: operation('get'),
    handle: (exchange) => exchange.replyJson('200 OK', { traceparent: exchange.traceparent ?? null }),
  },
  {
    method: 'del',
    path: '/things/:id',
    access: 'admin:config',
    rateClass: 'control',
    operation: operation('delete'),
    handle: (exchange) => exchange.replyEmpty('204 No Content'),
  },
  {
    method: 'get',
    path: '/broken',
    access: 'public',
    operation: operation('broken'),
    handle: () => {
      throw new Error('broken')
    },
  },
  {
    method: 'get',
    path: '/readyz',
    access: 'public',
    isProbe: true,
    operation: operation('ready'),
    handle: (exchange) => exchange.replyJson('200 OK', {}),
  },
]

let url = ''
let collector: Collector
beforeAll(async () => {
  collector = await launchCollector()
  url = (await serveRoutes(ROUTES, log)).url
})
afterAll(() => SPANS.close())

const PARENT = 'b7ad6b7169203331'
const trace = (digit: string): string => digit.repeat(32)
const ask = (path: string, traceparent?: string, init: RequestInit = {}): Promise<Response> =>
  fetch(url + path, {
    ...init,
    headers: { connection: 'close', ...(traceparent !== undefined && { traceparent }), ...init.headers },
  })
const open = (): Promise<void> =>
  openSpans(
    { otlpTracesEndpoint: collector.url, traceSampleRatio: 1 },
    { role: 'gateway', member: 'one', version: '1' },
    log,
  )

test('off, nothing is sampled, and the answer says so', async () => {
  const answer = await ask('/things/1', `00-${trace('1')}-${PARENT}-01`)

  expect(answer.headers.get('traceparent')).toMatch(new RegExp(`^00-${trace('1')}-[0-9a-f]{16}-00$`))
  expect(await answer.json()).toEqual({ traceparent: null })
})

test('a sampled request has a span with method, route and status, which its answer and its events name', async () => {
  await open()
  const answer = await ask('/things/capability-url?query=secret', `00-${trace('2')}-${PARENT}-01`)
  const [span] = await collector.until(1, ({ traceId }) => traceId === trace('2'))

  expect(span).toMatchObject({
    name: 'GET /things/:id',
    kind: 2,
    parentSpanId: PARENT,
    isError: false,
    attributes: {
      'http.request.method': 'GET',
      'http.route': '/things/:id',
      'http.response.status_code': 200,
    },
  })
  const traceparent = `00-${trace('2')}-${span?.spanId}-01`
  expect(answer.headers.get('traceparent')).toBe(traceparent)
  expect(await answer.json()).toEqual({ traceparent })
  // Neither the path nor the query, nor who asked.
  expect(JSON.stringify(span)).not.toMatch(/capability-url|secret|127\.0\.0\.1/)
})

test('without a caller’s span a request begins a trace, which a refusal names', async () => {
  const answer = await ask('/things/1', undefined, { method: 'DELETE' })
  const { trace_id } = (await answer.json()) as { trace_id: string }
  const [span] = await collector.until(1, ({ traceId }) => traceId === trace_id)

  expect(span).toMatchObject({
    name: 'DELETE /things/:id',
    parentSpanId: '',
    attributes: { 'http.response.status_code': 401 },
    isError: false,
  })
})

test('a failure is an error; HEAD is no GET', async () => {
  await ask('/broken', `00-${trace('3')}-${PARENT}-01`)
  await ask('/things/1', `00-${trace('4')}-${PARENT}-01`, { method: 'HEAD' })

  expect(await collector.until(1, ({ traceId }) => traceId === trace('3'))).toMatchObject([
    { isError: true, attributes: { 'http.response.status_code': 500, 'error.type': '500' } },
  ])
  expect(await collector.until(1, ({ traceId }) => traceId === trace('4'))).toMatchObject([
    { name: 'HEAD /things/:id' },
  ])
})

test('an unsampled request, a probe and a path that is no route have none', async () => {
  const before = collector.spans.length
  await ask('/things/1', `00-${trace('5')}-${PARENT}-00`)
  await ask('/readyz', `00-${trace('5')}-${PARENT}-01`)
  await ask('/nowhere', `00-${trace('5')}-${PARENT}-01`)
  await ask('/things/1', `00-${trace('6')}-${PARENT}-01`)
  await collector.until(1, ({ traceId }) => traceId === trace('6'))

  expect(collector.spans.length - before).toBe(1)
})

test('whether a request is sampled is decided once, for its events, its answer and its end', async () => {
  const decide = vi.spyOn(SPANS, 'beginRequest')
  const answer = await ask('/things/1', `00-${trace('7')}-${PARENT}-00`)

  expect(answer.headers.get('traceparent')).toMatch(/-00$/)
  expect(decide).toHaveBeenCalledTimes(1)
  decide.mockRestore()
})
