import type { HttpResponse, TemplatedApp } from 'uWebSockets.js'
import { once } from 'node:events'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { PassThrough } from 'node:stream'
import { beforeEach, expect, test } from 'vitest'
import { NodeApp } from '../../../internal/http/node-http.js'
import { refuseUnreadable } from '../../../internal/http/node-settings.js'
import { atEnd } from '../../support/run/at-end.js'

let app: NodeApp
let port: number
beforeEach(async () => {
  app = new NodeApp()
  await new Promise((resolve) => app.listen('127.0.0.1', 0, resolve))
  port = (app.server.address() as AddressInfo).port
  atEnd(() => app.server.close())
})

/** @returns both ends of a connection whose client has read the refusal, and keeps its side open */
async function refused(): Promise<{ client: Socket; server: Socket }> {
  const accepted = once(app.server, 'connection')
  const client = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
  atEnd(() => client.destroy())
  client.on('error', () => undefined)
  client.write('CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n')
  const [server] = (await accepted) as [Socket]
  expect(String((await once(client, 'data'))[0])).toContain('HTTP/1.1 501 ')
  return { client, server }
}

test('a connection that asked for a tunnel ends with the refusal, although its client keeps its side open', async () => {
  const { server } = await refused()

  if (!server.closed) await once(server, 'close')
})

test('a reset before, in and after the refusal of a tunnel costs that connection only', async () => {
  for (let count = 0; count < 20; count++) {
    const accepted = once(app.server, 'connection')
    const client = connect({ port, host: '127.0.0.1' })
    client.on('error', () => undefined)
    const [server] = (await accepted) as [Socket]
    client.write('CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\nnot HTTP', () => setImmediate(() => client.resetAndDestroy()))
    if (!server.closed) await new Promise((resolve) => server.once('close', resolve))
  }
  const { client, server } = await refused()
  client.resetAndDestroy()
  if (!server.closed) await once(server, 'close')

  await refused()
})

test('a client that never ends its handshake does not keep its connection for the answer', () => {
  const socket = new PassThrough()

  refuseUnreadable({ name: '', message: '', code: 'ERR_TLS_HANDSHAKE_TIMEOUT' }, socket)

  expect(socket.destroyed).toBe(true)
})

test('the bytes of an answer that waits for an earlier one of its connection may be written over', async () => {
  const responses: HttpResponse[] = []
  const both = new Promise<void>((resolve) => {
    const server = app as unknown as TemplatedApp
    server.post('/', (response) => {
      responses.push(response)
      if (responses.length === 2) resolve()
    })
  })
  const client = connect({ port, host: '127.0.0.1' })
  client.write('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n'.repeat(2))
  await both
  const bytes = Buffer.from('second')

  responses[1]?.writeStatus('200 OK').end(bytes, true)
  bytes.fill('x')
  responses[0]?.writeStatus('200 OK').end('first')

  let text = ''
  for await (const part of client) text += part
  expect(text.split('\r\n\r\n').slice(1)).toEqual([expect.stringMatching(/^first/), 'second'])
})
