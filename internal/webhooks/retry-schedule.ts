/** When a delivery that failed is tried again (spec 6.2.3, design section 9). */
export interface RetryRules {
  /** The longest wait before each further attempt, milliseconds: as many as there are further attempts. */
  readonly maximaMs: readonly number[]
  /** After the first attempt no other begins later than this. */
  readonly stopMs: number
}

const [SECOND, MINUTE, HOUR] = [1_000, 60_000, 3_600_000]

/** A challenge is sent five times within ten minutes. */
export const VERIFICATION_RULES: RetryRules = {
  maximaMs: [10 * SECOND, 30 * SECOND, 2 * MINUTE, 5 * MINUTE],
  stopMs: 10 * MINUTE,
}

/** A receiver that asks for patience gets as much (RFC 9110 section 10.2.3). */
const RETRY_AFTER_MS_MAX = HOUR

/**
 * The last try comes so long before the stop: what is scheduled is fired a quarter of a second late, and after the stop nothing
 * is tried any more.
 */
const BEFORE_STOP_MS = MINUTE
const BEFORE_STOP_PART = 1 / 20

/** A delivery with an attempt behind it. */
export interface Tried {
  /** Attempts that were made, this one among them. */
  readonly attempts: number
  /** When the first one was made, milliseconds since the epoch. */
  readonly startedAtMs: number
  /** What the receiver asked for; undefined where it did not. */
  readonly retryAfterMs?: number | undefined
}

/**
 * When to try again: with full jitter, so that what failed together does not come back together. What would come after the
 * stop is tried just before it, whatever the receiver asked for: the alternative is not to be tried at all.
 *
 * @param random from 0 to 1
 * @returns milliseconds since the epoch; undefined when the attempt was the last
 */
export function nextAttemptAt(
  { attempts, startedAtMs, retryAfterMs = 0 }: Tried,
  { maximaMs, stopMs }: RetryRules,
  nowMs: number,
  random: number,
): number | undefined {
  const maximum = maximaMs[attempts - 1]
  if (maximum === undefined) return undefined
  const waitMs = Math.max(Math.round(random * maximum), Math.min(retryAfterMs, RETRY_AFTER_MS_MAX))
  const lastMs = startedAtMs + stopMs - Math.min(BEFORE_STOP_MS, Math.round(stopMs * BEFORE_STOP_PART))
  return nowMs >= lastMs ? undefined : Math.min(nowMs + waitMs, lastMs)
}

/**
 * The end of a delivery that its endpoint never had room for: three days by the default, so that a receiver that hangs
 * over a weekend misses nothing. Without an end, what comes to one that never answers would fill the log of retries.
 */
export const parkedUntil = (parkedAtMs: number, { stopMs }: RetryRules): number => parkedAtMs + 3 * stopMs

/**
 * When a delivery that its endpoint has no room for comes back: soon at first, then less often, up to the third of the
 * maxima (minutes); at least half of it, since what waits is not getting less by asking.
 */
export function unparkedAt(parks: number, { maximaMs }: RetryRules, nowMs: number, random: number): number {
  const maximum = maximaMs[Math.min(parks, 2, maximaMs.length - 1)] ?? 0
  return nowMs + Math.round(maximum * (0.5 + random / 2))
}

/** The seconds or the date of a `Retry-After`, as a wait from now; undefined when it is neither. */
export function retryAfterMs(text: string | undefined, nowMs: number): number | undefined {
  if (text === undefined) return undefined
  if (/^\d{1,9}$/.test(text)) return Number(text) * 1_000
  const at = Date.parse(text)
  return Number.isNaN(at) ? undefined : Math.max(0, at - nowMs)
}
