import { setTimeout as sleep } from 'node:timers/promises'
import type { KV, KvWatchEntry } from '@nats-io/kv'
import { connectionOf, newestRevision } from './connect.js'
import { whenOverdue } from './deadline.js'
import { KvWatchLost, MirrorBehind } from './errors.js'
import { opened } from './opened.js'

/** A bucket's content in memory, kept up to date by a KV watch. */
export interface Mirror<T> {
  get(key: string): T | undefined
  /** A key's value with the revision that it has in the bucket, as far as the copy knows. */
  entry(key: string): { readonly value: T; readonly revision: number } | undefined
  entries(): IterableIterator<[string, T]>
  /**
   * Resolves once the copy holds everything up to a revision.
   *
   * @throws MirrorBehind when it does not get there within a few seconds
   */
  reached(revision: number): Promise<void>
  /** The newest revision that the copy holds; 0 when its bucket was never written to. */
  revision(): number
  stop(): void
}

type Watch = Awaited<ReturnType<KV['watch']>>

/** The broker keeps a replaced watch's consumer for five minutes: when all copies lag, this limits how many pile up. */
const RENEW_EVERY_MS_MIN = 10_000
const WATCH_AGAIN_MS = 250
const WATCHED_MS_MAX = 5_000
/** For entries that the broker says are behind one, which come within a millisecond. */
const HELD_MS_MAX = 20

/**
 * Copies a bucket into memory and follows it with a KV watch. Resolves when the first copy is complete.
 *
 * @param onLost called with a `KvWatchLost` when the watch ends by itself; the process then has to start over
 * @param onChange called for each key that is set (with its value) or deleted (undefined), those of the first copy
 * included
 * @param keys a wildcard that some key of the bucket matches; all keys when absent
 */
export async function mirrorBucket<T>(
  bucket: KV,
  onLost: (cause: unknown) => void,
  onChange: (key: string, value: T | undefined) => void = () => undefined,
  keys = '>',
): Promise<Mirror<T>> {
  const mirror = new BucketMirror<T>(bucket, onLost, onChange, keys)
  await opened(() => mirror.watchBucket())
  void mirror.followReconnects().catch(onLost)
  return {
    get: (key) => mirror.copy.get(key),
    entry: (key) => mirror.entry(key),
    entries: () => mirror.copy.entries(),
    reached: (revision) => mirror.revisions.reached(revision, () => mirror.renewWatch()),
    revision: () => mirror.revisions.newest,
    stop: () => mirror.stop(),
  }
}

class BucketMirror<T> {
  readonly copy = new Map<string, T>()
  /** Of the copy's keys. */
  private readonly revisionOf = new Map<string, number>()
  readonly revisions = new RevisionWaits()
  private readonly bucket: KV
  private readonly onLost: (cause: unknown) => void
  private readonly onChange: (key: string, value: T | undefined) => void
  private readonly keys: string
  private watch: Watch | undefined
  private renewedAt = Number.NEGATIVE_INFINITY
  private isStopped = false

  constructor(
    bucket: KV,
    onLost: (cause: unknown) => void,
    onChange: (key: string, value: T | undefined) => void,
    keys: string,
  ) {
    this.bucket = bucket
    this.onLost = onLost
    this.onChange = onChange
    this.keys = keys
  }

  entry(key: string): { readonly value: T; readonly revision: number } | undefined {
    const [value, revision] = [this.copy.get(key), this.revisionOf.get(key)]
    return value === undefined || revision === undefined ? undefined : { value, revision }
  }

  /** Replaces the current watch by one of the whole bucket. Resolves when it has reported all current keys. */
  async watchBucket(): Promise<void> {
    const { bucket: name, streamInfo } = await this.bucket.status()
    // The newest entries may have expired: a complete copy holds everything up to this sequence without having seen
    // them.
    const lastSequenceBefore = streamInfo.state.last_seq
    const next = await this.bucket.watch({ key: this.keys, ignoreDeletes: false })
    const previous = this.watch
    if (this.isStopped) return next.stop()
    this.watch = next
    const reported = new Reported()
    void this.follow(next, reported).catch((cause: unknown) => this.onLost(new KvWatchLost(name, cause)))
    previous?.stop()
    // The replica that serves the watch may lag behind the leader: then it is complete before it has the newest entry.
    // That one may expire meanwhile.
    while (!(await reported.hasAllUpTo(await newestRevision(this.bucket, this.keys), ASKED_AGAIN_MS))) {
      if (this.isStopped || this.watch !== next) return
      // Its consumer may have ended with its server, which the client would notice after a minute.
      if (performance.now() - reported.heardAt > WATCHED_MS_MAX) throw new MirrorBehind(`no entries (bucket=${name})`)
    }
    if (this.watch !== next) return
    const upTo = Math.max(lastSequenceBefore, reported.newest)
    for (const key of [...this.copy.keys()]) {
      // Keys that disappeared between two watches and left no delete marker.
      if (!reported.keys.has(key) && (this.revisionOf.get(key) ?? 0) <= upTo) this.set(key, undefined, 0)
    }
    this.revisions.advance(lastSequenceBefore)
  }

  /** A restarted broker has lost the watch, which was in memory; the client would notice only after a minute. */
  async followReconnects(): Promise<void> {
    for await (const { type } of connectionOf(this.bucket)?.status() ?? []) {
      if (this.isStopped) return
      if (type === 'reconnect') await this.watchAgain()
    }
  }

