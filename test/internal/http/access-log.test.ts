import { setTimeout as sleep } from 'node:timers/promises'
import { beforeAll, expect, test } from 'vitest'
import { AccessLog, SLOW_MS } from '../../../internal/http/access-log.js'
import type { Route } from '../../../internal/http/route.js'
import { createLog } from '../../../internal/telemetry/log.js'
import { serveRoutes } from '../../support/serve-routes.js'

const lines: Record<string, unknown>[] = []
const log = createLog('gateway', 'info', {
  format: 'json',
  destination: { write: (line: string) => void lines.push(JSON.parse(line)) },
})
const TRACE = '0af7651916cd43dd8448eb211c80319c'

/** How long the route takes. */
let takesMs = 0
const ROUTES: readonly Route[] = [
  {
    method: 'get',
    path: '/things/:id',
    access: 'public',
    operation: { id: 'get', tag: 'Contract', summary: 'get', replies: {} },
    handle: async (exchange) => {
      await sleep(takesMs)
      exchange.replyJson('200 OK', {})
    },
  },
  {
    method: 'post',
    path: '/things',
    access: 'admin:config',
    rateClass: 'control',
    operation: { id: 'create', tag: 'Contract', summary: 'create', replies: {} },
    handle: (exchange) => exchange.replyJson('200 OK', {}),
  },
  {
    method: 'get',
    path: '/readyz',
    access: 'public',
    isProbe: true,
    operation: { id: 'ready', tag: 'Contract', summary: 'ready', replies: {} },
    handle: (exchange) => exchange.replyJson('503 Service Unavailable', {}),
  },
]

let url = ''
beforeAll(async () => {
  url = (await serveRoutes(ROUTES, log)).url
})

const ask = (path: string, init: RequestInit = {}): Promise<Response> =>
  fetch(url + path, { ...init, headers: { connection: 'close', ...init.headers } })

test('a refused request has one line: route, status, error code and trace, and not who sent it or what', async () => {
  lines.length = 0
  const headers = { 'x-api-key': 'canary-key', traceparent: `00-${TRACE}-b7ad6b7169203331-01` }
  await ask('/things?name=canary', { method: 'POST', body: '{"name":"canary"}', headers })
  await ask('/canary/path')
  await ask('/things/canary')
  await ask('/readyz')

  expect(lines).toEqual([
    expect.objectContaining({
      level: 'info',
      msg: 'request refused',
      route: 'POST /things',
      status: 403,
      error_code: 'INSUFFICIENT_SCOPE',
      trace_id: TRACE,
      duration_ms: expect.any(Number),
    }),
    expect.objectContaining({ route: '', status: 404, error_code: 'NOT_FOUND' }),
  ])
  expect(JSON.stringify(lines)).not.toContain('canary')
})

test('an answer that takes long has a line, too', async () => {
  lines.length = 0
  takesMs = SLOW_MS + 50
  await ask('/things/7')

  expect(lines).toEqual([
    expect.objectContaining({ level: 'warn', msg: 'request slow', route: 'GET /things/:id', status: 200 }),
  ])
})

test('a flood of refusals has twenty lines per second, and the next line counts the others', () => {
  lines.length = 0
  let nowMs = 5_000
  const access = new AccessLog(log, () => nowMs)
  const refused = { route: 'POST /things', status: 429, error_code: 'RATE_LIMITED', trace_id: TRACE, duration_ms: 1 }
  for (let i = 0; i < 1_000; i++) access.note(refused)
  expect(lines).toHaveLength(20)

  nowMs = 6_000
  access.note(refused)
  access.note({ ...refused, status: 503 })
  expect(lines.slice(20)).toEqual([
    expect.objectContaining({ msg: 'request refused', not_logged: 980 }),
    expect.not.objectContaining({ not_logged: expect.anything() }),
  ])
  expect(lines.at(-1)).toMatchObject({ level: 'warn', msg: 'request failed' })
})
