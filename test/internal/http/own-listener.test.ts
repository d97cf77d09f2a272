import { once } from 'node:events'
import { Agent, get, type IncomingMessage } from 'node:http'
import { connect } from 'node:net'
import { beforeEach, expect, test } from 'vitest'
import type { ReadyAnswer } from '../../../internal/http/health.js'
import { listenBesideApi, type RunningListener } from '../../../internal/http/own-listener.js'
import { freePort } from '../../../internal/local/supervisor/supervised-instance.js'
import { type Problem, problem } from '../../../internal/problems/problem-catalogue.js'
import { createLog } from '../../../internal/telemetry/log.js'
import { BESIDE_API } from '../../support/beside-api.js'
import { rawExchange } from '../../support/raw-http.js'
import { atEnd } from '../../support/run/at-end.js'

const READY: ReadyAnswer = { status: 'ready', dependencies: [] }
let answer: ReadyAnswer | Problem
let leaving: AbortController
let port: number
let listener: RunningListener
beforeEach(async () => {
  answer = READY
  leaving = new AbortController()
  port = await freePort()
  const health = { ...BESIDE_API.health, readiness: () => answer }
  const settings = { ...BESIDE_API, port, name: 'test', health, leaving: leaving.signal }
  listener = await listenBesideApi(settings, (_, response) => response.end('served'), createLog('test', 'silent'))
  atEnd(() => listener.drain())
})

const statusOf = async (line: string, headers = ''): Promise<number | undefined> =>
  (await rawExchange(port, `${line}\r\n${headers}Connection: close\r\n\r\n`))[0]?.status

test.each([
  ['GET /healthz HTTP/1.0', '', 200],
  ['GET /readyz HTTP/1.0', '', 200],
  ['HEAD /readyz HTTP/1.1', 'Host: a\r\n', 200],
  ['GET /readyz?surface=ingestion HTTP/1.1', 'Host: a\r\nx_request_id: 1\r\nA!b: 1\r\n', 200],
  ['OPTIONS / HTTP/1.0', '', 200],
  ['OPTIONS * HTTP/1.1', 'Host: a\r\n', 200],
  ['POST /readyz HTTP/1.0', 'Content-Length: 0\r\n', 405],
])('%s: as a health check asks, before any credential', async (line, headers, status) => {
  expect(await statusOf(line, headers)).toBe(status)
})

test('a listener whose dependency is away is live but not ready', async () => {
  answer = problem('SERVICE_UNAVAILABLE', 'A required dependency is unavailable.', { retryAfterSeconds: 1 })

  const asked = ['GET /readyz HTTP/1.0', 'HEAD /readyz HTTP/1.0', 'OPTIONS / HTTP/1.0', 'GET /healthz HTTP/1.0']
  expect(await Promise.all(asked.map((line) => statusOf(line)))).toEqual([503, 503, 503, 200])
})

/** One request on a kept connection. */
const ask = (agent: Agent): Promise<IncomingMessage> =>
  new Promise((resolve, reject) => {
    get({ host: '127.0.0.1', port, path: '/', agent }, (response) => {
      response.resume().once('end', () => resolve(response))
    }).once('error', reject)
  })

test('a kept connection ends with the first answer of a process that is about to stop', async () => {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  atEnd(() => agent.destroy())

  const before = await ask(agent)
  leaving.abort()
  const after = await ask(agent)

  expect([before, after].map(({ headers }) => headers.connection)).toEqual(['keep-alive', 'close'])
})

test('a connection that never says anything does not keep the listener from its end', async () => {
  const silent = connect(port, '127.0.0.1')
  atEnd(() => silent.destroy())
  await once(silent, 'connect')

  await listener.drain(true)

  await expect(statusOf('GET /healthz HTTP/1.0')).rejects.toThrow()
})

test('2,000 silent connections of one address keep no other address out, nor its own', async () => {
  const silent = Array.from({ length: 2_000 }, () => connect({ port, host: '127.0.0.1', localAddress: '127.0.0.2' }))
  atEnd(() => {
    for (const socket of silent) socket.destroy()
  })
  for (const socket of silent) socket.on('error', () => undefined).write('GET / HTTP/1.1\r\nHost: a\r\n')
  await Promise.all(silent.map((socket) => once(socket, 'connect')))

  expect(await statusOf('GET / HTTP/1.1', 'Host: a\r\n')).toBe(200)
  const own = connect({ port, host: '127.0.0.1', localAddress: '127.0.0.2' })
  own.write('GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n')
  expect(String((await once(own, 'data'))[0])).toContain('200 OK')
})

test('a head that does not end is answered within seconds of its limit', { timeout: 20_000 }, async () => {
  const silent = connect(port, '127.0.0.1')
  silent.write('GET / HTTP/1.1\r\nHost: a\r\n')

  expect(String((await once(silent, 'data'))[0])).toContain('408')
})
