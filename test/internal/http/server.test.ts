import { connect, type Socket } from 'node:net'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { Operation } from '../../../internal/http/contract/operation.js'
import { PAGE_PARAMETERS } from '../../../internal/http/contract/page.js'
import { type RunningServer, serve } from '../../../internal/http/server.js'
import { createLog } from '../../../internal/telemetry/log.js'
import { rawExchange, rawRequest } from '../../support/raw-http.js'
import { scopeKeys } from '../../support/scope-keys.js'

const operation: Operation = { id: 'ask', tag: 'Contract', summary: 'Ask', replies: { 200: { description: 'Fine.' } } }
const paged: Operation = { ...operation, query: PAGE_PARAMETERS }

const problemForm = { contentType: 'text/plain', write: ({ status }: { status: number }) => `E${status}` }

let server: RunningServer

beforeEach(async () => {
  const handle = (exchange: { replyJson(status: string, value: unknown): void }) => exchange.replyJson('200 OK', {})
  server = await serve(
    {
      host: '127.0.0.1',
      port: 0,
      errorDocsUrl: 'https://docs.example/errors',
      // So slow that no token is refilled while the test runs.
      addressLimit: { perSecond: 0.001, burst: 5 },
      trustedProxies: ['127.0.0.0/8'],
    },
    [
      { method: 'get', path: '/public', access: 'public', operation, handle },
      { method: 'get', path: '/probe', access: 'public', isProbe: true, operation, handle },
      { method: 'get', path: '/reports', access: 'read:reporting', rateClass: 'report', operation, handle },
      { method: 'get', path: '/records', access: 'read:attribution', rateClass: 'read', operation, handle },
      { method: 'get', path: '/other/standard', access: 'any', rateClass: 'read', operation, problemForm, handle },
      { method: 'get', path: '/pages', access: 'read:attribution', rateClass: 'read', operation: paged, handle },
    ],
    {
      authenticator: scopeKeys({ report: 0.2, read: 2 }),
      credentialsAwayMs: () => 0,
      log: createLog('test', 'silent'),
    },
  )
})

afterEach(() => server.drain())

const ask = (path: string, init?: RequestInit): Promise<Response> =>
  fetch(`http://127.0.0.1:${server.port}${path}`, init)

test('the rate limit per address covers all public routes except probes', async () => {
  const statuses: number[] = []
  for (let i = 0; i < 6; i++) statuses.push((await ask('/public')).status)
  const limited = await ask('/public')

  expect(statuses).toEqual([200, 200, 200, 200, 200, 429])
  expect(Number(limited.headers.get('retry-after'))).toBeGreaterThan(0)
  expect([limited.headers.get('ratelimit-limit'), limited.headers.get('ratelimit-remaining')]).toEqual(['5', '0'])
  expect(Number(limited.headers.get('ratelimit-reset'))).toBeGreaterThan(0)
  expect(await limited.json()).toMatchObject({ error_code: 'RATE_LIMITED', tenant_id: null })
  for (let i = 0; i < 10; i++) expect((await ask('/probe')).status).toBe(200)
})

test('behind a trusted proxy the limit is that of the address that it names', async () => {
  const from = (...addresses: string[]) =>
    ask('/public', { headers: addresses.map((address) => ['x-forwarded-for', address]) })
  for (let i = 0; i < 5; i++) await from(`203.0.113.${i}`, '198.51.100.1')

  expect([(await from('198.51.100.1')).status, (await from('198.51.100.2')).status]).toEqual([429, 200])
})

test('a request without the scope costs as much as one with it', async () => {
  const asReader = { headers: { 'x-api-key': 'read:attribution' } }

  const statuses = [(await ask('/reports', asReader)).status, (await ask('/reports', asReader)).status]

  expect(statuses).toEqual([403, 429])
})

test.each([
  ['an unknown path', 404, '/nothing', { method: 'GET' }],
  ['an unsupported method', 405, '/reports', { method: 'PATCH' }],
  ['an OPTIONS request', 204, '/reports', { method: 'OPTIONS' }],
])('%s is limited by address', async (_, status, path, init) => {
  const statuses: number[] = []
  for (let i = 0; i < 5; i++) statuses.push((await ask(path, init)).status)
  const limited = await ask(path, init)

  expect(new Set(statuses)).toEqual(new Set([status]))
  expect(limited.status).toBe(429)
  expect(Number(limited.headers.get('retry-after'))).toBeGreaterThan(0)
})

