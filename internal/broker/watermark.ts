import type { KV } from '@nats-io/kv'
import { FENCE, writesRecords } from '../../streams/records.js'
import type { Progress } from './checkpoint.js'
import { newestRevision } from './connect.js'
import { whenOverdue, within } from './deadline.js'
import { isLostRace, MirrorBehind } from './errors.js'
import type { Fence } from './fence.js'
import { type Mirror, mirrorBucket } from './mirror.js'

/**
 * The newest instant up to which the read model is complete: every record version that is valid at or before it is
 * stored, its predecessor is closed, and none will be added (`deploy/decisions/snapshots.md`).
 *
 * Correctness does not depend on clocks. A writer of records reserves their instant in the bucket `checkpoints` and
 * then checks that no fence at or after it was set before. A reader sets the fence in the same bucket, and then sees
 * every earlier reservation. The messages of one stream have one order: either the writer finds the fence and reserves
 * again, or the reader finds the reservation and stays before it until the batch is done. Clocks that differ by a
 * second make rows visible a second late, never early.
 */
export interface Watermark {
  /**
   * An instant, milliseconds since the epoch; never earlier than one that this process has returned before. Without a
   * batch in flight, what was stored up to a tenth of a second ago is visible as of it, and the instant is at most ten
   * seconds old, and of this quarter of an hour; otherwise it is just before the earliest batch in flight.
   *
   * @throws an error that `isBrokerUnavailable` recognises, when the broker is unavailable and no instant is known yet
   */
  latest(): Promise<number>
  /** Like `latest`, but not older than this call. */
  renewed(): Promise<number>
  /** Like `latest`, but perhaps older: the broker is not asked. */
  known(): number
  /** The newest instant of a planned or finished batch; it may be ahead of this process's clock. */
  newestPlanned(): number
  /** Counts the progress of writers: while it is the same, no record was stored or closed. */
  progress(): number
  /** The sequence up to which a log's reader has processed it, as far as this process knows; initially 0. */
  doneOf(checkpoint: string): number
  /** Whether a log's reader has processed the message with a sequence; waits up to `withinMs`. */
  isDone(checkpoint: string, sequence: number, withinMs: number): Promise<boolean>
}

/** How long an instant is reused. */
const REUSED_MS = 100
/**
 * How long it is if the broker says that no writer has made progress since: then a newer one would show the same. The
 * answer takes a millisecond, and a new fence is a write that the broker syncs, for which a page would wait.
 */
const REUSED_AT_REST_MS = 10_000
/** Every period of every time zone begins with one: an instant of the last one would show, and page through, another. */
const QUARTER_MS = 15 * 60 * 1_000
const quarterOf = (ms: number): number => Math.floor(ms / QUARTER_MS)
/** While a batch is done that it does not include: otherwise its records would be visible up to `REUSED_MS` later. */
const REUSED_BEHIND_MS = 20
/** Without a reply from the broker for this long, the newest known instant is returned: old, but correct. */
const RENEWAL_MS_MAX = 1_000