  private async watchAgain(): Promise<void> {
    while (!this.isStopped && connectionOf(this.bucket)?.isClosed() === false) {
      const isRenewed = await Promise.race([
        this.watchBucket().then(
          () => true,
          () => false,
        ),
        sleep(WATCHED_MS_MAX, false, { ref: false }),
      ])
      if (isRenewed) return
      // The broker has accepted the connection and is not ready yet, or has ended again.
      await sleep(WATCH_AGAIN_MS)
    }
  }

  /** The broker sends nothing to a watch without its consumer; the client would notice after a minute or more. */
  async renewWatch(): Promise<void> {
    if (this.isStopped || performance.now() - this.renewedAt < RENEW_EVERY_MS_MIN) return
    this.renewedAt = performance.now()
    await this.watchBucket()
  }

  stop(): void {
    this.isStopped = true
    this.watch?.stop()
  }

  private async follow(watch: Watch, reported: Reported): Promise<void> {
    // Up to the newest at once: a later entry may have replaced one, and a part of them is the bucket as it never was.
    const held: KvWatchEntry[] = []
    let timer: NodeJS.Timeout | undefined
    const applyHeld = (): void => {
      clearTimeout(timer)
      timer = undefined
      for (const entry of held.splice(0)) {
        this.apply(entry)
        reported.note(entry)
      }
    }
    for await (const entry of watch) {
      held.push(entry)
      reported.heardAt = performance.now()
      if (entry.delta === 0) applyHeld()
      else if (reported.isBegun) timer ??= setTimeout(applyHeld, HELD_MS_MAX)
    }
    clearTimeout(timer)
    if (!this.isStopped && watch === this.watch) throw new Error('the watch ended')
  }

  private apply(entry: KvWatchEntry): void {
    // Two watches overlap while one replaces the other.
    if (entry.revision <= this.revisions.newest) return
    this.set(entry.key, entry.operation === 'PUT' ? entry.json<T>() : undefined, entry.revision)
    this.revisions.advance(entry.revision)
  }

  private set(key: string, value: T | undefined, revision: number): void {
    if (value === undefined) {
      this.copy.delete(key)
      this.revisionOf.delete(key)
    } else {
      this.copy.set(key, value)
      this.revisionOf.set(key, revision)
    }
    this.onChange(key, value)
  }
}

/** Before the newest entry is asked for again, which a new watch has not reported yet. */
const ASKED_AGAIN_MS = 1_000

/** What a watch has reported, which begins with the newest entry of each key, in the order of their revisions. */
class Reported {
  /** Keys that exist. */
  readonly keys = new Set<string>()
  newest = 0
  heardAt = performance.now()
  /** Whether its first entries are complete: what was written while they were on their way replaced some of them. */
  isBegun = false
  private check: () => void = () => undefined

  note({ key, operation, revision, delta }: KvWatchEntry): void {
    if (operation === 'PUT') this.keys.add(key)
    else this.keys.delete(key)
    this.newest = Math.max(this.newest, revision)
    if (delta === 0) this.isBegun = true
    this.check()
  }

  /** Whether it has reported all keys as of a revision; waits up to `ms`. */
  hasAllUpTo(revision: number, ms: number): Promise<boolean> {
    return new Promise((resolve) => {
      const settle = (isSo: boolean): void => {
        clearTimeout(timer)
        this.check = () => undefined
        resolve(isSo)
      }
      const timer = whenOverdue(ms, () => settle(false))
      this.check = () => {
        if (revision === 0 || (this.isBegun && this.newest >= revision)) settle(true)
      }
      this.check()
    })
  }
}

/** A healthy watch delivers a write within milliseconds. One that has not by then may be dead, and is renewed. */
const RENEW_AFTER_MS = 1_000
const REACHED_AFTER_MS_MAX = 5_000

/** The newest revision that the mirror of a bucket holds, and the callers that wait for a later one. */
class RevisionWaits {
  private revision = 0
  private readonly waiting = new Set<() => void>()

  get newest(): number {
    return this.revision
  }

  advance(revision: number): void {
    this.revision = Math.max(this.revision, revision)
    for (const check of this.waiting) check()
  }

  /**
   * @param renew called when the revision is late, to replace a watch that may be dead
   * @throws MirrorBehind
   */
  reached(revision: number, renew: () => Promise<void>): Promise<void> {
    return new Promise((resolve, reject) => {
      if (this.revision >= revision) return resolve()
      const settle = (): void => {
        this.waiting.delete(check)
        clearTimeout(renewal)
        clearTimeout(deadline)
      }
      const check = (otherwise?: () => void): void => {
        if (this.revision < revision) return otherwise?.()
        settle()
        resolve()
      }
      const fail = (cause?: unknown): void => {
        settle()
        reject(
          new MirrorBehind(`the mirror of a bucket is at revision ${this.revision}, not yet at ${revision}`, { cause }),
        )
      }
      const renewal = setTimeout(() => renew().catch(fail), RENEW_AFTER_MS)
      // Entries that arrived meanwhile are applied first: this process may have been stalled.
      const deadline = whenOverdue(REACHED_AFTER_MS_MAX, () => check(fail))
      this.waiting.add(check)
    })
  }
}