test.each([
  ['an unknown path', 404, '/nothing', { method: 'GET' }],
  ['an unsupported method', 405, '/reports', { method: 'PATCH' }],
])(
  '%s with a credential is charged to the read limit of its caller, and shows the rest of it',
  async (_, status, path, init) => {
    const answers: Response[] = []
    for (let i = 0; i < 7; i++) answers.push(await ask(path, { ...init, headers: { 'x-api-key': 'read:attribution' } }))
    const [first] = answers

    // More than an address may ask for without one.
    expect(new Set(answers.map((answer) => answer.status))).toEqual(new Set([status]))
    expect(Number(first?.headers.get('ratelimit-remaining'))).toBeGreaterThan(
      Number(answers.at(-1)?.headers.get('ratelimit-remaining')),
    )
    expect(await first?.json()).toMatchObject({ tenant_id: 'tnt_one' })
    const refused = await ask(path, { ...init, headers: { 'x-api-key': '' } })
    expect(refused.headers.get('ratelimit-limit')).toBeNull()
  },
)

test('a GET route without declared query parameters refuses any; one with declared ones accepts them', async () => {
  const headers = { 'x-api-key': 'read:attribution' }
  const refused = await ask('/records?x=1', { headers })

  expect(refused.status).toBe(400)
  expect(await refused.json()).toMatchObject({ error_code: 'INVALID_FILTER' })
  expect((await ask('/records', { headers })).status).toBe(200)
  expect((await ask('/pages?x=1', { headers })).status).toBe(200)
})

test('announced but unsent bodies of a tenant leave memory for other tenants', async () => {
  const [announced, bytesMax] = [25, 5 * 1024 * 1024]
  const keys = scopeKeys()
  let open = 0
  let whenOpen: (count: number) => void = () => undefined
  const countOpen = (change: number): void => {
    open += change
    whenOpen(open)
  }
  const until = (count: number) =>
    new Promise<void>((resolve) => {
      whenOpen = (now) => now === count && resolve()
    })
  const takers = await serve(
    { host: '127.0.0.1', port: 0, errorDocsUrl: 'https://docs.example/errors' },
    [
      {
        method: 'post',
        path: '/bodies',
        access: 'any',
        rateClass: 'ingest',
        operation,
        handle(exchange) {
          exchange.readBody(bytesMax, (bytes) => exchange.replyJson('200 OK', { bytes: bytes.length }))
          exchange.onAborted(() => countOpen(-1))
          countOpen(1)
        },
      },
    ],
    {
      authenticator: {
        ...keys,
        authenticate({ apiKey, ...rest }, nowMs, origin) {
          const [tenantId = '', scopes = ''] = apiKey.split('/')
          const found = keys.authenticate({ apiKey: scopes, ...rest }, nowMs, origin)
          return found.ok ? { ok: true, caller: { ...found.caller, tenantId } } : found
        },
      },
      credentialsAwayMs: () => 0,
      log: createLog('test', 'silent'),
    },
  )
  const announce = (tenant: string): string =>
    rawRequest('POST /bodies', ['Host: a', `X-API-Key: ${tenant}/read:attribution`, `Content-Length: ${bytesMax}`])
  const send = async (tenant: string): Promise<number> => {
    const headers = { 'x-api-key': `${tenant}/read:attribution` }
    const answer = await fetch(`http://127.0.0.1:${takers.port}/bodies`, {
      method: 'POST',
      headers,
      body: Buffer.alloc(bytesMax),
    })
    return answer.status
  }
  const allOpen = until(announced)
  const sockets: Socket[] = Array.from({ length: announced }, () => {
    const socket = connect({ host: '127.0.0.1', port: takers.port })
    socket.write(announce('slow'))
    return socket
  })
  await allOpen

  const [refused] = await rawExchange(takers.port, announce('slow'))
  const other = await send('other')
  // The two requests that got a reply are not subtracted.
  const noneOpen = until(2)
  for (const socket of sockets) socket.destroy()
  await noneOpen

  expect([refused?.status, other]).toEqual([429, 200])
  expect(await send('slow')).toBe(200)
  await takers.drain()
})

test('below the first segment of another standard every refusal has its form, with a route or without', async () => {
  const refusals = [
    ['GET', '/other/standard', 401],
    ['GET', '/other/unknown', 404],
    ['DELETE', '/other/standard', 405],
  ] as const
  for (const [method, path, status] of refusals) {
    const answer = await ask(path, { method })
    expect([answer.status, answer.headers.get('content-type'), await answer.text()]).toEqual([
      ...[status, 'text/plain', `E${status}`],
    ])
  }
  const [unread] = await rawExchange(server.port, rawRequest('POST /other/unknown', ['Host: a', 'Connection: close']))
  // uWebSockets.js wants to know how long a body is; Node's parser takes it to have none.
  expect([404, 411]).toContain(unread?.status)
  expect(unread?.body).toBe(`E${unread?.status}`)
  expect((await ask('/others')).headers.get('content-type')).toBe('application/problem+json')
})
