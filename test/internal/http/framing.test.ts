import { connect } from 'node:net'
import fc from 'fast-check'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { loadableBuilds } from '../../../internal/http/builds.js'
import type { Operation } from '../../../internal/http/contract/operation.js'
import type { Exchange } from '../../../internal/http/exchange.js'
import type { Route } from '../../../internal/http/route.js'
import { type RunningServer, serve } from '../../../internal/http/server.js'
import { createLog } from '../../../internal/telemetry/log.js'
import { rawExchange, rawRequest } from '../../support/raw-http.js'
import { scopeKeys } from '../../support/scope-keys.js'

const BUILDS = loadableBuilds()
  .filter(({ name }) => name !== 'node')
  .map((build) => [build.name, build] as const)
const operation: Operation = { id: 'ask', tag: 'Contract', summary: 'Ask', replies: { 200: { description: 'Fine.' } } }
const NEXT_TURN = new Promise((resolve) => setImmediate(resolve))

/** How many requests were served on /hidden, and their queries. */
let hiddenServed = 0
const servedQueries = new Set<string>()
const served = (exchange: Exchange): void => exchange.replyJson('200 OK', {})
const read = (exchange: Exchange): void => exchange.readBody(10_000, () => served(exchange))
const serveHidden = (exchange: Exchange): void => {
  hiddenServed++
  servedQueries.add(exchange.query)
  served(exchange)
}
async function* parts(): AsyncGenerator<Uint8Array> {
  yield Buffer.from('{}')
}
const HANDLERS: Record<string, (exchange: Exchange) => void | Promise<void>> = {
  '/now': served,
  '/later': async (exchange) => {
    await NEXT_TURN
    served(exchange)
  },
  '/empty': (exchange) => exchange.replyEmpty('204 No Content'),
  '/stream': (exchange) => exchange.replyStream('200 OK', 2, parts()),
  '/hidden': serveHidden,
}
const open = { access: 'public', isProbe: true, operation } as const
const ROUTES: readonly Route[] = Object.entries(HANDLERS).flatMap(([path, handle]): Route[] => [
  { ...open, method: 'get', path, handle },
  { ...open, method: 'del', path, handle },
  { ...open, method: 'post', path, handle: path === '/hidden' ? serveHidden : read },
  { ...open, method: 'patch', path, handle: path === '/hidden' ? serveHidden : read },
])

let server: RunningServer
const HIDDEN = rawRequest('POST /hidden?0000', ['Host: a', 'Content-Length: 0'])
const hidingFields = ['Host: a', ': x', `Content-Length: ${HIDDEN.length}`]

describe.each(BUILDS)('uWebSockets.js %s', (_, build) => {
  beforeAll(async () => {
    servedQueries.clear()
    const settings = { host: '127.0.0.1', port: 0, errorDocsUrl: 'https://docs.example/errors', build }
    server = await serve(settings, ROUTES, {
      authenticator: scopeKeys(),
      credentialsAwayMs: () => 0,
      log: createLog('test', 'silent'),
    })
  })
  afterAll(() => server.drain())
  beforeEach(() => {
    hiddenServed = 0
  })

  describe('a request without a visible Content-Length', () => {
    test.each(['POST', 'PUT', 'PATCH'])(
      '%s: 411 and closed, and what its hidden body holds is not served',
      async (method) => {
        for (const path of ['/now', '/nowhere']) {
          const alone = await rawExchange(server.port, rawRequest(`${method} ${path}`, ['Host: a']))
          const hiding = await rawExchange(server.port, rawRequest(`${method} ${path}`, hidingFields) + HIDDEN)

          expect(alone.map(({ status }) => status)).toEqual([411])
          expect(JSON.parse(alone[0]?.body ?? '')).toMatchObject({ error_code: 'LENGTH_REQUIRED' })
          expect(hiding.filter(({ status }) => status !== 411)).toEqual([])
        }
        expect(hiddenServed).toBe(0)
      },
    )

    test.each(['POST', 'PATCH'])('%s: a hidden body that arrives after the 411 is not served', async (method) => {
      const answer = await answerAndMore(rawRequest(`${method} /now`, hidingFields), HIDDEN)

      expect(answer).toMatch(/^HTTP\/1\.1 411 /)
      expect(hiddenServed).toBe(0)
    })

    test.each(
      ['GET', 'HEAD', 'DELETE', 'OPTIONS'].flatMap((method) =>
        [...Object.keys(HANDLERS).filter((path) => path !== '/hidden'), '/nowhere'].map(
          (path) => [method, path] as const,
        ),
      ),
    )('%s %s: answered, but not what arrives with it', async (method, path) => {
      await rawExchange(server.port, rawRequest(`${method} ${path}`, hidingFields) + HIDDEN)
      expect(hiddenServed).toBe(0)

      const answer = await answerAndMore(rawRequest(`${method} ${path}`, ['Host: a']), HIDDEN, 2)
      expect(answer).toMatch(/^HTTP\/1\.1 (200|204|404)[\s\S]*HTTP\/1\.1 200 OK/)
      expect(hiddenServed).toBe(1)
    })
  })

  test('pipelined requests with a visible Content-Length are all answered', async () => {
    const requests = ['GET /now', 'POST /now', 'DELETE /now', 'PATCH /now'].map((line) =>
      rawRequest(line, ['Host: a', 'Content-Length: 2'], '{}'),
    )

    const text = await answerAndMore(requests.join(''), '', requests.length)

    expect(text.match(/HTTP\/1\.1 \d+/g)).toEqual(Array(4).fill('HTTP/1.1 200'))
  })

  describe('thousands of raw requests', () => {
    test('none gets an answer for what its body holds', async () => {
      // A try before this one may have been served others of the same numbers.
      servedQueries.clear()
      const cases = [HEAD_OF_TWO_LINES, ...fc.sample(rawCase, CASES - 1)]
      const query = (index: number): string => String(index + 1000)
      for (let from = 0; from < CASES; from += 100) {
        const now = cases.slice(from, from + 100)
        await Promise.all(now.map((bytes, i) => send(bytes.replace('0000', query(from + i)))))
      }

      const failures = cases.filter((bytes, index) => servedQueries.has(query(index)) && !maySeeNext(bytes))
      expect(failures).toEqual([])
      expect(cases.filter((bytes) => !maySeeNext(bytes)).length).toBeGreaterThan(CASES / 4)
    })
  })
})

