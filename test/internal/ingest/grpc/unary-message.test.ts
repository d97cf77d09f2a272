import fc from 'fast-check'
import { expect, test } from 'vitest'
import { framed, type MessageHead, UnaryMessage } from '../../../../internal/ingest/grpc/unary-message.js'

/** What a reader gets of chunks. */
async function read(chunks: readonly Uint8Array[]): Promise<{ head?: MessageHead; bytes: Buffer; isRefused: boolean }> {
  const message = new UnaryMessage()
  const parts: Buffer[] = []
  let head: MessageHead | undefined
  message.once('head', (said: MessageHead) => {
    head = said
  })
  message.on('data', (part: Buffer) => parts.push(part))
  const isRefused = await new Promise<boolean>((resolve) => {
    message.once('error', () => resolve(true))
    message.once('end', () => resolve(false))
    for (const chunk of chunks) message.write(chunk)
    message.end()
  })
  return { ...(head !== undefined && { head }), bytes: Buffer.concat(parts), isRefused }
}

/** The same bytes in pieces. */
const cutAt = (bytes: Buffer, cuts: readonly number[]): Buffer[] => {
  const places = [0, ...cuts.map((cut) => cut % (bytes.length + 1)).sort((a, b) => a - b), bytes.length]
  return places.slice(1).map((end, at) => bytes.subarray(places[at], end))
}

test('a message is the same however it is cut', async () => {
  await fc.assert(
    fc.asyncProperty(fc.uint8Array({ maxLength: 200 }), fc.array(fc.nat(300), { maxLength: 8 }), async (body, cuts) => {
      const { head, bytes, isRefused } = await read(cutAt(framed(body), cuts))

      expect(isRefused).toBe(false)
      expect(head).toEqual({ isCompressed: false, bytes: body.length })
      expect(bytes).toEqual(Buffer.from(body))
    }),
  )
})

test('half a message, more than one, and what is none are refused', async () => {
  const whole = framed(Buffer.from('abc'))
  const flagged = Buffer.from(whole)
  flagged[0] = 2

  for (const bytes of [
    Buffer.alloc(0),
    whole.subarray(0, 4),
    whole.subarray(0, -1),
    Buffer.concat([whole, whole]),
    flagged,
  ])
    expect((await read([bytes])).isRefused).toBe(true)
})

test('its head says whether it is compressed', async () => {
  const bytes = framed(Buffer.from('abc'))
  bytes[0] = 1

  expect((await read([bytes])).head).toEqual({ isCompressed: true, bytes: 3 })
})
