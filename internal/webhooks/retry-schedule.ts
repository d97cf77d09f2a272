/** When a failed delivery is retried. */
export interface RetryRules {
  /** The longest wait before each retry, milliseconds; one entry per retry. */
  readonly maximaMs: readonly number[]
  /** The retry period: no attempt starts later than this after the first. */
  readonly stopMs: number
}

const [SECOND, MINUTE, HOUR] = [1_000, 60_000, 3_600_000]

/** A challenge is sent up to five times within ten minutes. */
export const VERIFICATION_RULES: RetryRules = {
  maximaMs: [10 * SECOND, 30 * SECOND, 2 * MINUTE, 5 * MINUTE],
  stopMs: 10 * MINUTE,
}

/** The longest `Retry-After` that is honoured (RFC 9110 section 10.2.3). */
const RETRY_AFTER_MS_MAX = HOUR

/**
 * The last attempt is scheduled this long before the end of the retry period: schedules fire up to a quarter of a
 * second late, and no attempt is made after the period.
 */
const BEFORE_STOP_MS = MINUTE
const BEFORE_STOP_PART = 1 / 20

/** A delivery after an attempt. */
export interface AttemptedDelivery {
  /** Number of attempts made, including this one. */
  readonly attempts: number
  /** When the first attempt was made, milliseconds since the epoch. */
  readonly startedAtMs: number
  /** The receiver's `Retry-After`; undefined without one. */
  readonly retryAfterMs?: number | undefined
}

/**
 * When to retry, with full jitter, so that deliveries that failed together are not retried together. An attempt that
 * would be due after the end of the retry period is made just before it, regardless of `Retry-After`: otherwise it
 * would not be made at all.
 *
 * @param random from 0 to 1
 * @returns milliseconds since the epoch; undefined when the attempt was the last
 */
export function nextAttemptAt(
  { attempts, startedAtMs, retryAfterMs = 0 }: AttemptedDelivery,
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
 * When a delivery that was parked and never attempted is given up: after three days by default, so that a receiver that
 * hangs over a weekend misses nothing. Without a limit, deliveries to a receiver that never responds would fill
 * RETRIES.
 */
export const parkedUntil = (parkedAtMs: number, { stopMs }: RetryRules): number => parkedAtMs + 3 * stopMs

/**
 * When a parked delivery is due again: soon at first, then less often, up to the third of the maxima (minutes). At
 * least half of the maximum, since checking more often does not shorten the endpoint's queue.
 */
export function nextUnparkAt(parks: number, { maximaMs }: RetryRules, nowMs: number, random: number): number {
  const maximum = maximaMs[Math.min(parks, 2, maximaMs.length - 1)] ?? 0
  return nowMs + Math.round(maximum * (0.5 + random / 2))
}

/** The wait that a `Retry-After` of seconds or a date asks for; undefined when it is neither. */
export function retryAfterMs(text: string | undefined, nowMs: number): number | undefined {
  if (text === undefined) return undefined
  if (/^\d{1,9}$/.test(text)) return Number(text) * 1_000
  const at = Date.parse(text)
  return Number.isNaN(at) ? undefined : Math.max(0, at - nowMs)
}
