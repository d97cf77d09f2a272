import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { PassThrough } from 'node:stream'
import { gzipSync } from 'node:zlib'
import { afterEach, expect, test, vi } from 'vitest'
import { WholeCopy } from '../../../../internal/ingest/bodies/body-copy.js'
import { GrowingBytes } from '../../../../internal/ingest/bodies/growing-bytes.js'
import { JsonObjects } from '../../../../internal/ingest/bodies/json-objects.js'
import { readIntakeBody } from '../../../../internal/ingest/intake/intake-body.js'

const MIB = 1024 * 1024
const HOLDER = { hold: () => true, release: () => undefined, pace: (_: number, go: () => void) => go() }

/** What became of a body that is packed, what was held for it, and how much of it was looked at. */
async function read(packed: Buffer, coding = 'gzip') {
  const request = Object.assign(new PassThrough(), { headers: { 'content-encoding': coding } })
  const copy = new JsonObjects(new GrowingBytes(), { members: new Map([['id', 'scalar']]) })
  let unpackedBytes = 0
  const write = copy.write.bind(copy)
  copy.write = (chunk: Buffer) => {
    unpackedBytes += chunk.length
    write(chunk)
  }
  let heldBytes = 0
  let heldMost = 0
  const hold = (bytes: number): boolean => {
    heldBytes += bytes
    heldMost = Math.max(heldMost, heldBytes)
    return true
  }
  const holder = { ...HOLDER, hold, release: (bytes: number) => void hold(-bytes) }
  request.end(packed)
  const body = await readIntakeBody(request as unknown as IncomingMessage, holder, copy)
  const outcome = body === undefined || Buffer.isBuffer(body) ? 'read' : body.code
  return {
    outcome,
    steps: copy.steps,
    unpackedBytes,
    heldBytes,
    heldMost,
    keptBytes: copy.kept.length,
    count: copy.count,
  }
}

test.each(['[', '{},', '"",', '0,', '{"id":0}\n', ' ', 'text '])(
  'a body that is packed to a thousandth costs few steps: %j',
  async (repeated) => {
    const packed = gzipSync(`[${repeated.repeat((18 * MIB) / repeated.length)}`)
    expect(packed.length).toBeLessThan(80_000)

    const { steps, unpackedBytes, heldMost } = await read(packed)

    expect(steps).toBeLessThan(200_000 + 17 * packed.length + 64 * 1024)
    expect(unpackedBytes).toBeLessThanOrEqual(19 * MIB)
    expect(heldMost).toBeLessThan(19 * MIB)
  },
)

test('a body that is packed to a thousandth is unpacked up to 32 MiB and 256 times what was sent', async () => {
  const packed = gzipSync(Buffer.alloc(128 * MIB, ' '))

  const { outcome, unpackedBytes } = await read(packed)

  expect(outcome).toBe('PAYLOAD_TOO_LARGE')
  expect(unpackedBytes).toBeLessThanOrEqual(32 * MIB + 256 * packed.length)
})

test('equal prompts, which are packed to a hundredth, are read', async () => {
  const line = JSON.stringify({ id: 'one', messages: [{ content: 'the same prompt for all of them '.repeat(400) }] })

  const { outcome, count, heldBytes, heldMost, keptBytes } = await read(gzipSync(`${line}\n`.repeat(4_000)))

  expect({ outcome, count }).toEqual({ outcome: 'read', count: 4_000 })
  expect(heldMost).toBeLessThan(MIB)
  // What unpacks a body takes no memory once it is unpacked.
  expect(heldBytes).toBe(keptBytes)
})

test.each(['gzip', 'identity'])('a body whose sender goes before all of it is read has an end: %s', async (coding) => {
  const request = Object.assign(new PassThrough(), { headers: { 'content-encoding': coding } })
  const copy = new JsonObjects(new GrowingBytes(), { members: new Map() })
  const begin = () => readIntakeBody(request as unknown as IncomingMessage, HOLDER, copy)
  const packed = gzipSync(randomBytes(MIB))

  const body = begin()
  const isRead = once(request, 'data')
  // Packed, all of it has come and waits to be unpacked.
  if (coding === 'gzip') request.end(packed)
  else request.write(packed)
  await isRead
  request.destroy()

  expect(await body).toBeUndefined()
  // Nor does one begin that has gone.
  expect(await begin()).toBeUndefined()
})

afterEach(() => void vi.useRealTimers())

test('a body that falls silent is given up; a slow one is not', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  const request = Object.assign(new PassThrough(), { headers: {} })
  const copy = new JsonObjects(new GrowingBytes(), { members: new Map() })
  const body = readIntakeBody(request as unknown as IncomingMessage, HOLDER, copy)
  for (let i = 0; i < 5; i++) {
    request.write('{')
    await new Promise(setImmediate)
    vi.advanceTimersByTime(10_000)
  }
  expect(request.destroyed).toBe(false)
  vi.advanceTimersByTime(20_000)

  expect(await body).toBeUndefined()
  expect(request.destroyed).toBe(true)
})

test('pieces of a body but the first wait for their turns, and its end for the last of them', async () => {
  const request = Object.assign(new PassThrough(), { headers: {} })
  const waiting: (() => void)[] = []
  const pace = (_: number, go: () => void) => waiting.push(go)
  const copy = new WholeCopy(new GrowingBytes())
  let isRead = false
  const body = readIntakeBody(request as unknown as IncomingMessage, { ...HOLDER, pace }, copy)
  void body.then(() => {
    isRead = true
  })
  for (const piece of ['one', 'two', 'six']) request.write(piece)
  request.end()

  for (const length of [3, 6]) {
    await new Promise(setImmediate)
    expect([waiting.length, copy.kept.length, isRead]).toEqual([1, length, false])
    waiting.shift()?.()
  }
  expect(String(await body)).toBe('onetwosix')
})

test('a body that waits for its turn is not silent, however long that takes', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  const request = Object.assign(new PassThrough(), { headers: {} })
  const waiting: (() => void)[] = []
  const pace = (_: number, go: () => void) => waiting.push(go)
  const body = readIntakeBody(
    request as unknown as IncomingMessage,
    { ...HOLDER, pace },
    new WholeCopy(new GrowingBytes()),
  )
  for (const piece of ['one', 'two', 'six']) request.write(piece)
  await new Promise(setImmediate)
  vi.advanceTimersByTime(60_000)
  expect(request.destroyed).toBe(false)

  for (let i = 0; i < 2; i++) {
    waiting.shift()?.()
    await new Promise(setImmediate)
  }
  vi.advanceTimersByTime(20_000)

  expect(await body).toBeUndefined()
  expect(request.destroyed).toBe(true)
})
