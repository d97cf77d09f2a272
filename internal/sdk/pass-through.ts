/** What a stream reports while it is read. */
export interface StreamObserver<T> {
  /**
   * @param value undefined at the end
   * @returns what passes on; undefined for nothing
   */
  readonly see: (value: T | undefined) => T | undefined
  readonly end: () => void
  readonly fail: (cause: unknown) => void
  readonly abandon: () => void
}

/** The same stream, observed: it takes from its source only what its reader asks for, when it does, and holds nothing. */
export function passThrough<T>(source: () => ReadableStream<T>, observer: StreamObserver<T>): ReadableStream<T> {
  let reader: ReadableStreamDefaultReader<T> | undefined
  const open = () => {
    reader ??= source().getReader()
    return reader
  }
  const failing = (cause: unknown): never => {
    observer.fail(cause)
    throw cause
  }
  return new ReadableStream<T>(
    {
      async pull(controller) {
        for (;;) {
          const { done, value } = await open().read().catch(failing)
          const passed = observer.see(value)
          if (done) observer.end()
          if (passed !== undefined) controller.enqueue(passed)
          if (done) return controller.close()
          if (passed !== undefined) return
        }
      },
      cancel(reason) {
        observer.abandon()
        return open().cancel(reason)
      },
    },
    { highWaterMark: 0 },
  )
}
