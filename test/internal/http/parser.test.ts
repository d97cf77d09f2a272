/**
 * What the parser itself does with requests that are malformed or large, on each build that loads
 * (`deploy/docs/operating.md`).
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { loadableBuilds } from '../../../internal/http/builds.js'
import type { Operation } from '../../../internal/http/contract/operation.js'
import type { Exchange } from '../../../internal/http/exchange.js'
import { type RunningServer, serve } from '../../../internal/http/server.js'
import { createLog } from '../../../internal/telemetry/log.js'
import { type RawAnswer, rawExchange, rawRequest } from '../../support/raw-http.js'
import { scopeKeys } from '../../support/scope-keys.js'

const BUILDS = loadableBuilds().map((build) => [build.name, build] as const)
const operation: Operation = { id: 'ask', tag: 'Contract', summary: 'Ask', replies: { 200: { description: 'Fine.' } } }
const HOST = 'Host: a'
const get = (...headers: readonly string[]): string => rawRequest('GET /now', [HOST, ...headers])
const post = (...headers: readonly string[]): string => rawRequest('POST /now', [HOST, ...headers], 'hello')
const fields = (count: number): string[] => Array.from({ length: count }, (_, i) => `X-${i}: y`)

const chunked = (...lines: readonly string[]): string =>
  rawRequest('POST /now', [HOST, 'Transfer-Encoding: chunked'], lines.map((each) => `${each}\r\n`).join(''))
/** Each tchar of RFC 9110 section 5.6.2 that is neither a digit nor a letter. */
const TCHARS = [..."!#$%&'*+-.^_`|~"]

/** Status of the answer; 0: closed without one, by 20.30 often only after ten seconds of silence. */
const CASES: readonly (readonly [what: string, bytes: string, by2030: number, by2057: number, byNode: number])[] = [
  ['a plain request', get(), 200, 200, 200],
  ['no Host', rawRequest('GET /now', ['X: y']), 0, 400, 400],
  ['an empty Host', rawRequest('GET /now', ['Host:']), 400, 400, 400],
  ['two Hosts', get('Host: b'), 400, 400, 400],
  ['a folded field', get('X: a', ' b'), 0, 400, 400],
  ['white space before the colon', get('X : a'), 0, 400, 400],
  ['a field name with a delimiter', get('X(: a'), 0, 400, 400],
  ['a field without a name', get(': a'), 200, 200, 400],
  ['a NUL in a field', get('X: a\0b'), 0, 400, 400],
  ['HTTP/1.0', get().replace('HTTP/1.1', 'HTTP/1.0'), 0, 505, 200],
  ['HTTP/1.0 without Host', 'GET /now HTTP/1.0\r\n\r\n', 0, 505, 200],
  ['HTTP/1.0 with a body', post('Content-Length: 5').replace('HTTP/1.1', 'HTTP/1.0'), 0, 505, 200],
  ['HTTP/1.2', get().replace('HTTP/1.1', 'HTTP/1.2'), 0, 505, 505],
  ['the absolute form', rawRequest('GET http://a/now', [HOST]), 0, 505, 200],
  ['the authority form', rawRequest('CONNECT a:80', [HOST]), 0, 505, 501],
  ['bare LF', get().replaceAll('\r\n', '\n'), 0, 505, 505],
  ['bare LF between two fields', get().replace('a\r\n\r\n', 'a\nX: y\r\n\r\n'), 0, 400, 400],
  ['Content-Length and Transfer-Encoding', post('Content-Length: 5', 'Transfer-Encoding: chunked'), 0, 400, 400],
  [
    'another Transfer-Encoding',
    rawRequest('POST /now', [HOST, 'Transfer-Encoding: gzip, chunked'], '0\r\n\r\n'),
    ...([501, 501, 501] as const),
  ],
  ['a chunked body', chunked('2', 'he', '3', 'llo', '0', ''), 200, 200, 200],
  ['a chunked body of no length', chunked('zz', 'he', '0', ''), 0, 400, 400],
  ['two different lengths', post('Content-Length: 5', 'Content-Length: 6'), 400, 400, 400],
  ['a list of lengths', post('Content-Length: 5, 5'), 0, 400, 400],
  ['a signed length', post('Content-Length: +5'), 0, 400, 400],
  ...TCHARS.map(
    (char) => [`a field name with ${char}`, get(`X${char}y: a`), char === '-' ? 200 : 0, 200, 200] as const,
  ),
  ['PROPFIND', rawRequest('PROPFIND /now', [HOST]), 0, 501, 501],
  ['a method that nobody knows', rawRequest('FROB /now', [HOST]), 0, 501, 501],
  ['OPTIONS /', rawRequest('OPTIONS /', [HOST]), 204, 204, 204],
  ['OPTIONS / by HTTP/1.0', 'OPTIONS / HTTP/1.0\r\n\r\n', 0, 505, 204],
  ['OPTIONS *', rawRequest('OPTIONS *', [HOST]), 0, 505, 204],
  ['a method that the path lacks', rawRequest('PUT /now', [HOST, 'Content-Length: 0']), 405, 405, 405],
  ['48 fields', get(...fields(47)), 200, 200, 200],
  ['98 fields', get(...fields(97)), 0, 200, 200],
  ['99 fields', get(...fields(98)), 0, 431, 200],
  ['a head of 12 kB', get(`X: ${'a'.repeat(12_000)}`), 200, 200, 200],
  ['a head of 20 kB', get(`X: ${'a'.repeat(20_000)}`), 200, 431, 431],
]
/** To Node, whose own server keeps connections for longer than a test waits. */
const ending = (bytes: string, name: string): string =>
  name === 'node' ? bytes.replace('\r\n\r\n', '\r\nConnection: close\r\n\r\n') : bytes

