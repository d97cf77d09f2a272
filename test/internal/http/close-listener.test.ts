import { once } from 'node:events'
import { createServer as createHttpServer } from 'node:http'
import { type AddressInfo, createServer, type Server } from 'node:net'
import { Worker } from 'node:worker_threads'
import { expect, test } from 'vitest'
import { closeListener, closeSocket } from '../../../internal/http/close-listener.js'

/** In a thread of their own, clients that ask on a new connection each time until they cannot connect. */
const CLIENTS = `
const { connect } = require('node:net')
const { parentPort, workerData: port } = require('node:worker_threads')
const REQUEST = 'GET / HTTP/1.1\\r\\nHost: x\\r\\nConnection: close\\r\\n\\r\\n'
const ask = () => new Promise((resolve) => {
  const socket = connect({ host: '127.0.0.1', port }, () => socket.write(REQUEST))
  let got = ''
  socket.on('data', (part) => { got += part })
  socket.on('error', ({ syscall, code }) => resolve(syscall === 'connect' ? 'not connected' : code))
  socket.once('close', () => resolve(got === '' ? 'cut' : 'served'))
})
const outcomes = {}
const client = async () => {
  for (let outcome = ''; outcome !== 'not connected'; ) {
    outcome = await ask()
    outcomes[outcome] = (outcomes[outcome] ?? 0) + 1
    if (outcomes.served === 100) parentPort.postMessage('going')
  }
}
Promise.all(Array.from({ length: 4 }, client)).then(() => parentPort.postMessage(outcomes))
`

const UNCUT = ['not connected', 'served']

const spin = (ms: number): void => {
  const until = performance.now() + ms
  while (performance.now() < until);
}

/**
 * What becomes of clients that connect all the time until a server's listener is closed. A close resets those who wait
 * to be accepted; one may also come in the microseconds between the quiet turn and the close, which are more where the
 * machine stops the process there: so the best of three closes is what counts. Each waits for 20 ms, in which clients
 * come, so that a plain close cuts some every time.
 */
async function outcomesOf(open: () => Server, stallMs = 0): Promise<readonly string[]> {
  for (let attempt = 1; ; attempt++) {
    const outcomes = await outcomesOfOne(open(), stallMs)
    if (attempt === 3 || outcomes.join() === UNCUT.join()) return outcomes
  }
}

async function outcomesOfOne(server: Server, stallMs: number): Promise<readonly string[]> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const clients = new Worker(CLIENTS, { eval: true, workerData: (server.address() as AddressInfo).port })
  const outcomes = new Promise<Record<string, number>>((resolve) => {
    clients.on('message', (message) => typeof message === 'object' && resolve(message))
  })
  await once(clients, 'message')

  // Long enough for others to connect meanwhile, who wait to be accepted.
  spin(20)
  setImmediate(() => spin(stallMs))
  await closeListener(() => closeSocket(server))
  return Object.keys(await outcomes).sort()
}

test('of clients that connect all the time, none is cut: each is served or cannot connect', async () => {
  const open = () =>
    createServer((socket) => {
      socket.on('error', () => undefined)
      socket.once('data', () => socket.end('served'))
    })

  expect(await outcomesOf(open)).toEqual(UNCUT)
})

test('nor where a busy machine stops the process for long while it looks for a turn to close in', async () => {
  const open = () => createHttpServer((_, response) => response.end())

  expect(await outcomesOf(open, 1_200)).toEqual(UNCUT)
})

test('nor while an HTTP server looks for idle connections, however many it has', async () => {
  function open(): Server {
    const server = createHttpServer((_, response) => response.end())
    const closeIdle = server.closeIdleConnections.bind(server)
    server.closeIdleConnections = () => {
      spin(100)
      closeIdle()
    }
    return server
  }

  expect(await outcomesOf(open)).toEqual(UNCUT)
})
