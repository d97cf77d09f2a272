import { createServer, type RequestListener, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import { gzipSync } from 'node:zlib'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { AnswerTooLong, boundedFetch, readAnswer } from '../../../internal/outbound/bounded-answer.js'
import { atEnd } from '../../support/run/at-end.js'

const LIMITS = { bytesMax: 10_000, msMax: 60_000 }

async function serve(listener: RequestListener): Promise<string> {
  const server = createServer(listener).listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  atEnd(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
}

/** Answers without end, and says how many bytes the connection took once it is closed. */
function pour(response: ServerResponse): Promise<number> {
  const write = (): void => {
    while (response.write(Buffer.alloc(16_384, 'x')));
  }
  response.on('drain', write)
  write()
  return new Promise((resolve) => {
    response.on('close', () => resolve(response.socket?.bytesWritten ?? 0))
  })
}

test('an answer comes back as it was sent, up to the limit and no further', async () => {
  const parts = fc.array(fc.uint8Array({ maxLength: 40 }), { maxLength: 12 })
  await fc.assert(
    fc.asyncProperty(parts, fc.nat(240), async (sent, bytesMax) => {
      const whole = Buffer.concat(sent)
      const answer = readAnswer(Readable.from(sent), { bytesMax, msMax: 60_000 })

      if (whole.length <= bytesMax) expect(await answer).toEqual(whole)
      else await expect(answer).rejects.toThrow(AnswerTooLong)
    }),
  )
})

test('fetch keeps status, headers and text of an answer', async () => {
  const url = await serve((request, response) => {
    if (request.url === '/none') response.writeHead(204).end()
    else response.writeHead(404, { 'content-type': 'application/json', 'x-of': 'theirs' }).end('{"a":1}')
  })
  const fetch = boundedFetch(LIMITS)

  const answer = await fetch(url)
  expect([answer.status, answer.headers.get('x-of'), await answer.json()]).toEqual([404, 'theirs', { a: 1 }])
  expect((await fetch(`${url}none`)).status).toBe(204)
})

test('an answer without end is left, and its connection closed', async () => {
  let poured: Promise<number> | undefined
  const url = await serve((_, response) => {
    poured = pour(response)
  })

  await expect(boundedFetch(LIMITS)(url)).rejects.toThrow(AnswerTooLong)
  // What both sockets hold is on its way already.
  expect(await poured).toBeLessThan(16 * 1024 * 1024)
})

test('bytes count as they are unpacked', async () => {
  const packed = gzipSync(Buffer.alloc(50_000_000))
  const url = await serve((_, response) => response.writeHead(200, { 'content-encoding': 'gzip' }).end(packed))

  await expect(boundedFetch(LIMITS)(url)).rejects.toThrow(AnswerTooLong)
})

test.each(['no answer', 'half an answer'])('%s ends with the time, or with the signal of the caller', async (kind) => {
  const url = await serve((_, response) => {
    if (kind === 'half an answer') response.write('{"a":')
  })

  await expect(boundedFetch({ ...LIMITS, msMax: 50 })(url)).rejects.toThrow(/timeout/)
  await expect(boundedFetch(LIMITS)(url, { signal: AbortSignal.timeout(50) })).rejects.toThrow(/timeout/)
})

test('half an answer ends with the time where it is a stream', async () => {
  const half = new Readable({ read: () => undefined })
  half.push('{"a":')

  await expect(readAnswer(half, { ...LIMITS, msMax: 50 })).rejects.toMatchObject({ cause: { name: 'TimeoutError' } })
  expect(half.destroyed).toBe(true)
})
