import { parseInstant } from '../units/instant.js'
import { DAY_MS, dayOf, startOfDay } from '../units/time-zone.js'

/** The period of a report. */

/** Milliseconds since the epoch; the end is exclusive. */
export interface Period {
  readonly fromMs: number
  readonly toMs: number
}

const QUARTER_MS = 15 * 60 * 1000
/** Default length of the period. */
const DAYS_DEFAULT = 30
export const DAYS_MAX = 1_100

/** Rollups store seconds in 32 bits, which end in February 2106; a period may be widened to whole months. */
const LAST_EDGE_MS = Date.UTC(2106, 0, 1)

/** Whether a period may start or end at this instant. */
export const isEdge = (ms: number): boolean => ms >= 0 && ms <= LAST_EDGE_MS && ms % QUARTER_MS === 0

const DATE = /^(\d{4})-(\d{2})-(\d{2})$/

/**
 * Parses a day (its start in the zone) or an instant.
 *
 * @returns undefined for anything else, or when no period may start or end there
 */
export function readEdge(text: string, zone: string): number | undefined {
  const [, year, month, day] = DATE.exec(text) ?? []
  if (year === undefined) {
    const ms = parseInstant(text)
    return ms === undefined || !isEdge(ms) ? undefined : ms
  }
  const dayMs = parseInstant(`${year}-${month}-${day}T00:00:00Z`)
  const ms = dayMs === undefined ? Number.NaN : startOfDay(dayMs, zone)
  return isEdge(ms) ? ms : undefined
}

/** The start of the day thirty days before. */
export const defaultStart = (zone: string, ms: number): number =>
  Math.max(0, startOfDay(dayOf(zone, ms) - DAYS_DEFAULT * DAY_MS, zone))

/** The last thirty days and today. */
export const defaultPeriod = (zone: string, nowMs: number): Period => ({
  fromMs: defaultStart(zone, nowMs),
  toMs: startOfDay(dayOf(zone, nowMs) + DAY_MS, zone),
})

/** The calendar months of the zone that a period touches. */
export function monthsOf({ fromMs, toMs }: Period, zone: string): Period[] {
  const months: Period[] = []
  for (let atMs = fromMs; atMs < toMs; ) {
    const date = new Date(dayOf(zone, atMs))
    const [first, next] = [0, 1].map((add) =>
      startOfDay(Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + add), zone),
    )
    if (first === undefined || next === undefined || next <= atMs) throw new Error(`no month after ${atMs} in ${zone}`)
    months.push({ fromMs: first, toMs: next })
    atMs = next
  }
  return months
}
