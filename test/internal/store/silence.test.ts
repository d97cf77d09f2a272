import { EventEmitter } from 'node:events'
import { createServer, type Socket } from 'node:net'
import { afterEach, expect, test, vi } from 'vitest'
import { connectStore } from '../../../internal/store/client.js'
import { StoreAway, storeProblem } from '../../../internal/store/failures.js'
import { type Ping, StoreSilence, saysAnything } from '../../../internal/store/silence.js'
import { atEnd } from '../../support/run/at-end.js'

/** A store that works, or stands still. */
class TestStore extends EventEmitter {
  isStill = false
  pings = 0

  readonly ping: Ping = (signal) =>
    new Promise((resolve, reject) => {
      this.pings++
      if (!this.isStill) return resolve(undefined)
      this.once('goes on', resolve)
      signal.addEventListener('abort', reject)
    })

  goOn(): void {
    this.isStill = false
    this.emit('goes on')
  }
}

const failed = ({ signal }: { readonly signal: AbortSignal }): Promise<unknown> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve(signal.reason)
    else signal.addEventListener('abort', () => resolve(signal.reason))
  })

test('reads of a store that stands still fail, those after them at once, until it goes on', async () => {
  const store = new TestStore()
  store.isStill = true
  const silence = new StoreSilence(store.ping)

  const reads = [silence.begin(undefined), silence.begin(undefined)]
  expect(await Promise.all(reads.map(failed))).toEqual([expect.any(StoreAway), expect.any(StoreAway)])
  for (const read of reads) read.end()
  expect(() => silence.begin(undefined)).toThrow(StoreAway)
  store.goOn()
  await vi.waitFor(() => silence.begin(undefined).end(), { timeout: 10_000 })
})

test('a read that is slow goes on while the store answers pings, and nobody asks while nobody reads', async () => {
  const store = new TestStore()
  const silence = new StoreSilence(store.ping)
  const read = silence.begin(undefined)

  await vi.waitFor(() => expect(store.pings).toBeGreaterThan(2), { timeout: 20_000 })
  expect(read.signal.aborted).toBe(false)
  read.end()
  const { pings } = store
  await new Promise((resolve) => setTimeout(resolve, 1_200))
  expect(store.pings).toBeLessThanOrEqual(pings + 1)
})

test('a read ends with the signal of its caller', () => {
  const silence = new StoreSilence(new TestStore().ping)
  const leaving = new AbortController()
  const read = silence.begin(leaving.signal)
  leaving.abort(new Error('left'))

  expect(read.signal.reason).toMatchObject({ message: 'left' })
  read.end()
  expect(silence.begin(AbortSignal.abort(new Error('gone'))).signal.reason).toMatchObject({ message: 'gone' })
})

test('a store that refuses a ping is not silent: its answer says more', async () => {
  expect(await saysAnything(() => Promise.reject(new Error('ECONNREFUSED')))).toBe(true)
})

const sockets = new Set<Socket>()
afterEach(() => {
  for (const socket of sockets) socket.destroy()
})

type Client = ReturnType<typeof connectStore>
const rows = (client: Client): Promise<unknown> =>
  client.query({ query: 'SELECT 1', format: 'JSONCompactEachRow' }).then((result) => result.json())
async function bytes(client: Client): Promise<void> {
  for await (const _ of (await client.exec({ query: 'SELECT 1' })).stream);
}
const BEGUN = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\n[1]\n\r\n'

test.each([
  ['before it answers rows', '', rows],
  ['in the middle of an answer of rows', BEGUN, rows],
  ['before it answers bytes', '', bytes],
  ['in the middle of an answer of bytes', BEGUN, bytes],
])('a client says within seconds that its store stands still, %s', async (_, begun, read) => {
  const server = createServer((socket) => {
    sockets.add(socket.on('error', () => undefined))
    // A process that stands still takes connections, too.
    socket.once('data', (head: Buffer) => head.includes('/ping') || socket.write(begun))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  atEnd(() => void server.close())
  const { port } = server.address() as { port: number }
  const client = connectStore({ url: `http://127.0.0.1:${port}`, user: 'a', password: 'b', database: 'c' })
  atEnd(() => client.close())
  const startedAt = performance.now()
  const cause = await read(client).catch((error: unknown) => error)

  expect(storeProblem(cause)?.code).toBe('SERVICE_UNAVAILABLE')
  // 1.8 s; a busy machine may need longer. It was a minute.
  expect(performance.now() - startedAt).toBeLessThan(10_000)
})

test('bytes whose reader leaves before it reads them end with it, and nothing else does', async () => {
  const server = createServer((socket) => {
    sockets.add(socket.on('error', () => undefined))
    socket.once('data', () => socket.write(BEGUN))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  atEnd(() => void server.close())
  const { port } = server.address() as { port: number }
  const client = connectStore({ url: `http://127.0.0.1:${port}`, user: 'a', password: 'b', database: 'c' })
  atEnd(() => client.close())
  const leaving = new AbortController()
  const { stream } = await client.exec({ query: 'SELECT 1', abort_signal: leaving.signal })

  leaving.abort()

  await vi.waitFor(() => expect(stream.closed).toBe(true))
  expect(stream.errored).toBeInstanceOf(StoreAway)
})
