import type { Quantity } from '../units/quantity.js'

/** Detects anomalous hourly spend. Pure. */

export const HOUR_MS = 60 * 60 * 1000
export const WEEK_MS = 7 * 24 * HOUR_MS
/** The baseline: the same hour in each of the preceding weeks. */
export const WEEKS = 8
const WEEKS_MIN = 4
/** The baseline while there are fewer weeks of history: the preceding hours. */
export const TRAILING_HOURS = 72
const TRAILING_MIN = 24

/** Spend below 5 USD, or less than 5 USD above the expected value, is never an anomaly. */
export const MINIMUM_USD = 5_000_000_000_000_000_000n
/** Anomaly threshold, in robust standard deviations from the baseline. */
const SCORE_MIN = 6
/** The median absolute deviation of normal noise is 0.6745 of its standard deviation. */
const MAD_PER_SIGMA = 6_745n
/**
 * Lower bound of the noise, as a divisor of the median: with a flat baseline any change would otherwise be an anomaly.
 */
const NOISE_PART = 20n

export interface Anomaly {
  readonly observed: Quantity<'USD'>
  readonly expected: Quantity<'USD'>
  /** In robust standard deviations, to a hundredth. */
  readonly score: number
}

/**
 * @param spent by start of the hour, milliseconds since the epoch; hours without spend may be missing
 * @param firstMs the first hour with data
 * @param hourMs the hour to check; if it is still running, its spend so far
 */
export function anomalyOf(
  spent: ReadonlyMap<number, Quantity<'USD'>>,
  firstMs: number,
  hourMs: number,
): Anomaly | undefined {
  const observed = spent.get(hourMs) ?? (0n as Quantity<'USD'>)
  const baseline = baselineHours(firstMs, hourMs)
  if (baseline === undefined || observed < MINIMUM_USD) return undefined
  const amounts = baseline.map((ms) => spent.get(ms) ?? 0n)
  const median = medianOf(amounts)
  const above = observed - median
  if (above < MINIMUM_USD) return undefined
  const deviation = medianOf(amounts.map((amount) => (amount < median ? median - amount : amount - median)))
  const floor = median / NOISE_PART
  // A zero baseline has no noise: a tenth of the minimum is used instead.
  const noise = [deviation, floor, MINIMUM_USD / 10n].reduce((most, each) => (each > most ? each : most))
  const score = Number((above * MAD_PER_SIGMA) / (noise * 100n)) / 100
  return score < SCORE_MIN ? undefined : { observed, expected: median as Quantity<'USD'>, score }
}

function baselineHours(firstMs: number, hourMs: number): number[] | undefined {
  const weekly = Array.from({ length: WEEKS }, (_, i) => hourMs - (i + 1) * WEEK_MS).filter((ms) => ms >= firstMs)
  if (weekly.length >= WEEKS_MIN) return weekly
  const trailing = Array.from({ length: TRAILING_HOURS }, (_, i) => hourMs - (i + 1) * HOUR_MS).filter(
    (ms) => ms >= firstMs,
  )
  return trailing.length >= TRAILING_MIN ? trailing : undefined
}

/** For an even count, the lower of the two middle values. */
function medianOf(amounts: readonly bigint[]): bigint {
  const sorted = [...amounts].sort((one, other) => (one < other ? -1 : one > other ? 1 : 0))
  return sorted[(sorted.length - 1) >> 1] ?? 0n
}
