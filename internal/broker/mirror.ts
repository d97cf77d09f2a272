import type { KV, KvWatchEntry } from '@nats-io/kv'
import { CopyBehind } from './errors.js'

/** A bucket's content in memory, kept current by a watch. */
export interface Mirror<T> {
  get(key: string): T | undefined
  entries(): IterableIterator<[string, T]>
  /**
   * Resolves once the copy holds what was written at that revision.
   *
   * @throws CopyBehind when it does not come as far in a few seconds
   */
  reached(revision: number): Promise<void>
  /** The newest revision that the copy holds; 0 when its bucket was never written to. */
  revision(): number
  stop(): void
}

/** A watch is pushed what is written within milliseconds. One that is not has perhaps died, which nobody says; it is made anew. */
const RENEW_AFTER_MS = 1_000
const REACHED_AFTER_MS_MAX = 5_000
/** What a watch leaves behind the broker keeps for five minutes: where all are slow, not many may come of it. */
const RENEWALS_APART_MS = 10_000

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
  // The newest entries may have expired since: the copy that is complete then holds all up to here without having seen it.
  const { last_seq: lastBefore } = (await bucket.status()).streamInfo.state
  let watch = await bucket.watch({ ignoreDeletes: false })
  let stopped = false
  let reached = 0
  const waiting = new Set<() => void>()
  let complete: () => void = () => undefined
  const first = new Promise<void>((resolve) => {
    complete = resolve
  })

  // An empty bucket sends nothing at all, so its first copy is complete at once.
  if ((await bucket.status()).values === 0) complete()

  const apply = (entry: KvWatchEntry): void => {
    const value = entry.operation === 'PUT' ? entry.json<T>() : undefined
    if (value === undefined) copy.delete(entry.key)
    else copy.set(entry.key, value)
    onChange(entry.key, value)
    reached = entry.revision
    for (const look of waiting) look()
  }
  const follow = async (followed: typeof watch): Promise<void> => {
    for await (const entry of followed) {
      // Two watches overlap while one takes over from the other.
      if (entry.revision > reached) apply(entry)
      if (entry.delta === 0) complete()
    }
    if (!stopped && followed === watch) throw new Error('the watch of a bucket ended')
  }
  follow(watch).catch(onLost)

  let isRenewing = false
  let renewedAt = Number.NEGATIVE_INFINITY
  /** The broker tells nothing to a watch whose consumer is gone; the client would notice after a minute or more. */
  const renew = async (): Promise<void> => {
    if (isRenewing || stopped || performance.now() - renewedAt < RENEWALS_APART_MS) return
    isRenewing = true
    try {
      const next = await bucket.watch({ ignoreDeletes: false, resumeFromRevision: reached + 1 })
      const before = stopped ? next : watch
      if (!stopped) {
        watch = next
        follow(next).catch(onLost)
      }
      before.stop()
      renewedAt = performance.now()
    } finally {
      isRenewing = false
    }
  }

  await first
  reached = Math.max(reached, lastBefore)
  return {
    get: (key) => copy.get(key),
    entries: () => copy.entries(),
    reached: (revision) =>
      new Promise((resolve, reject) => {
        if (reached >= revision) return resolve()
        const settle = (): void => {
          waiting.delete(look)
          clearTimeout(renewal)
          clearTimeout(end)
        }
        const look = (): void => {
          if (reached < revision) return
          settle()
          resolve()
        }
        const fail = (cause?: unknown): void => {
          settle()
          reject(new CopyBehind(`the copy of a bucket is at ${reached}, not yet at ${revision}`, { cause }))
        }
        const renewal = setTimeout(() => renew().catch(fail), RENEW_AFTER_MS)
        const end = setTimeout(fail, REACHED_AFTER_MS_MAX)
        waiting.add(look)
      }),
    revision: () => reached,
    stop: () => {
      stopped = true
      watch.stop()
    },
  }
}
