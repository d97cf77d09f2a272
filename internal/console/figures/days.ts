import { dayOf, offsetMs, startOfDay } from '../../units/time-zone.js'

/** Days as date fields have them (`2026-11-24`), and the instants at which they begin for the viewer. */

/** @returns undefined for a text that is no day */
export function startOfDayText(day: string, zone: string): string | undefined {
  const ms = Date.parse(`${day}T00:00:00Z`)
  return Number.isNaN(ms) ? undefined : new Date(startOfDay(ms, zone)).toISOString()
}

export const dayTextOf = (ms: number, zone: string): string => new Date(dayOf(zone, ms)).toISOString().slice(0, 10)

/** The first and last day of the month before, in UTC, in which files of charges have their days. */
export function lastMonth(nowMs: number): readonly [string, string] {
  const now = new Date(nowMs)
  const day = (month: number, date: number): string =>
    new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + month, date)).toISOString().slice(0, 10)
  return [day(-1, 1), day(0, 0)]
}

/**
 * An instant that a person chose in their zone (`2026-11-24T09:30`). One that a clock that is set back shows twice is
 * the later one.
 *
 * @returns undefined for a text that is none
 */
export function instantText(local: string, zone: string): string | undefined {
  const asUtcMs = Date.parse(`${local}Z`)
  if (Number.isNaN(asUtcMs)) return undefined
  // The offset is that of the instant, which is known but for the offset: a second look settles it.
  const first = asUtcMs - offsetMs(zone, asUtcMs)
  return new Date(asUtcMs - offsetMs(zone, first)).toISOString()
}
