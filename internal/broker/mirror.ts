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

type Watch = Awaited<ReturnType<KV['watch']>>

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
  let watch: Watch | undefined
  let stopped = false
  let reached = 0
  const waiting = new Set<() => void>()
  /** Keys of the bucket, as the watch that follows it now has shown them so far. */
  let shown = new Set<string>()

  const advance = (revision: number): void => {
    reached = Math.max(reached, revision)
    for (const look of waiting) look()
  }
  const set = (key: string, value: T | undefined): void => {
    if (value === undefined) copy.delete(key)
    else copy.set(key, value)
    onChange(key, value)
  }
  const take = (entry: KvWatchEntry): void => {
    const isThere = entry.operation === 'PUT'
    if (isThere) shown.add(entry.key)
    else shown.delete(entry.key)
    // Two watches overlap while one takes over from the other.
    if (entry.revision <= reached) return
    set(entry.key, isThere ? entry.json<T>() : undefined)
    advance(entry.revision)
  }
  const follow = async (followed: Watch, complete: () => void): Promise<void> => {
    for await (const entry of followed) {
      take(entry)
      if (entry.delta === 0) complete()
    }
    if (!stopped && followed === watch) throw new Error('the watch of a bucket ended')
  }

  /** Begins to watch the whole bucket. @returns when all that is there now was shown */
  const begin = async (): Promise<void> => {
    // The newest entries may have expired since: what is complete then holds all up to here without having seen them.
    const { last_seq: lastBefore } = (await bucket.status()).streamInfo.state
    const next = await bucket.watch({ ignoreDeletes: false })
    const before = watch
    if (stopped) return next.stop()
    watch = next
    const own = new Set<string>()
    shown = own
    const isShown = new Promise<void>((resolve) => void follow(next, resolve).catch(onLost))
    before?.stop()
    // An empty bucket sends nothing at all.
    if ((await bucket.status()).values > 0) await isShown
    if (watch !== next) return
    // What went while nobody watched, and has left no trace.
    for (const key of [...copy.keys()]) if (!own.has(key)) set(key, undefined)
    advance(lastBefore)
  }

  let renewedAt = Number.NEGATIVE_INFINITY
  /** The broker tells nothing to a watch whose consumer is gone; the client would notice after a minute or more. */
  const renew = async (): Promise<void> => {
    if (stopped || performance.now() - renewedAt < RENEWALS_APART_MS) return
    renewedAt = performance.now()
    await begin()
  }

  await begin()
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
        const look = (otherwise?: () => void): void => {
          if (reached < revision) return otherwise?.()
          settle()
          resolve()
        }
        const fail = (cause?: unknown): void => {
          settle()
          reject(new CopyBehind(`the copy of a bucket is at ${reached}, not yet at ${revision}`, { cause }))
        }
        const renewal = setTimeout(() => renew().catch(fail), RENEW_AFTER_MS)
        // What has come meanwhile is read first: this process may have stood still.
        const end = setTimeout(() => setImmediate(() => look(fail)), REACHED_AFTER_MS_MAX)
        waiting.add(look)
      }),
    revision: () => reached,
    stop: () => {
      stopped = true
      watch?.stop()
    },
  }
}
