import type { Stated } from './answer.js'
import { AnswerScanner, statedIn } from './answer-scanner.js'
import { quietly } from './event.js'
import type { ObservedCall } from './observed-call.js'
import { passThrough, type StreamObserver } from './pass-through.js'
import { UsageChunkFilter } from './usage-chunk.js'

/**
 * Observes whatever way a response is read by. It stays the same object, which is read no sooner and no faster than its
 * reader asks for.
 *
 * @param isAsked the last chunk, with the usage, is what the caller did not ask for
 */
export function observeResponse(response: Response, call: ObservedCall, isAsked: boolean): Response {
  const type = response.headers.get('content-type') ?? ''
  // Amazon's has a form of its own, of which only the end is known here.
  const isStreamed = /event-?stream/.test(type)
  call.answered(response.headers, isStreamed)
  // Sound, images, files.
  const isFile = /jsonl|ndjson|application\/binary/.test(type)
  if (type !== '' && !isStreamed && !isFile && !type.includes('json')) call.end('success')
  else observeReads(response, call, { isFile, isAsked })
  return response
}

interface Form {
  /** Lines are answers of their own. */
  readonly isFile: boolean
  readonly isAsked: boolean
}

const READS = ['text', 'arrayBuffer', 'bytes', 'blob'] as const

function observeReads(response: Response, call: ObservedCall, form: Form): void {
  call.watch(response)
  const body = Object.getOwnPropertyDescriptor(response, 'body')
  const original = () =>
    body === undefined ? Reflect.get(Object.getPrototypeOf(response), 'body', response) : body.value
  const onAnswer = (stated: Stated): void => (form.isFile ? call.seeOne(stated) : call.see(stated))
  let observed: ReadableStream | undefined
  const observedBody = () => {
    const stream = original()
    if (typeof stream?.getReader !== 'function') return observedNodeStream(stream, call, seeing(onAnswer, form.isAsked))
    observed ??= observedStream(original, call, seeing(onAnswer, form.isAsked))
    return observed
  }
  Object.defineProperty(response, 'body', { configurable: true, enumerable: true, get: observedBody })

  const observeRead = (name: (typeof READS)[number] | 'json', see: (value: unknown) => unknown): void => {
    const read = response[name as 'json'] as (() => Promise<unknown>) | undefined
    if (typeof read !== 'function') return
    const reading = async (): Promise<unknown> => {
      if (form.isAsked) return (new Response(observedBody())[name as 'json'] as () => Promise<unknown>)()
      const value = await read.call(response).catch((cause: unknown) => {
        call.fail(cause)
        throw cause
      })
      await quietlyAwaited(() => see(value))
      call.end('success')
      return value
    }
    define(response, name, reading)
  }
  observeRead('json', (value) => call.seeParsed(statedIn(value)))
  for (const name of READS) observeRead(name, async (value) => new AnswerScanner(onAnswer).push(await bytesOf(value)))
  const copy = response.clone
  define(response, 'clone', () => {
    const cloned = copy.call(response)
    quietly(() => {
      call.copied()
      observeReads(cloned, call, form)
    })
    return cloned
  })
}

const define = (response: Response, name: string, value: unknown): void => {
  Object.defineProperty(response, name, { configurable: true, writable: true, value })
}

async function quietlyAwaited(task: () => unknown): Promise<void> {
  try {
    await task()
  } catch {
    // Whatever an answer holds, its caller gets it.
  }
}

const encoder = new TextEncoder()

async function bytesOf(value: unknown): Promise<Uint8Array> {
  if (typeof value === 'string') return encoder.encode(value)
  if (value instanceof Blob) return new Uint8Array(await value.arrayBuffer())
  return value instanceof ArrayBuffer ? new Uint8Array(value) : (value as Uint8Array)
}

type See = StreamObserver<Uint8Array>['see']

function seeing(onAnswer: (stated: Stated) => void, isAsked: boolean): See {
  if (isAsked) {
    const filter = new UsageChunkFilter(onAnswer)
    return (bytes) => {
      const passed = filter.passed(bytes)
      return passed.length === 0 ? undefined : passed
    }
  }
  const scanner = new AnswerScanner(onAnswer)
  return (bytes) => {
    if (bytes !== undefined) quietly(() => scanner.push(bytes))
    return bytes
  }
}

function observedStream(
  source: () => ReadableStream<Uint8Array>,
  call: ObservedCall,
  see: See,
): ReadableStream<Uint8Array> {
  return passThrough(source, {
    see,
    end: () => call.end('success'),
    fail: (cause) => call.fail(cause),
    abandon: () => call.abandon(),
  })
}

/** The body of `node-fetch`: what iterates it is observed. */
function observedNodeStream(stream: AsyncIterable<Uint8Array> | null, call: ObservedCall, see: See) {
  if (stream === null || stream === undefined || Object.hasOwn(stream, Symbol.asyncIterator)) return stream
  const iterate = stream[Symbol.asyncIterator]
  return Object.defineProperty(stream, Symbol.asyncIterator, {
    async *value() {
      let isDone = false
      try {
        for await (const chunk of { [Symbol.asyncIterator]: iterate.bind(stream) }) {
          // Texts, of a stream that its caller has set to decode.
          if (!ArrayBuffer.isView(chunk)) yield chunk
          else yield* asBuffers(see(new Uint8Array(chunk.buffer, chunk.byteOffset, chunk.byteLength)))
        }
        yield* asBuffers(see(undefined))
        isDone = true
      } catch (cause) {
        call.fail(cause)
        throw cause
      } finally {
        if (isDone) call.end('success')
        else call.abandon()
      }
    },
  })
}

const asBuffers = (bytes: Uint8Array | undefined): readonly Uint8Array[] =>
  bytes === undefined ? [] : [Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)]
