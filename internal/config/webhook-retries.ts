/** When couriers try a failed delivery again, unless the settings say otherwise. */

const [SECOND, MINUTE, HOUR] = [1_000, 60_000, 3_600_000]

/**
 * The schedule of design section 9, and the last of it four times more (`deploy/decisions/retries-last-a-day.md`): full jitter
 * waits half of the maximum on average, so that the thirteen alone were over after 20 hours in the middle, and after 13 in one
 * of twenty. With these, nineteen of twenty have their last try at the stop.
 */
export const RETRY_MAXIMA_MS: readonly number[] = [
  10 * SECOND,
  1 * MINUTE,
  5 * MINUTE,
  15 * MINUTE,
  30 * MINUTE,
  1 * HOUR,
  2 * HOUR,
  4 * HOUR,
  4 * HOUR,
  6 * HOUR,
  6 * HOUR,
  8 * HOUR,
  8 * HOUR,
  8 * HOUR,
  8 * HOUR,
  8 * HOUR,
  8 * HOUR,
]
export const RETRY_STOP_MS = 24 * HOUR
