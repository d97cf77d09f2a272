import type { Quantity } from '../units/quantity.js'

/** Whether an hour's spend is out of the ordinary (design section 10): pure. */

export const HOUR_MS = 60 * 60 * 1000
export const WEEK_MS = 7 * 24 * HOUR_MS
/** The same hour of so many weeks before. */
export const WEEKS = 8
const WEEKS_MIN = 4
/** Where there are not that many weeks yet: the hours before. */
export const TRAILING_HOURS = 72
const TRAILING_MIN = 24

/** Spend below this, or less than this above what is expected, is never worth a word: 5 USD. */
export const MINIMUM_USD = 5_000_000_000_000_000_000n
/** Deviations from the baseline at which it is told. */
const SCORE_MIN = 6
/** The median absolute deviation of normal noise is 0.6745 of its standard deviation. */
const MAD_PER_SIGMA = 6_745n
/** Noise is taken for a twentieth of the median at least: a flat line is not infinitely sure of itself. */
const NOISE_PART = 20n

export interface Anomaly {
  readonly observed: Quantity<'USD'>
  readonly expected: Quantity<'USD'>
  /** In robust standard deviations, to a hundredth. */
  readonly score: number
}

/**
 * @param spent by hour, milliseconds since the epoch of its beginning; hours without spend may be left out
 * @param firstMs the first hour of which anything is known
 * @param hourMs the hour in question
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
  // A baseline of nothing has no noise to compare with: the minimum stands for it.
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

/** The lower of the two in the middle, of an even number. */
function medianOf(amounts: readonly bigint[]): bigint {
  const sorted = [...amounts].sort((one, other) => (one < other ? -1 : one > other ? 1 : 0))
  return sorted[(sorted.length - 1) >> 1] ?? 0n
}