/** @param bucket checkpoints */
export async function followWatermark(
  bucket: KV,
  onLost: (cause: unknown) => void,
  clock: () => number,
): Promise<Watermark> {
  let fenceSeenAt = Number.NEGATIVE_INFINITY
  /** When the broker had nothing yet that the fence does not include. */
  let currentAt = Number.NEGATIVE_INFINITY
  let progress = 0
  let progressAtFence = 0
  let newestDoneMs = 0
  const waiting = new Set<() => void>()
  const mirror = await mirrorBucket<Progress & Partial<Fence>>(bucket, onLost, (key, checkpoint) => {
    if (key === FENCE) {
      fenceSeenAt = performance.now()
      currentAt = fenceSeenAt
      progressAtFence = progress
    }
    if (writesRecords(key)) {
      progress++
      newestDoneMs = Math.max(newestDoneMs, checkpoint?.doneMs ?? 0)
    }
    for (const check of waiting) check()
  })
  // The initial copy's fence may be from yesterday.
  fenceSeenAt = Number.NEGATIVE_INFINITY
  currentAt = fenceSeenAt

  let newestReturned = 0
  const fencedMs = (): number => mirror.get(FENCE)?.fencedMs ?? 0
  /** Correct as of the revision that the mirror has reached, even when it lags. */
  const known = (): number => {
    // A reservation at or before the fence is about to be repeated; an instant that was complete stays complete.
    newestReturned = Math.max(newestReturned, Math.min(fencedMs(), earliestOpenMs(mirror) - 1))
    return newestReturned
  }
  /** Also where the process that set the fence had not heard of what is done. */
  const isBehind = (): boolean => fencedMs() < newestDoneMs
  // Not before what is done: the rows of a writer whose clock is ahead would stay invisible until this clock has caught
  // up.
  const soonest = (): number => Math.max(clock(), newestDoneMs)
  const includesAll = (): boolean => progress === progressAtFence && !isBehind()
  /** Whether no writer has made progress since the fence, so that it need not be set again. */
  const isAtRest = async (): Promise<boolean> => {
    const askedAt = performance.now()
    if (!includesAll() || askedAt - fenceSeenAt > REUSED_AT_REST_MS) return false
    if (quarterOf(fencedMs()) < quarterOf(clock())) return false
    await mirror.reached(await newestRevision(bucket, '>'))
    if (!includesAll()) return false
    currentAt = Math.max(currentAt, askedAt)
    return true
  }
  const renew = async (reuses: boolean): Promise<number> => {
    const work = async (): Promise<void> => {
      if (!(reuses && (await isAtRest()))) await setFence(bucket, mirror, soonest)
    }
    try {
      await within(RENEWAL_MS_MAX, work(), fenceOverdue)
    } catch (cause) {
      if (mirror.get(FENCE) === undefined) throw cause
    }
    return known()
  }

  let renewing: Promise<number> | undefined
  return {
    latest() {
      if (performance.now() - currentAt < (isBehind() ? REUSED_BEHIND_MS : REUSED_MS)) return Promise.resolve(known())
      renewing ??= renew(true).finally(() => {
        renewing = undefined
      })
      return renewing
    },
    renewed: () => renew(false),
    known,
    newestPlanned() {
      let newest = newestDoneMs
      for (const [key, { plan }] of mirror.entries()) {
        if (plan !== undefined && writesRecords(key)) newest = Math.max(newest, plan.atMs)
      }
      return newest
    },
    progress: () => progress,
    doneOf: (checkpoint) => mirror.get(checkpoint)?.done ?? 0,
    isDone: (checkpoint, sequence, withinMs) =>
      soonEnough(() => (mirror.get(checkpoint)?.done ?? 0) >= sequence, withinMs, waiting),
  }
}

/** The instant of the earliest batch that is not done; infinity: there is none. */
function earliestOpenMs(mirror: Mirror<Progress>): number {
  let earliest = Number.POSITIVE_INFINITY
  for (const [key, { reservedMs, plan }] of mirror.entries()) {
    const openMs = plan?.atMs ?? reservedMs
    if (openMs !== undefined && writesRecords(key)) earliest = Math.min(earliest, openMs)
  }
  return earliest
}

/** @param waiting called at each change */
function soonEnough(isSo: () => boolean, withinMs: number, waiting: Set<() => void>): Promise<boolean> {
  return new Promise((resolve) => {
    const settle = (isInTime: boolean): void => {
      waiting.delete(check)
      clearTimeout(timer)
      resolve(isInTime)
    }
    const timer = whenOverdue(withinMs, () => settle(false))
    const check = (): void => {
      if (isSo()) settle(true)
    }
    waiting.add(check)
    check()
  })
}

/** Resolves once the mirror has it. @param soonest the instant, unless the fence is later already */
async function setFence(bucket: KV, mirror: Mirror<Partial<Fence>>, soonest: () => number): Promise<void> {
  // By the copy, which is seldom behind: to read the bucket first would wait for a write of others that is synced.
  let before = mirror.entry(FENCE)
  for (;;) {
    const text = JSON.stringify({ fencedMs: Math.max(soonest(), before?.value.fencedMs ?? 0) } satisfies Fence)
    try {
      const revision =
        before === undefined ? await bucket.create(FENCE, text) : await bucket.update(FENCE, text, before.revision)
      return await mirror.reached(revision)
    } catch (cause) {
      if (!isLostRace(cause)) throw cause
    }
    const entry = await bucket.get(FENCE)
    before = entry?.operation === 'PUT' ? { value: entry.json<Fence>(), revision: entry.revision } : undefined
  }
}

const fenceOverdue = (): Error => new MirrorBehind(`the fence was not set within ${RENEWAL_MS_MAX} ms`)
