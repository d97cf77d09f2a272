/** The default schedule on which couriers retry a failed delivery. */

const [SECOND, MINUTE, HOUR] = [1_000, 60_000, 3_600_000]

/**
 * Thirteen growing steps, the last of them repeated four times (`deploy/decisions/webhook-deliveries.md`). Full jitter
 * waits half of the maximum on average: the 13 steps alone took 20 hours in the median, and 13 hours in one of 20
 * deliveries. With 17 steps 19 of 20 deliveries are still retried at the stop.
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
