/**
 * Runs a task for each item, several concurrently, and yields the results in the order of the items, so that the caller
 * can record progress after each one.
 *
 * @param atOnce maximum number of tasks in flight
 * @param work its signal aborts when the result is no longer needed
 * @throws the error of the first failed task, in the order of the items, after all others have ended
 */
export async function* mapInOrder<T, R>(
  items: readonly T[],
  atOnce: number,
  work: (item: T, signal: AbortSignal) => Promise<R>,
  signal: AbortSignal,
): AsyncGenerator<R> {
  const leaving = new AbortController()
  const both = AbortSignal.any([signal, leaving.signal])
  const inFlight: Promise<R>[] = []
  let next = 0
  try {
    while (next < items.length || inFlight.length > 0) {
      while (next < items.length && inFlight.length < atOnce) {
        const begun = work(items[next++] as T, both)
        // The error is thrown below, when it is this task's turn; this avoids an unhandled rejection until then.
        begun.catch(() => undefined)
        inFlight.push(begun)
      }
      const first = inFlight.shift()
      if (first !== undefined) yield await first
    }
  } finally {
    leaving.abort()
    await Promise.allSettled(inFlight)
  }
}
