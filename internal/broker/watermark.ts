import type { KV } from '@nats-io/kv'
import { FENCE, writesRecords } from '../../streams/records.js'
import type { Progress } from './checkpoint.js'
import { isLostRace, MirrorBehind } from './errors.js'
import type { Fence } from './fence.js'
import { mirrorBucket } from './mirror.js'

/**
 * The newest instant as of which the read model is complete: every version that is valid from it or before is there, with
 * the closing of the version before, and none will be added (design section 6).
 *
 * Clocks decide nothing. Whoever writes records reserves their instant in the bucket `checkpoints` and then makes sure
 * that no fence at or past it was there before; whoever reads sets the fence in the same bucket, and then sees every
 * reservation that came before it. One stream's messages have one order: either the writer finds the fence and reserves
 * anew, or the reader finds the reservation and stays before it until it is done. Clocks that differ by a second make
 * rows visible a second late, never early.
 */
export interface Watermark {
  /**
   * An instant, milliseconds since the epoch; never before one that this process gave out earlier. At most a tenth of a
   * second old where nothing is under way, else just before what is.
   *
   * @throws what `isBrokerUnavailable` knows when it is and this process has not known any instant yet
   */
  latest(): Promise<number>
  /** The same, but not older than this call. */
  renewed(): Promise<number>
  /** The newest instant at which a writer of records is known to have been at work, be it ahead of this clock. */
  newestPlanned(): number
  /** Resolves with whether a log's reader has carried out what came with a sequence, within a time at most. */
  isDone(checkpoint: string, sequence: number, withinMs: number): Promise<boolean>
}

/** How long an instant is given out again. */
const REUSED_MS = 100
/** After that long without the broker's answer the newest that is known is given out; it is old, and right. */
const RENEWAL_MS_MAX = 1_000

/** @param bucket checkpoints */
export async function followWatermark(
  bucket: KV,
  onLost: (cause: unknown) => void,
  clock: () => number,
): Promise<Watermark> {
  let fenceHeardAt = Number.NEGATIVE_INFINITY
  const waiting = new Set<() => void>()
  const mirror = await mirrorBucket<Progress & Partial<Fence>>(bucket, onLost, (key) => {
    if (key === FENCE) fenceHeardAt = performance.now()
    for (const look of waiting) look()
  })
  // What the first copy held may be of yesterday.
  fenceHeardAt = Number.NEGATIVE_INFINITY

  let given = 0
  /** As of the moment that the copy has come to: right, whatever it has not heard yet. */
  const known = (): number => {
    let instant = mirror.get(FENCE)?.fencedMs ?? 0
    for (const [key, { reservedMs, plan }] of mirror.entries()) {
      const openMs = plan?.atMs ?? reservedMs
      if (openMs !== undefined && writesRecords(key)) instant = Math.min(instant, openMs - 1)
    }
    // A reservation that met the fence is made anew in a moment; what was complete stays complete.
    given = Math.max(given, instant)
    return given
  }
  /** A writer whose clock is ahead would otherwise wait with its rows until ours has come as far. */
  const newestDone = (): number => {
    let newest = 0
    for (const [key, { doneMs }] of mirror.entries()) {
      if (doneMs !== undefined && writesRecords(key)) newest = Math.max(newest, doneMs)
    }
    return newest
  }
  const setFence = async (): Promise<void> => {
    for (;;) {
      const entry = await bucket.get(FENCE)
      const before = entry?.operation === 'PUT' ? entry.json<Fence>().fencedMs : 0
      const text = JSON.stringify({ fencedMs: Math.max(clock(), newestDone(), before) } satisfies Fence)
      try {
        const revision =
          entry === null ? await bucket.create(FENCE, text) : await bucket.update(FENCE, text, entry.revision)
        return await mirror.reached(revision)
      } catch (cause) {
        if (!isLostRace(cause)) throw cause
      }
    }
  }
  const renew = async (): Promise<number> => {
    try {
      await within(setFence(), RENEWAL_MS_MAX)
    } catch (cause) {
      if (mirror.get(FENCE) === undefined) throw cause
    }
    return known()
  }

  let renewing: Promise<number> | undefined
  return {
    latest() {
      if (performance.now() - fenceHeardAt < REUSED_MS) return Promise.resolve(known())
      renewing ??= renew().finally(() => {
        renewing = undefined
      })
      return renewing
    },
    renewed: renew,
    newestPlanned() {
      let newest = newestDone()
      for (const [key, { plan }] of mirror.entries()) {
        if (plan !== undefined && writesRecords(key)) newest = Math.max(newest, plan.atMs)
      }
      return newest
    },
    isDone(checkpoint, sequence, withinMs) {
      return new Promise((resolve) => {
        const settle = (isDone: boolean): void => {
          waiting.delete(look)
          clearTimeout(timer)
          resolve(isDone)
        }
        const look = (): void => {
          if ((mirror.get(checkpoint)?.done ?? 0) >= sequence) settle(true)
        }
        const timer = setTimeout(() => settle(false), withinMs)
        waiting.add(look)
        look()
      })
    },
  }
}

function within(work: Promise<void>, ms: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new MirrorBehind(`the fence was not set within ${ms} ms`)), ms)
    work.then(resolve, reject).finally(() => clearTimeout(timer))
  })
}
