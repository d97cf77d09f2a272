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

interface Observed {
  readonly call: ObservedCall
  readonly form: Form
  stream?: ReadableStream
}

/** How responses of one prototype are observed: what they inherit from then, and the key of their `Observed`. */
interface Kind {
  readonly prototype: object
  readonly key: symbol
}
const kinds = new WeakMap<object, Kind>()
const READS = ['json', 'text', 'arrayBuffer', 'bytes', 'blob'] as const
const MEMBERS = ['body', 'clone', ...READS] as const

/**
 * The members that observe are inherited, so that responses share them. With closures of its own as members, a response
 * has a hidden class of its own, too, which keeps all that they hold until the old space is collected.
 */
function observeReads(response: Response, call: ObservedCall, form: Form): void {
  call.watch(response)
  let original: object = Object.getPrototypeOf(response)
  const own = MEMBERS.filter((name) => Object.hasOwn(response, name))
  if (own.length > 0) {
    const entries = own.map((name) => [name, Object.getOwnPropertyDescriptor(response, name)])
    original = Object.create(original, Object.fromEntries(entries))
  }
  const { prototype, key } = kindOf(original)
  const observed: Observed = { call, form }
  Object.defineProperty(response, key, { value: observed })
  Object.setPrototypeOf(response, prototype)
  for (const name of own) Reflect.deleteProperty(response, name)
}

function kindOf(original: object): Kind {
  const known = kinds.get(original)
  if (known !== undefined) return known
  const prototype: object = Object.create(original)
  const kind: Kind = { prototype, key: Symbol('observed') }
  kinds.set(original, kind)
  const observedIn = (response: Response) => Reflect.get(response, kind.key) as Observed
  const bodyOf = (response: Response) =>
    observedBody(() => Reflect.get(original, 'body', response), observedIn(response))
  Object.defineProperty(prototype, 'body', {
    configurable: true,
    enumerable: true,
    get(this: Response) {
      return bodyOf(this)
    },
  })
  const { clone } = original as Response
  define(prototype, 'clone', function (this: Response) {
    const copy = clone.call(this)
    quietly(() => {
      const { call, form } = observedIn(this)
      call.copied()
      observeReads(copy, call, form)
    })
    return copy
  })
  for (const name of READS) {
    const read = (original as Record<string, unknown>)[name] as (() => Promise<unknown>) | undefined
    if (typeof read !== 'function') continue
    define(prototype, name, async function (this: Response) {
      const { call, form } = observedIn(this)
      if (form.isAsked) return (new Response(bodyOf(this))[name as 'json'] as () => Promise<unknown>)()
      const value = await read.call(this).catch((cause: unknown) => {
        call.fail(cause)
        throw cause
      })
      // Whatever an answer holds, its caller gets it.
      if (name === 'json') quietly(() => call.seeParsed(statedIn(value)))
      else await seeRead(value, call, form).catch(() => undefined)
      call.end('success')
      return value
    })
  }
  return kind
}

const define = (prototype: object, name: string, value: (this: Response) => unknown): void => {
  Object.defineProperty(prototype, name, { configurable: true, enumerable: true, writable: true, value })
}

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

type See = StreamObserver<Uint8Array>['see']

function seeing(call: ObservedCall, form: Form): See {
  const onAnswer = onAnswerOf(call, form)
  if (form.isAsked) {
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
