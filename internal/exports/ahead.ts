/**
 * Does a work for each of some items, the next ones begun before the first is done, and gives the results in the items'
 * order: whoever writes them down can go on from any of them.
 *
 * @param atOnce so many are under way at most
 * @param work is told by its signal when its result is no longer wanted
 * @throws what the first work that fails throws, in the items' order, once all others have ended
 */
export async function* ahead<T, R>(
  items: readonly T[],
  atOnce: number,
  work: (item: T, signal: AbortSignal) => Promise<R>,
  signal: AbortSignal,
): AsyncGenerator<R> {
  const leaving = new AbortController()
  const both = AbortSignal.any([signal, leaving.signal])
  const underWay: Promise<R>[] = []
  let next = 0
  try {
    while (next < items.length || underWay.length > 0) {
      while (next < items.length && underWay.length < atOnce) {
        const begun = work(items[next++] as T, both)
        // It is looked at in its turn.
        begun.catch(() => undefined)
        underWay.push(begun)
      }
      const first = underWay.shift()
      if (first !== undefined) yield await first
    }
  } finally {
    leaving.abort()
    await Promise.allSettled(underWay)
  }
}
