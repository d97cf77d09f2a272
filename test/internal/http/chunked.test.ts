/** Bodies whose length nobody announces, on each build that loads. */
import { request } from 'node:http'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { loadableBuilds } from '../../../internal/http/builds.js'
import type { Operation } from '../../../internal/http/contract/operation.js'
import type { Exchange } from '../../../internal/http/exchange.js'
import { type RunningServer, serve } from '../../../internal/http/server.js'
import { createLog } from '../../../internal/telemetry/log.js'
import { rawExchange, rawRequest } from '../../support/raw-http.js'
import { drawn } from '../../support/run/rings.js'
import { scopeKeys } from '../../support/scope-keys.js'

const BUILDS = loadableBuilds().map((build) => [build.name, build] as const)
const operation: Operation = { id: 'ask', tag: 'Contract', summary: 'Ask', replies: { 200: { description: 'Fine.' } } }
const BYTES_MAX = 50_000

describe.each(BUILDS)('%s', (name, build) => {
  let server: RunningServer
  let served = 0
  beforeAll(async () => {
    const echo = (exchange: Exchange): void => {
      served++
      exchange.readBody(BYTES_MAX, (bytes) => exchange.reply('200 OK', Buffer.from(bytes)))
    }
    server = await serve(
      { host: '127.0.0.1', port: 0, errorDocsUrl: 'https://docs.example/errors', build },
      [{ method: 'post', path: '/echo', access: 'public', isProbe: true, operation, handle: echo }],
      { authenticator: scopeKeys(), credentialsAwayMs: () => 0, log: createLog('test', 'silent') },
    )
  })
  afterAll(() => server.drain())

  const post = (
    parts: readonly Uint8Array[],
  ): Promise<{ status: number | undefined; body: Buffer; connection: unknown }> =>
    new Promise((resolve, reject) => {
      const sent = request({ host: '127.0.0.1', port: server.port, path: '/echo', method: 'POST' }, (answer) => {
        const got: Buffer[] = []
        answer.on('data', (part: Buffer) => got.push(part))
        answer.once('end', () =>
          resolve({
            status: answer.statusCode,
            body: Buffer.concat(got),
            connection: answer.headers.connection,
          }),
        )
      })
      sent.once('error', reject)
      for (const part of parts) sent.write(part)
      sent.end()
    })

  test('a chunked body is read as it was sent, however it is cut', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.uint8Array({ minLength: 1, maxLength: 9_000 }), { maxLength: 5 }), async (parts) => {
        const { status, body } = await post(parts)
        expect([status, body.equals(Buffer.concat(parts))]).toEqual([200, true])
      }),
      { numRuns: drawn(30) },
    )
  })

  test('one that is too long is refused', async () => {
    const bytes = Buffer.alloc(BYTES_MAX, 'a')

    expect((await post([bytes])).status).toBe(200)
    expect((await post([bytes, Buffer.from('a')])).status).toBe(413)
  })

  test('what stands behind it on the connection is served only where the end of a body is certain', async () => {
    const hidden = rawRequest('POST /echo', ['Host: a', 'Content-Length: 0', 'Connection: close'])
    served = 0
    const answers = await rawExchange(
      server.port,
      rawRequest('POST /echo', ['Host: a', 'Transfer-Encoding: chunked'], `2\r\nhi\r\n0\r\n\r\n${hidden}`),
    )

    expect(served).toBe(name === 'node' ? 2 : 1)
    expect(answers.filter(({ status }) => status !== 200)).toEqual([])
  })
})
