import { once } from 'node:events'
import { connect, createServer, type ServerHttp2Session } from 'node:http2'
import { type AddressInfo, connect as connectSocket } from 'node:net'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { ReadTurns } from '../../../../internal/ingest/grpc/read-turns.js'
import { atEnd } from '../../../support/run/at-end.js'

interface Handle {
  readonly writeQueueSize: number
  readonly readStop: () => void
}
const handleOf = (socket: object): Handle => (socket as { _handle: Handle })._handle

/** Calls of others that fill a turn. */
function fill(reads: ReadTurns): void {
  for (let i = 0; i < 32; i++) reads.count()
}

test('all connections are read again in the next turn, but for those that do not read what they are sent', async () => {
  const reads = new ReadTurns()
  const said: string[] = []
  const add = (name: string, writeQueueSize: number): void => {
    const handle = {
      writeQueueSize,
      readStop: () => said.push(`${name} stops`),
      readStart: () => said.push(`${name} starts`),
    }
    reads.add({ socket: { _handle: handle }, once: () => undefined } as unknown as ServerHttp2Session)
  }
  add('one', 0)
  add('silent', 1)
  add('other', 0)

  fill(reads)
  await nextTurn()

  expect(said).toEqual(['one stops', 'silent stops', 'other stops', 'one starts', 'other starts'])
})

test('a peer that does not read is read no further, whatever calls others make', async () => {
  const reads = new ReadTurns()
  const server = createServer()
  const opened = once(server, 'session')
  server.on('stream', (stream) => {
    stream.on('error', () => undefined)
    stream.respond({ ':status': 200, padding: 'x'.repeat(8_000) }, { endStream: true })
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const socket = connectSocket((server.address() as AddressInfo).port, '127.0.0.1')
  const client = connect('http://127.0.0.1', { createConnection: () => socket })
  client.on('error', () => undefined)
  const [session] = (await opened) as [ServerHttp2Session]
  session.on('error', () => undefined)
  atEnd(() => {
    client.destroy()
    server.close()
  })
  await once(client, 'remoteSettings')
  reads.add(session)
  const bytesRead = (): number => session.socket.bytesRead
  const call = (): unknown => client.request({ ':path': '/' }).on('error', () => undefined)

  handleOf(socket).readStop()
  for (let full = 0; full < 50; await nextTurn()) {
    if (full === 0) call()
    full = handleOf(session.socket).writeQueueSize > 0 ? full + 1 : 0
  }
  const before = bytesRead()
  for (let i = 0; i < 50; i++) call()
  for (let turn = 0; turn < 50; turn++) {
    fill(reads)
    await nextTurn()
    // Sockets are read between two turns.
    await nextTurn()
  }

  expect(bytesRead()).toBe(before)
})
