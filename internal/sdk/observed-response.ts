import type { Stated } from './answer.js'
import { AnswerScanner, statedIn } from './answer-scanner.js'
import { quietly } from './event.js'
import { EventScanner } from './event-scanner.js'
import { inheriting, method } from './inherited.js'
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
  else observeReads(response, call, { isFile, isStreamed, isAsked })
  return response
}

interface Form {
  /** Lines are answers of their own. */
  readonly isFile: boolean
  readonly isStreamed: boolean
  readonly isAsked: boolean
}

interface Observed {
  readonly call: ObservedCall
  readonly form: Form
  stream?: ReadableStream
}

const READS = ['json', 'text', 'arrayBuffer', 'bytes', 'blob'] as const
const MEMBERS = ['body', 'clone', ...READS] as const

function observeReads(response: Response, call: ObservedCall, form: Form): void {
  call.watch(response)
  const own = MEMBERS.filter((name) => Object.hasOwn(response, name))
  const original = own.length === 0 ? undefined : Object.create(Object.getPrototypeOf(response))
  for (const name of own) {
    Object.defineProperty(original, name, Object.getOwnPropertyDescriptor(response, name) as PropertyDescriptor)
  }
  observeInherited(response, { call, form }, original)
  for (const name of own) Reflect.deleteProperty(response, name)
}

const observeInherited = inheriting<Response, Observed>((original, observedIn) => {
  const bodyOf = (response: Response) =>
    observedBody(() => Reflect.get(original, 'body', response), observedIn(response))
  const members: Record<string, PropertyDescriptor & ThisType<Response>> = {
    body: {
      configurable: true,
      enumerable: true,
      get() {
        return bodyOf(this)
      },
    },
    clone: method(function (this: Response) {
      const copy = original.clone.call(this)
      quietly(() => {
        const { call, form } = observedIn(this)
        call.copied()
        observeReads(copy, call, form)
      })
      return copy
    }),
  }
  for (const name of READS) {
    const read = (original as unknown as Partial<Record<string, () => Promise<unknown>>>)[name]
    if (typeof read !== 'function') continue
    members[name] = method(async function (this: Response) {
      const { call, form, stream } = observedIn(this)
      // It throws, and its call ends with whatever else reads it.
      if (this.bodyUsed || stream?.locked) return read.call(this)
      if (form.isAsked)
        return (new Response(bodyOf(this), { headers: this.headers })[name as 'json'] as () => Promise<unknown>)()
      let value: unknown
      try {
        value = await read.call(this)
      } catch (cause) {
        call.fail(cause)
        throw cause
      }
      // Whatever an answer holds, its caller gets it.
      if (name === 'json') quietly(() => call.seeParsed(statedIn(value)))
      else await seeRead(value, call, form).catch(() => undefined)
      call.end('success')
      return value
    })
  }
  return members
})

const onAnswerOf =
  (call: ObservedCall, { isFile }: Form) =>
  (stated: Stated) =>
    isFile ? call.seeOne(stated) : call.see(stated)

async function seeRead(value: unknown, call: ObservedCall, form: Form): Promise<void> {
  new AnswerScanner(onAnswerOf(call, form)).push(await bytesOf(value))
}

const encoder = new TextEncoder()

async function bytesOf(value: unknown): Promise<Uint8Array> {
  if (typeof value === 'string') return encoder.encode(value)
  if (value instanceof Blob) return new Uint8Array(await value.arrayBuffer())
  return value instanceof ArrayBuffer ? new Uint8Array(value) : (value as Uint8Array)
}

type See = (bytes: Uint8Array | undefined) => Uint8Array | undefined

/** Whatever passes, its reader gets it. */
function seeing(call: ObservedCall, form: Form): See {
  const onAnswer = onAnswerOf(call, form)
  const filter = form.isAsked ? new UsageChunkFilter(onAnswer) : undefined
  const Scanner = form.isStreamed ? EventScanner : AnswerScanner
  const scanner = filter === undefined ? new Scanner(onAnswer) : undefined
  return (bytes) => {
    try {
      if (filter !== undefined) return filter.passed(bytes)
      if (bytes !== undefined) scanner?.push(bytes)
    } catch {
      // It is not what it says that it is.
    }
    return bytes
  }
}

/** @param source also keeps the response: it is not unread while its body is read */
function observedBody(source: () => ReadableStream | AsyncIterable<Uint8Array> | null, observed: Observed) {
  const { call, form } = observed
  const stream = source()
  if (!(stream !== null && stream !== undefined && 'getReader' in stream))
    return observedNodeStream(stream, call, seeing(call, form))
  observed.stream ??= observedStream(source as () => ReadableStream, call, seeing(call, form))
  return observed.stream
}

function observedStream(
  source: () => ReadableStream<Uint8Array>,
  call: ObservedCall,
  see: See,
): ReadableStream<Uint8Array> {
  return passThrough(source, {
    see: see as StreamObserver['see'],
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
