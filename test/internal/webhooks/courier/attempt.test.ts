import { afterEach, beforeEach, expect, test } from 'vitest'
import { type AttemptDeps, type AttemptResult, attempt } from '../../../../internal/webhooks/courier/attempt.js'
import { type Connections, createConnections } from '../../../../internal/webhooks/courier/connections.js'
import { launchReceiver, RECEIVER_CERTIFICATE, type Receiver } from '../../../support/receiver.js'

let receiver: Receiver
let connections: Connections
let addresses: readonly string[]

beforeEach(async () => {
  receiver = await launchReceiver()
  connections = createConnections({ extraCa: RECEIVER_CERTIFICATE.cert, connectTimeoutMs: 2_000 }, [])
  addresses = ['127.0.0.1']
})
afterEach(async () => {
  await connections.close()
  await receiver.close()
})

const make = (text: string, more: Partial<AttemptDeps> = {}) =>
  new Promise<AttemptResult>((done) => makeWith(text, more, done))

const makeWith = (text: string, more: Partial<AttemptDeps>, done: (result: AttemptResult) => void) => {
  const origin = `https://hooks.example.com:${receiver.port}`
  const target = { href: `${origin}/in`, origin, hostname: 'hooks.example.com', port: receiver.port, path: '/in' }
  const guard = { check: () => ({ kind: 'allowed', addresses }) as const }
  const request = { endpointId: 'whk_1', target, headers: { 'x-one': '1' }, body: Buffer.from(text), keepBytes: 0 }
  attempt(request, { guard, connections, timeoutMs: 2_000, ...more }, done)
}

test('sequential attempts share a connection; concurrent ones have one each, which are reused', async () => {
  for (const text of ['a', 'b', 'c']) expect(await make(text)).toMatchObject({ kind: 'acknowledged', status: 200 })
  expect(receiver.connections()).toBe(1)

  await Promise.all(['d', 'e', 'f'].map((text) => make(text)))
  await Promise.all(['g', 'h', 'i'].map((text) => make(text)))

  expect(receiver.connections()).toBe(3)
  expect(receiver.received.map(({ text }) => text).sort()).toEqual([...'abcdefghi'])
  expect(receiver.received.every(({ headers }) => headers['host'] === `hooks.example.com:${receiver.port}`)).toBe(true)
})

test('no request is sent over a connection with an unanswered request', async () => {
  const open = new Set<unknown>()
  let together = 0
  receiver.answer = (response) => {
    if (open.has(response.socket)) together++
    open.add(response.socket)
    setImmediate(() => {
      open.delete(response.socket)
      response.writeHead(204).end()
    })
  }

  for (let i = 0; i < 20; i++) await Promise.all(Array.from({ length: 8 }, (_, at) => make(`${i}.${at}`)))

  expect([together, receiver.connections(), receiver.received.length]).toEqual([0, 8, 160])
})

test('an attempt that times out closes its connection and delays no later attempt', async () => {
  receiver.answer = (response, { text }) => text !== 'silent' && response.writeHead(200).end()

  expect(await make('silent', { timeoutMs: 100 })).toMatchObject({ kind: 'failed', reason: 'timeout', status: null })
  expect(await make('next')).toMatchObject({ kind: 'acknowledged' })

  expect(receiver.received.map(({ text }) => text)).toEqual(['silent', 'next'])
  expect(receiver.connections()).toBe(2)
})

test('an attempt that times out while connecting is not sent later', async () => {
  expect(await make('late', { timeoutMs: 0 })).toMatchObject({ kind: 'failed', reason: 'timeout' })
  expect(await make('next')).toMatchObject({ kind: 'acknowledged' })

  // On a busy machine it may have been sent before its time was up.
  expect(receiver.received.at(-1)?.text).toBe('next')
})

test('a receiver that closes each connection gets a new one per attempt', async () => {
  receiver.answer = (response) => void response.writeHead(204, { connection: 'close' }).end()

  for (const text of ['a', 'b', 'c']) expect(await make(text)).toMatchObject({ kind: 'acknowledged', status: 204 })

  expect(receiver.connections()).toBe(3)
})

test.each([
  { headers: {}, connections: 1 },
  { headers: { connection: 'close' }, connections: 20 },
])('an attempt made when a response ends reuses its connection if the receiver keeps it open', async (receives) => {
  receiver.answer = (response) => void response.writeHead(204, receives.headers).end()

  await new Promise<void>((resolve) => {
    const next = (left: number): void =>
      makeWith(`${left}`, {}, (result) => {
        expect(result).toMatchObject({ kind: 'acknowledged', status: 204 })
        if (left > 1) next(left - 1)
        else resolve()
      })
    next(20)
  })

  expect(receiver.received.map(({ text }) => text)).toEqual(Array.from({ length: 20 }, (_, i) => `${20 - i}`))
  expect(receiver.connections()).toBe(receives.connections)
})

test('a connection to an address that the host no longer has is not reused', async () => {
  const other = await launchReceiver({ host: '127.0.0.2', port: receiver.port })
  await make('a')

  addresses = ['127.0.0.2']
  await make('b')
  addresses = ['127.0.0.2', '127.0.0.1']
  await make('c')

  expect(receiver.received.map(({ text }) => text)).toEqual(['a'])
  expect(other.received.map(({ text }) => text)).toEqual(['b', 'c'])
  expect(other.connections()).toBe(1)
  await other.close()
})
