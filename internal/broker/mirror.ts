import type { KV } from '@nats-io/kv'

/** A bucket's content in memory, kept current by a watch. */
export interface Mirror<T> {
  get(key: string): T | undefined
  entries(): IterableIterator<[string, T]>
  /** Resolves once the copy holds what was written at that revision. */
  reached(revision: number): Promise<void>
  /** The newest revision that the copy holds; 0 when its bucket was never written to. */
  revision(): number
  stop(): void
}

/**
 * Copies a bucket into memory and follows it. Resolves when the first copy is complete.
 *
 * @param onChange called for each key that is set (with its value) or deleted (undefined) after the first copy
 * @param onLost called once when the watch ends by itself; the owner of the process then starts over
 */
export async function mirrorBucket<T>(
  bucket: KV,
  onLost: (cause: unknown) => void,
  onChange: (key: string, value: T | undefined) => void = () => undefined,
): Promise<Mirror<T>> {
  const copy = new Map<string, T>()
  const watch = await bucket.watch({ ignoreDeletes: false })
  let stopped = false
  let reached = 0
  const waiting = new Set<() => void>()
  let complete: () => void = () => undefined
  const first = new Promise<void>((resolve) => {
    complete = resolve
  })

  // An empty bucket sends nothing at all, so its first copy is complete at once.
  if ((await bucket.status()).values === 0) complete()

  const follow = async (): Promise<void> => {
    for await (const entry of watch) {
      const value = entry.operation === 'PUT' ? entry.json<T>() : undefined
      if (value === undefined) copy.delete(entry.key)
      else copy.set(entry.key, value)
      onChange(entry.key, value)
      reached = entry.revision
      for (const look of waiting) look()
      if (entry.delta === 0) complete()
    }
    if (!stopped) throw new Error('the watch of a bucket ended')
  }
  follow().catch(onLost)

  await first
  return {
    get: (key) => copy.get(key),
    entries: () => copy.entries(),
    reached: (revision) =>
      new Promise((resolve) => {
        const look = (): void => {
          if (reached < revision) return
          waiting.delete(look)
          resolve()
        }
        waiting.add(look)
        look()
      }),
    revision: () => reached,
    stop: () => {
      stopped = true
      watch.stop()
    },
  }
}
