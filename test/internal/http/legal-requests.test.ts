/** Every legal method and header name is answered, by the parser that serves by default and by Node's. */
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Build, buildOf } from '../../../internal/http/builds.js'
import type { Operation } from '../../../internal/http/contract/operation.js'
import type { Route } from '../../../internal/http/route.js'
import { type RunningServer, serve } from '../../../internal/http/server.js'
import { createLog } from '../../../internal/telemetry/log.js'
import { rawExchange, rawRequest } from '../../support/raw-http.js'
import { drawn } from '../../support/run/rings.js'
import { scopeKeys } from '../../support/scope-keys.js'

const operation: Operation = { id: 'ask', tag: 'Contract', summary: 'Ask', replies: { 200: { description: 'Fine.' } } }
const ROUTE: Route = {
  method: 'get',
  path: '/now',
  access: 'public',
  isProbe: true,
  operation,
  handle: (exchange) => exchange.replyJson('200 OK', {}),
}
const BUILDS = new Map<string, Build>([buildOf('auto'), buildOf('node')].map((build) => [build.name, build]))

/** RFC 9110 section 5.6.2. */
const tchar = fc.constantFrom(..."!#$%&'*+-.^_`|~0123456789ABCXYZabcxyz")
const token = fc.string({ unit: tchar, minLength: 1, maxLength: 24 })
/** Those that the server reads have rules of their own. */
const fieldName = token.filter((name) => !/^(?:host|connection|content-length|expect|te|trailer|upgrade)$/i.test(name))
const fieldValue = fc.string({ unit: fc.constantFrom(...'abc 019!#$%&\'()*+,-./:;<=>?@[]^_`{|}~"\\'), maxLength: 20 })
const NAMED = ['QUERY', 'PROPFIND', 'CONNECT', 'TRACE', 'M-SEARCH', 'GET', 'HEAD', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']

/** A connection that is silent is closed after ten seconds; an answer comes at once. */
const IN_TIME_MS = 5_000

describe.each([...BUILDS])('%s', (_, build) => {
  let server: RunningServer
  beforeAll(async () => {
    server = await serve({ host: '127.0.0.1', port: 0, errorDocsUrl: 'https://docs.example/errors', build }, [ROUTE], {
      authenticator: scopeKeys(),
      credentialsAwayMs: () => 0,
      log: createLog('test', 'silent'),
    })
  })
  afterAll(() => server.drain())

  const ask = async (method: string, fields: readonly string[]): Promise<number | undefined> => {
    const target = method === 'CONNECT' ? 'a:80' : '/now'
    const bytes = rawRequest(`${method} ${target}`, ['Host: a', 'Connection: close', 'Content-Length: 0', ...fields])
    const begunAt = performance.now()
    const [answer] = await rawExchange(server.port, Buffer.from(bytes, 'latin1'))
    return performance.now() - begunAt < IN_TIME_MS ? answer?.status : undefined
  }

  test('whatever the header fields are called, the request is served', () =>
    fc.assert(
      fc.asyncProperty(fc.array(fc.tuple(fieldName, fieldValue), { maxLength: 5 }), async (fields) => {
        const lines = fields.map(([name, value]) => `${name}: ${value.trim()}`)
        expect(await ask('GET', lines)).toBe(200)
      }),
      { numRuns: drawn(300) },
    ))

  test('whatever the method is, it is answered: one that no path has with 501, one that this path lacks with 405', () =>
    fc.assert(
      fc.asyncProperty(fc.oneof(fc.constantFrom(...NAMED), token), async (method) => {
        const status = await ask(method, [])
        // The target of CONNECT is no path: newer builds refuse it by themselves, in their own words.
        if (method === 'CONNECT') expect([400, 501, 505]).toContain(status)
        else expect(status, method).toBe(EXPECTED[method] ?? 501)
      }),
      // What asks without a credential has 200 requests at once (class `read`): more would be told to wait.
      { numRuns: drawn(150) },
    ))
})

const EXPECTED: Readonly<Record<string, number>> = {
  ...{ GET: 200, HEAD: 200, OPTIONS: 204, POST: 405, PUT: 405, PATCH: 405, DELETE: 405, TRACE: 405 },
}
