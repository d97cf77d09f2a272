import { createServer, type Server, type Socket } from 'node:net'
import { ClickHouseError } from '@clickhouse/client'
import { afterAll, describe, expect, test } from 'vitest'
import { connectStore } from '../../../internal/store/client.js'
import { storeProblem } from '../../../internal/store/failures.js'

const refused = (code: string, type: string) => new ClickHouseError({ message: `Code: ${code}.`, code, type })
const AWAY = { code: 'SERVICE_UNAVAILABLE', detail: 'The read model is unavailable.' }

test.each([
  ['241', 'MEMORY_LIMIT_EXCEEDED'],
  ['243', 'NOT_ENOUGH_SPACE'],
  ['75', 'CANNOT_WRITE_TO_FILE_DESCRIPTOR'],
  ['252', 'TOO_MANY_PARTS'],
  ['394', 'QUERY_WAS_CANCELLED'],
  ['236', 'ABORTED'],
])('%s, %s, may pass: it is to be tried again', (code, type) => {
  expect(storeProblem(refused(code, type))).toMatchObject({ code: 'SERVICE_UNAVAILABLE' })
})

test('what the engine cannot make sense of is a defect, and no end of a connection', () => {
  expect(storeProblem(refused('47', 'UNKNOWN_IDENTIFIER'))).toBeUndefined()
})

test.each([
  new TypeError("Cannot read properties of undefined (reading 'rows')"),
  new RangeError('Invalid array length'),
  new SyntaxError('Unexpected token'),
  new ReferenceError('rows is not defined'),
  Object.assign(new TypeError('The "data" argument must be of type string.'), { code: 'ERR_INVALID_ARG_TYPE' }),
  new Error('a changed record has no version'),
  undefined,
])('%s is a defect', (cause) => {
  expect(storeProblem(cause)).toBeUndefined()
})

describe('a store', () => {
  const servers: Server[] = []
  const sockets = new Set<Socket>()
  afterAll(() => {
    for (const server of servers) server.close()
    for (const socket of sockets) socket.destroy()
  })
  /** What is thrown by a query, or by the reading of its rows, where the store does this once it is asked. */
  async function thrown(answer: (socket: Socket) => void, signal?: AbortSignal): Promise<unknown> {
    const server = createServer((socket) => {
      sockets.add(socket)
      socket.on('error', () => undefined)
      socket.once('data', () => answer(socket))
    })
    servers.push(server)
    const port = await new Promise<number>((resolve) => {
      server.listen(0, '127.0.0.1', () => resolve((server.address() as { port: number }).port))
    })
    return askAt(port, signal)
  }
  async function askAt(port: number, signal?: AbortSignal): Promise<unknown> {
    const url = `http://127.0.0.1:${port}`
    const client = connectStore({ url, user: 'one', password: 'two', database: 'three', silenceMsMax: 200 })
    try {
      const result = await client.query({
        query: 'SELECT 1',
        format: 'JSONCompactEachRow',
        ...(signal && { abort_signal: signal }),
      })
      await result.json()
    } catch (cause) {
      return cause
    } finally {
      await client.close()
    }
    throw new Error('nothing was thrown')
  }
  const HEAD = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n'

  test('that refuses connections is unavailable', async () => {
    const server = createServer()
    const port = await new Promise<number>((resolve) => {
      server.listen(0, '127.0.0.1', () => resolve((server.address() as { port: number }).port))
    })
    await new Promise((resolve) => server.close(resolve))

    expect(storeProblem(await askAt(port))).toMatchObject(AWAY)
  })

  test.each<[string, (socket: Socket) => void]>([
    ['is killed before it answers', (socket) => socket.resetAndDestroy()],
    ['hangs up before it answers', (socket) => socket.end()],
    ['says nothing', () => undefined],
    ['is killed in the middle of an answer', (socket) => socket.write(`${HEAD}4\r\n[1]\n\r\n`, () => socket.destroy())],
    ['is killed in the middle of a row', (socket) => socket.write(`${HEAD}2\r\n[1\r\n`, () => socket.destroy())],
    ['says nothing more in the middle of an answer', (socket) => socket.write(`${HEAD}4\r\n[1]\n\r\n`)],
    ['answers in no HTTP', (socket) => socket.end('?\r\n\r\n')],
    [
      'has a proxy before it that says so',
      (socket) => socket.end('HTTP/1.1 502 Bad Gateway\r\nContent-Length: 4\r\n\r\naway'),
    ],
    [
      'fails in the middle of an answer, of whose words the end is cut',
      (socket) => socket.end('HTTP/1.1 200 OK\r\nX-ClickHouse-Exception-Tag: tag\r\nContent-Length: 5\r\n\r\n[1]\r\n'),
    ],
    ['has one that says nothing', (socket) => socket.end('HTTP/1.1 503 Away\r\nContent-Length: 0\r\n\r\n')],
  ])('that %s is unavailable', async (_, answer) => {
    expect(storeProblem(await thrown(answer))).toMatchObject(AWAY)
  })

  test('whose caller leaves has no defect', async () => {
    const leaving = new AbortController()

    const cause = await thrown(() => leaving.abort(), leaving.signal)

    expect(storeProblem(cause)).toMatchObject(AWAY)
  })

  test('that refuses a query has its own word', async () => {
    const text = 'Code: 47. DB::Exception: Unknown identifier. (UNKNOWN_IDENTIFIER)'
    const cause = await thrown((socket) =>
      socket.end(`HTTP/1.1 404 Not Found\r\nContent-Length: ${text.length}\r\n\r\n${text}`),
    )

    expect(cause).toBeInstanceOf(ClickHouseError)
    expect(storeProblem(cause)).toBeUndefined()
  })

  test('whose rows are no JSON has a defect', async () => {
    const cause = await thrown((socket) => socket.end('HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n[1\n'))

    expect(storeProblem(cause)).toBeUndefined()
  })
})