describe.each(BUILDS)('%s', (name, build) => {
  let server: RunningServer
  const answers: RawAnswer[][] = []
  beforeAll(async () => {
    const handle = (exchange: { replyJson(status: string, value: unknown): void }) => exchange.replyJson('200 OK', {})
    const read = (exchange: Exchange) =>
      exchange.readBody(10, (bytes) => exchange.replyJson('200 OK', bytes.toString()))
    server = await serve(
      { host: '127.0.0.1', port: 0, errorDocsUrl: 'https://docs.example/errors', build },
      [
        { method: 'get', path: '/now', access: 'public', isProbe: true, operation, handle },
        { method: 'post', path: '/now', access: 'public', isProbe: true, operation, handle: read },
      ],
      { authenticator: scopeKeys(), credentialsAwayMs: () => 0, log: createLog('test', 'silent') },
    )
    // At once: each waits for the server to close its connection.
    answers.push(
      ...(await Promise.all(
        CASES.map(([, bytes]) => rawExchange(server.port, Buffer.from(ending(bytes, name), 'latin1'))),
      )),
    )
  })
  afterAll(() => server.drain())

  const statusOf = (by2030: number, by2057: number, byNode: number): number => {
    if (name === 'node') return byNode
    return name === '20.30' ? by2030 : by2057
  }
  test.each(CASES.map(([what, , ...statuses], i) => [what, statusOf(...statuses), i] as const))(
    '%s: %i',
    (_, status, i) => {
      expect(answers[i]?.map((answer) => answer.status)).toEqual(status === 0 ? [] : [status])
    },
  )

  test('no answer of the service names the parser', () => {
    const ours = answers.flat().filter(({ body }) => !body.startsWith('<'))

    expect(ours.length).toBeGreaterThan(5)
    expect(ours.filter(({ head }) => /uwebsockets/i.test(head))).toEqual([])
  })
})

test('at least one build of the parser runs here', () => {
  expect(BUILDS).not.toEqual([])
})
