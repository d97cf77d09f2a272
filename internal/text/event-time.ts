import { parseInstant } from '../units/instant.js'

/** An event's time may lie this far ahead of the clock that receives it. Old times are stale, not wrong. */
export const FUTURE_MS_MAX = 24 * 60 * 60 * 1000
/** Before it a time is a producer's mistake, and the read model's columns begin there. */
const EARLIEST_MS = Date.UTC(1970, 0, 1)

export const EVENT_TIME_RANGE = 'must lie between 1970 and 24 hours from now'

/** The reason for refusing a time that the sender's tenant no longer keeps calls of. */
export const PAST_RETENTION = 'must not lie before the retention of records'

/** @returns milliseconds since the epoch; undefined if it is not a time in UTC, or outside the range for events */
export function readEventTime(text: string, nowMs: number): number | undefined {
  const eventTimeMs = parseInstant(text)
  const isPossible = eventTimeMs !== undefined && eventTimeMs <= nowMs + FUTURE_MS_MAX && eventTimeMs >= EARLIEST_MS
  return isPossible ? eventTimeMs : undefined
}