const CASES = 3000
const framing = fc.oneof(
  fc.constantFrom(HIDDEN.length, 0, 1, 10, 9999).map((length) => `Content-Length: ${length}`),
  fc.constantFrom(
    'Transfer-Encoding: chunked',
    'transfer-encoding: gzip',
    'CONTENT-LENGTH: 0',
    `content-length:${HIDDEN.length}`,
  ),
)
const noise = fc.constantFrom(
  ': x',
  ':',
  ':: x',
  'X: y',
  'X:',
  'Connection: keep-alive',
  'Connection: close',
  'Via: 1.1 a',
  '\x00: x',
  'é: x',
)
const line = fc.oneof(
  { weight: 4, arbitrary: framing },
  { weight: 4, arbitrary: noise },
  { weight: 1, arbitrary: fc.uint8Array({ maxLength: 12 }).map((bytes) => Buffer.from(bytes).toString('latin1')) },
)
const rawCase = fc
  .tuple(
    fc.constantFrom('GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS'),
    fc.constantFrom('/now', '/later', '/empty', '/stream', '/nowhere'),
    fc.array(line, { maxLength: 5 }),
  )
  .map(([method, path, lines]) => rawRequest(`${method} ${path}`, ['Host: a', ...lines], HIDDEN))

/** An empty line ends the head early; what was to be its end is a body of the ten bytes that it announces. */
const HEAD_OF_TWO_LINES = rawRequest('PUT /nowhere', ['Host: a', 'Content-Length: 10', ': x', '', ': x', ':'], HIDDEN)

/**
 * Whether the bytes behind the head may be a request of their own: the head names no framing field anywhere, or its
 * first one is a Content-Length that ends where the hidden request begins. A visible Content-Length with other framing
 * hidden behind a field without a name cannot be detected (`SECURITY.md`).
 */
function maySeeNext(bytes: string): boolean {
  const headEnd = bytes.indexOf('\r\n\r\n')
  const lines = bytes.slice(0, headEnd).split('\r\n').slice(1)
  const framings = lines.filter((text) => /^\s*(content-length|transfer-encoding)\s*:/i.test(text))
  const [first] = framings
  if (first === undefined) return true
  const length = /^content-length: ?(\d+)$/i.exec(first)?.[1]
  const hiddenFrom = lines.findIndex((text) => text.startsWith(':'))
  return (
    Number(length) === bytes.indexOf(HIDDEN) - (headEnd + '\r\n\r\n'.length) &&
    (framings.length === 1 || hiddenFrom >= 0) &&
    (hiddenFrom < 0 || lines.indexOf(first) < hiddenFrom)
  )
}

/** Sends everything and half-closes: the server handles what has arrived, then closes. */
function send(bytes: string): Promise<void> {
  return new Promise((resolve) => {
    const socket = connect({ host: '127.0.0.1', port: server.port })
    socket.on('error', () => undefined)
    socket.once('close', () => resolve())
    socket.resume()
    socket.end(Buffer.from(bytes, 'latin1'))
  })
}

/** Sends `first`, and `more` once an answer arrived; reads `count` answers, or until the server closes. */
function answerAndMore(first: string, more: string, count = Number.POSITIVE_INFINITY): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect({ host: '127.0.0.1', port: server.port })
    let text = ''
    socket.on('error', () => undefined)
    socket.once('close', () => resolve(text))
    socket.on('data', (chunk: Buffer) => {
      if (text === '') socket.write(more)
      text += chunk.toString('latin1')
      if (text.split('HTTP/1.1 ').length > count) socket.destroy()
    })
    socket.write(first)
  })
}
