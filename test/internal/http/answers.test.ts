import { beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import type { Operation } from '../../../internal/http/contract/operation.js'
import { errorPageRoutes } from '../../../internal/http/error-pages.js'
import type { Route } from '../../../internal/http/route.js'
import { PROBLEMS } from '../../../internal/problems/problem-catalogue.js'
import { rawExchange, rawRequest, rawText } from '../../support/raw-http.js'
import { TENANT } from '../../support/scope-keys.js'
import { serveRoutes } from '../../support/serve-routes.js'

const TRACE = '0af7651916cd43dd8448eb211c80319c'
const PARENT = `00-${TRACE}-b7ad6b7169203331-01`

const operation = (id: string): Operation => ({
  id,
  tag: 'Contract',
  summary: id,
  replies: { 200: { description: 'Fine.', contents: { 'application/json': { schema: z.object({}) } } } },
})
const ROUTES: readonly Route[] = [
  {
    method: 'get',
    path: '/things',
    access: 'read:attribution',
    rateClass: 'read',
    operation: operation('list'),
    handle: (exchange) => exchange.replyJson('200 OK', { text: 'héllo' }),
  },
  {
    method: 'post',
    path: '/things',
    access: 'any',
    rateClass: 'control',
    operation: operation('create'),
    handle: (exchange) => exchange.replyJson('200 OK', {}),
  },
  {
    method: 'get',
    path: '/broken',
    access: 'public',
    operation: operation('broken'),
    handle: () => {
      throw new Error('the password is s3cret, says host db-7.internal')
    },
  },
  ...errorPageRoutes(true),
]

let server: Awaited<ReturnType<typeof serveRoutes>>
let url = ''
beforeAll(async () => {
  server = await serveRoutes(ROUTES)
  url = server.url
})

const ask = (path: string, { method = 'GET', headers = {} as Record<string, string> } = {}) =>
  fetch(url + path, { method, headers: { 'x-api-key': 'read:attribution', ...headers } })

describe('HTTP methods', () => {
  test('HEAD replies like GET, without a body', async () => {
    const [get, head] = [await ask('/things'), await ask('/things', { method: 'HEAD' })]

    expect(head.status).toBe(200)
    expect(await head.text()).toBe('')
    for (const name of ['content-type', 'content-length', 'cache-control', 'ratelimit-limit'])
      expect(head.headers.get(name)).toBe(get.headers.get(name))
    expect(head.headers.get('content-length')).toBe(String(Buffer.byteLength('{"text":"héllo"}')))
  })

  test.each(['/things', '/nowhere', '/broken'])(
    'HEAD %s with an error reply leaves the connection usable',
    async (path) => {
      const head = rawRequest(`HEAD ${path}`, ['Host: a', 'Content-Length: 0'])
      const text = await rawText(server.port, head + rawRequest('GET /last', ['Host: a', 'Connection: close']))

      expect(text).toMatch(/^HTTP\/1.1 (401|404|500) [^{]*\r\n\r\nHTTP\/1.1 404 /)
      expect(text).toContain('"instance":"/last"')
    },
  )

  test('OPTIONS lists the methods of a path', async () => {
    const answer = await fetch(`${url}/things`, { method: 'OPTIONS' })

    expect(answer.status).toBe(204)
    expect(answer.headers.get('allow')).toBe('GET, POST, HEAD, OPTIONS')
    expect(answer.headers.get('content-length')).toBeNull()
  })

  test.each(['PUT', 'DELETE', 'PATCH'])(
    '%s on a path without that method gets a 405 with the allowed methods',
    async (method) => {
      const answers = await rawExchange(
        server.port,
        rawRequest(`${method} /things`, ['Host: a', 'Content-Length: 0', 'Connection: close']),
      )

      expect(answers.map(({ status }) => status)).toEqual([405])
      expect(JSON.parse(answers[0]?.body ?? '')).toMatchObject({ error_code: 'METHOD_NOT_ALLOWED' })
    },
  )
})

describe('the Host header', () => {
  const status = async (headers: readonly string[]) =>
    (await rawExchange(server.port, rawRequest('GET /broken', [...headers, 'Connection: close']))).map(
      (answer) => answer.status,
    )

  test.each(['a', 'api.example.com', 'api.example.com:8443', '127.0.0.1:8080', '[::1]:8080', 'a_b.c-d'])(
    '%s is accepted',
    async (host) => {
      expect(await status([`Host: ${host}`])).toEqual([500])
    },
  )

  test.each([
    [[]],
    [['Host: ']],
    [['Host: a, b']],
    [['Host: a/b']],
    [['Host: a@b']],
    [['Host: a b']],
    [['Host: a:port']],
    [['Host: a', 'Host: a']],
  ])('%j is rejected', async (headers) => {
    const answers = await status(headers)

    expect(answers.filter((code) => code < 400 || code >= 500)).toEqual([])
  })
})

describe('an error reply', () => {
  test('names the missing scope, in the body and as a challenge', async () => {
    const answer = await ask('/things', { headers: { 'x-api-key': 'read:reporting' } })

    expect(answer.status).toBe(403)
    expect(answer.headers.get('www-authenticate')).toBe(
      'Bearer realm="attribution", error="insufficient_scope", scope="read:attribution"',
    )
    expect(answer.headers.get('ratelimit-limit')).not.toBeNull()
    expect(await answer.json()).toMatchObject({ error_code: 'INSUFFICIENT_SCOPE', tenant_id: TENANT })
  })

  test('rejects a credential without scopes where any scope is enough', async () => {
    const answer = await ask('/things', { method: 'POST', headers: { 'x-api-key': 'none' } })

    expect(answer.status).toBe(403)
    expect(answer.headers.get('www-authenticate')).toContain('insufficient_scope')
  })

  test('to an internal error does not reveal its details', async () => {
    const answer = await ask('/broken?secret=s3cret')

    expect(answer.status).toBe(500)
    const body = await answer.text()
    expect(body).not.toMatch(/s3cret|db-7/)
    expect(JSON.parse(body)).toMatchObject({ error_code: 'INTERNAL_ERROR', instance: '/broken', tenant_id: null })
  })
})

describe('a trace context', () => {
  test('is continued: the reply has its trace id, with a new span id', async () => {
    const answer = await ask('/things', { headers: { traceparent: PARENT } })

    expect(answer.headers.get('traceparent')).toMatch(new RegExp(`^00-${TRACE}-(?!b7ad6b7169203331)[0-9a-f]{16}-00$`))
  })

  test('of an error reply is the same in its body and headers', async () => {
    for (const headers of [{ traceparent: PARENT }, {} as Record<string, string>]) {
      const answer = await ask('/nowhere', { headers })
      const { trace_id } = (await answer.json()) as { trace_id: string }

      expect(answer.headers.get('traceparent')).toContain(trace_id)
      if (headers['traceparent'] !== undefined) expect(trace_id).toBe(TRACE)
    }
  })

  test.each([
    `00-${'0'.repeat(32)}-b7ad6b7169203331-01`,
    `ff-${TRACE}-b7ad6b7169203331-01`,
    `00-${TRACE.toUpperCase()}-b7ad6b7169203331-01`,
    'x',
  ])('%s is invalid: a new trace starts', async (traceparent) => {
    const answer = await ask('/things', { headers: { traceparent } })

    expect(answer.headers.get('traceparent')).toMatch(/^00-[0-9a-f]{32}-[0-9a-f]{16}-00$/)
    expect(answer.headers.get('traceparent')).not.toMatch(/0{32}/)
    expect(answer.headers.get('traceparent')).not.toContain(TRACE)
  })
})

describe('the page of an error code', () => {
  test.each(Object.keys(PROBLEMS))('%s', async (code) => {
    const answer = await fetch(`${url}/docs/errors/${code}`)

    expect(answer.status).toBe(200)
    expect(answer.headers.get('content-type')).toBe('text/html; charset=utf-8')
    expect(answer.headers.get('content-security-policy')).toContain("default-src 'none'")
    expect(answer.headers.get('x-content-type-options')).toBe('nosniff')
    expect(answer.headers.get('referrer-policy')).toBe('no-referrer')
    expect(answer.headers.get('strict-transport-security')).toBe('max-age=31536000')
    expect(answer.headers.get('cache-control')).toBe('public, max-age=300')
    expect(await answer.text()).toContain(`<h1>${code}</h1>`)
  })

  test('is not sent again to a client that has cached it', async () => {
    const page = `${url}/docs/errors/NOT_FOUND`
    const etag = (await fetch(page)).headers.get('etag') ?? ''

    for (const held of [etag, `W/${etag}`, `"other", ${etag}`, '*']) {
      const answer = await fetch(page, { headers: { 'if-none-match': held } })
      expect([answer.status, await answer.text(), answer.headers.get('etag')]).toEqual([304, '', etag])
    }
    expect((await fetch(page, { headers: { 'if-none-match': '"other"' } })).status).toBe(200)
  })

  test('of an unknown code gets a 404', async () => {
    expect((await fetch(`${url}/docs/errors/NO_SUCH_CODE`)).status).toBe(404)
  })
})
