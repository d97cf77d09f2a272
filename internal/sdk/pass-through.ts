import { inheriting, method } from './inherited.js'

/** What a stream reports while it is read. */
export interface StreamObserver {
  /**
   * @param value undefined at the end
   * @returns what passes on; undefined for nothing
   */
  readonly see: (value: unknown) => unknown
  readonly end: () => void
  readonly fail: (cause: unknown) => void
  readonly abandon: () => void
}

type Reader = ReadableStreamDefaultReader
type Options = { readonly mode?: 'byob' } | undefined
type Result = Awaited<ReturnType<Reader['read']>>

/** A stream on its way through. */
interface Passing {
  from: () => ReadableStream
  observer: StreamObserver
  isLeft: boolean
  /** Of the stream in between, once something has pulled from it. */
  reading: Reading | undefined
}

/**
 * The same stream, observed: it takes from its source only what its reader asks for, when it does, and holds nothing.
 *
 * Its readers and loops read the source itself: each part costs ten times as much with a stream in between. There is one
 * for what reads streams without their methods: pipes, tees and responses.
 */
export function passThrough(from: () => ReadableStream, observer: StreamObserver): ReadableStream {
  const passing: Passing = { from, observer, isLeft: false, reading: undefined }
  return observeStream(new ReadableStream(sourceOf(passing), { highWaterMark: 0 }), passing)
}

function sourceOf(passing: Passing) {
  const open = (): Reading => {
    passing.reading ??= new Reading(passing, passing.from().getReader())
    return passing.reading
  }
  return {
    async pull(controller: ReadableStreamDefaultController | ReadableByteStreamController) {
      const { done, value } = await open().next()
      if (!done) return controller.enqueue(value as never)
      controller.close()
      if ('byobRequest' in controller) controller.byobRequest?.respond(0)
    },
    cancel(reason: unknown) {
      const reading = open()
      reading.leave()
      return reading.reader.cancel(reason)
    },
  }
}

/** Lets buffers of a reader be filled. Parts are the source's own until one wants that: it transfers them. */
function fillBuffers(passing: Passing): void {
  // Throws what it would without us.
  passing.from().getReader({ mode: 'byob' }).releaseLock()
  const bytes = new ReadableStream({ ...sourceOf({ ...passing }), type: 'bytes' })
  passing.from = () => bytes
  passing.observer = UNSEEN
}

const nothing = (): void => undefined
const UNSEEN: StreamObserver = { see: (value) => value, end: nothing, fail: nothing, abandon: nothing }

const END = { done: true, value: undefined } as const
const IDLE: Promise<Result> = Promise.resolve(END)

/** One reader of a source, which gets what is passed on. */
class Reading {
  readonly reader: Reader
  private readonly passing: Passing
  private readonly read: (view?: unknown, options?: unknown) => Promise<Result>
  /** Keeps the stream in between locked, as its source is. */
  private readonly lock: Reader | undefined
  private isReleased = false
  private pending = 0
  private last: Promise<Result> = IDLE
  /** Called when there is nothing more to read. */
  onEnd = nothing

  constructor(passing: Passing, reader: Reader, lock?: Reader) {
    this.passing = passing
    this.reader = reader
    this.read = reader.read
    this.lock = lock
  }

  next(view?: unknown, options?: unknown): Promise<Result> {
    this.last = this.pending++ === 0 ? this.part(view, options) : this.afterLast(view, options)
    return this.last
  }

  /** The part after one that does not pass on belongs to the same read, and to none that was made later. */
  private afterLast(view?: unknown, options?: unknown): Promise<Result> {
    const part = () => this.part(view, options)
    return this.last.then(part, part)
  }

  private part(view?: unknown, options?: unknown): Promise<Result> {
    return this.read.call(this.reader, view, options).then(this.seen, this.failed)
  }

  /** Resolves when all reads have their parts. */
  async idle(): Promise<void> {
    await this.last.catch(nothing)
  }

  leave(): void {
    if (!this.passing.isLeft) this.passing.observer.abandon()
    this.passing.isLeft = true
  }

  release(): void {
    this.isReleased = true
    this.lock?.releaseLock()
  }

  /** Keeps nothing of what was read. */
  private delivered(): void {
    if (--this.pending === 0) this.last = IDLE
  }

  private readonly seen = (result: Result): Result | Promise<Result> => {
    const { observer } = this.passing
    const passed = observer.see(result.value)
    if (result.done) observer.end()
    else if (passed === undefined) return this.part()
    this.delivered()
    if (passed !== result.value) return { done: false, value: passed }
    if (result.done) this.onEnd()
    return result
  }

  private readonly failed = (cause: unknown): never => {
    this.delivered()
    if (!this.isReleased) this.passing.observer.fail(cause)
    this.onEnd()
    throw cause
  }
}

const observeReader = inheriting<Reader, Reading>(({ cancel, releaseLock }, readingOf) => ({
  read: method(function (this: Reader, view?: unknown, options?: unknown) {
    return readingOf(this).next(view, options)
  }),
  cancel: method(function (this: Reader, reason?: unknown) {
    readingOf(this).leave()
    return cancel.call(this, reason)
  }),
  releaseLock: method(function (this: Reader) {
    releaseLock.call(this)
    readingOf(this).release()
  }),
}))

const observeStream = inheriting<ReadableStream, Passing>((original, passingIn) => {
  const own = original.getReader as (this: ReadableStream, options?: Options) => Reader
  const isLocked = (stream: ReadableStream): boolean => Reflect.get(original, 'locked', stream)
  /** @returns undefined where the stream in between is read, or says why nothing can be */
  const opened = (stream: ReadableStream, options?: Options): Reading | undefined => {
    const passing = passingIn(stream)
    if (passing.reading !== undefined || isLocked(stream)) return undefined
    if (options?.mode === 'byob') fillBuffers(passing)
    const reader = passing.from().getReader(options as never) as Reader
    const reading = new Reading(passing, reader, own.call(stream))
    observeReader(reader, reading)
    return reading
  }
  const values = method(function (this: ReadableStream, options?: { readonly preventCancel?: boolean }) {
    const reading = opened(this)
    if (reading === undefined) return original.values.call(this, options)
    return iteratorOf(reading, options?.preventCancel === true)
  })
  const getReader = method(function (this: ReadableStream, options?: Options) {
    return opened(this, options)?.reader ?? own.call(this, options)
  })
  const locked: PropertyDescriptor & ThisType<ReadableStream> = {
    configurable: true,
    enumerable: true,
    get() {
      const passing = passingIn(this)
      return isLocked(this) || (passing.reading === undefined && passing.from().locked)
    },
  }
  return { getReader, locked, values, [Symbol.asyncIterator]: values }
})

/** What asynchronous iterators inherit from. */
const ITERATOR: object = Object.getPrototypeOf(
  Object.getPrototypeOf(
    async function* () {
      yield undefined
    }.prototype,
  ),
)

function iteratorOf(reading: Reading, isKept: boolean): AsyncIterableIterator<unknown> {
  const { reader } = reading
  let isEnded = false
  const end = (): void => {
    isEnded = true
    reader.releaseLock()
  }
  reading.onEnd = end
  return Object.assign(Object.create(ITERATOR), {
    next: () => (isEnded ? Promise.resolve(END) : reading.next()),
    async return(value?: unknown) {
      await reading.idle()
      if (isEnded) return { done: true, value }
      const cancelled = isKept ? undefined : reader.cancel(value)
      end()
      await cancelled
      return { done: true, value }
    },
  })
}
