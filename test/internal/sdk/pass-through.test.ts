import { Readable } from 'node:stream'
import { text as textOf } from 'node:stream/consumers'
import { describe, expect, test } from 'vitest'
import { passThrough } from '../../../internal/sdk/pass-through.js'

/** A text that is no longer than what a reader asks for, in parts of one byte. */
function parts(text: string, type?: 'bytes') {
  const left = [...new TextEncoder().encode(text)]
  const seen = { pulls: 0, cancelled: undefined as unknown }
  const source = {
    pull(controller: ReadableStreamDefaultController | ReadableByteStreamController) {
      seen.pulls++
      const next = left.shift()
      if (next !== undefined) return controller.enqueue(Uint8Array.of(next) as never)
      controller.close()
      if ('byobRequest' in controller) controller.byobRequest?.respond(0)
    },
    cancel(reason: unknown) {
      seen.cancelled = reason
    },
  }
  const stream = new ReadableStream(
    (type === undefined ? source : { ...source, type }) as never,
    { highWaterMark: 0 } as never,
  ) as ReadableStream<Uint8Array<ArrayBuffer>>
  return { stream, seen }
}

/** Without x, and with what was read and how it ended. */
function observed(stream: ReadableStream) {
  const log = { read: '', ends: [] as unknown[] }
  const passed = passThrough(() => stream, {
    see(value) {
      const text = new TextDecoder().decode(value as Uint8Array | undefined)
      log.read += text
      return text === 'x' ? undefined : value
    },
    end: () => log.ends.push('end'),
    fail: (cause) => log.ends.push(cause),
    abandon: () => log.ends.push('left'),
  }) as ReadableStream<Uint8Array<ArrayBuffer>>
  return { log, passed }
}

async function readBy(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<string> {
  let text = ''
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return text
    text += new TextDecoder().decode(value)
  }
}

async function looped(stream: AsyncIterable<Uint8Array>): Promise<string> {
  let text = ''
  for await (const part of stream) text += new TextDecoder().decode(part)
  return text
}

const WAYS: Readonly<Record<string, (stream: ReadableStream<Uint8Array<ArrayBuffer>>) => Promise<string>>> = {
  'a reader': (stream) => readBy(stream.getReader()),
  'a loop': (stream) => looped(stream),
  'a loop over its values': (stream) => looped(stream.values({ preventCancel: true })),
  'a response': (stream) => new Response(stream).text(),
  'a stream of Node': (stream) => textOf(Readable.fromWeb(stream as never)),
  'a pipe': async (stream) => {
    let text = ''
    const write = (part: Uint8Array) => {
      text += new TextDecoder().decode(part)
    }
    await stream.pipeTo(new WritableStream({ write }))
    return text
  },
  'a transform': (stream) => looped(stream.pipeThrough(new TransformStream())),
  'a tee': async (stream) => {
    const [first, second] = stream.tee()
    const [one, two] = await Promise.all([looped(first), readBy(second.getReader())])
    expect(one).toBe(two)
    return one
  },
}

describe.each(Object.entries(WAYS))('a stream that is read by %s', (_, read) => {
  test.each([undefined, 'bytes'] as const)('passes on what it may, and ends once', async (type) => {
    const { stream } = parts('axbcxxd', type)
    const { log, passed } = observed(stream)

    expect(await read(passed)).toBe('abcd')
    expect(log).toEqual({ read: 'axbcxxd', ends: ['end'] })
  })

  test('fails with the cause of its source', async () => {
    const cause = new Error('cut')
    const { log, passed } = observed(new ReadableStream({ pull: (controller) => controller.error(cause) }))

    await expect(read(passed)).rejects.toBe(cause)
    expect(log.ends).toEqual([cause])
  })
})

describe('a reader', () => {
  test('is one of the platform, which locks the stream until it is released', async () => {
    const { log, passed } = observed(parts('abc').stream)
    const reader = passed.getReader()
    expect([reader instanceof ReadableStreamDefaultReader, passed.locked, Object.keys(reader)]).toEqual([
      true,
      true,
      [],
    ])
    expect(() => passed.getReader()).toThrow(TypeError)
    await expect(passed.cancel()).rejects.toThrow(TypeError)
    await reader.read()
    reader.releaseLock()

    await expect(reader.read()).rejects.toThrow(TypeError)
    expect(passed.locked).toBe(false)
    expect(await new Response(passed).text()).toBe('bc')
    expect(log.ends).toEqual(['end'])
  })

  test('that is released while it reads leaves the part to the next one', async () => {
    const { readable, writable } = new TransformStream()
    const writer = writable.getWriter()
    const { log, passed } = observed(readable)
    const first = passed.getReader()
    const pending = first.read()
    first.releaseLock()
    await expect(pending).rejects.toThrow(TypeError)
    void writer.write(Uint8Array.of(0x61))
    void writer.close()

    expect(await readBy(passed.getReader())).toBe('a')
    expect(log).toEqual({ read: 'a', ends: ['end'] })
  })

  test('gets parts in order when it asks for several at once', async () => {
    const reader = observed(parts('xaxbc').stream).passed.getReader()
    const read = await Promise.all([1, 2, 3, 4].map(() => reader.read()))

    expect(read.map(({ value }) => new TextDecoder().decode(value))).toEqual(['a', 'b', 'c', ''])
    expect(read.at(-1)).toEqual({ done: true, value: undefined })
    await expect(reader.closed).resolves.toBe(undefined)
  })

  test('that leaves cancels the source for the same reason, and is counted once', async () => {
    const { stream, seen } = parts('abc')
    const { log, passed } = observed(stream)
    const reader = passed.getReader()
    await reader.read()
    await reader.cancel('enough')
    await reader.cancel('again')

    expect([seen.pulls, seen.cancelled, log.ends]).toEqual([1, 'enough', ['left']])
  })

  test('may fill its own buffers where the source can', async () => {
    const { log, passed } = observed(parts('axbc', 'bytes').stream)
    const reader = passed.getReader({ mode: 'byob' })
    const { value } = await reader.read(new Uint8Array(8))
    expect([reader instanceof ReadableStreamBYOBReader, passed.locked]).toEqual([true, true])
    expect([value?.buffer.byteLength, new TextDecoder().decode(value)]).toEqual([8, 'a'])
    reader.releaseLock()

    expect(await looped(passed)).toBe('bc')
    expect(log.ends).toEqual(['end'])
    const ended = passed.getReader({ mode: 'byob' })
    expect(await ended.read(new Uint8Array(8))).toMatchObject({ done: true })
    expect(() => observed(parts('a').stream).passed.getReader({ mode: 'byob' })).toThrow(TypeError)
  })
})

describe('a loop', () => {
  test('that is left cancels the source, unless it shall not', async () => {
    const { stream, seen } = parts('abc')
    const { log, passed } = observed(stream)
    for await (const _ of passed.values({ preventCancel: true })) break
    expect([seen.pulls, log.ends, passed.locked]).toEqual([1, [], false])
    for await (const _ of passed) break

    expect([seen.pulls, 'cancelled' in seen, log.ends, passed.locked]).toEqual([2, true, ['left'], false])
  })

  test('has an iterator of the platform, which ends for good', async () => {
    const iterator = observed(parts('a').stream).passed[Symbol.asyncIterator]()
    expect(iterator[Symbol.asyncIterator]()).toBe(iterator)
    const all = [await iterator.next(), await iterator.next(), await iterator.next(), await iterator.return?.()]

    expect(all.map((each) => each?.done)).toEqual([false, true, true, true])
  })
})
