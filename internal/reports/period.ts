import type { Interval } from '../store/queries/reports/usage.js'
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

/** Parses a day (its start in the zone) or an instant. @returns undefined for anything else, or when no period may start or end there */
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

/**
 * The fixed periods for which it is decided, once for each, which groups may be shown: calendar months of the zone, or
 * days when the interval is shorter than a day. A week belongs to the month in which it starts, so with weekly intervals
 * a month starts with its first such week.
 */
export function fixedPeriods({ fromMs, toMs }: Period, interval: Interval | undefined, zone: string): Period[] {
  const isOfDays = interval === '15m' || interval === 'hour'
  const ofWeeks = interval === 'week' ? weekAfter : (dayMs: number) => dayMs
  const periods: Period[] = []
  for (let atMs = fromMs; atMs < toMs; ) {
    const local = dayOf(zone, atMs)
    const date = new Date(interval === 'week' ? weekAfter(local - 6 * DAY_MS) : local)
    const [year, month, day] = [date.getUTCFullYear(), date.getUTCMonth(), date.getUTCDate()]
    const [first, next] = isOfDays
      ? [Date.UTC(year, month, day), Date.UTC(year, month, day + 1)]
      : [Date.UTC(year, month), Date.UTC(year, month + 1)]
    const period = { fromMs: startOfDay(ofWeeks(first), zone), toMs: startOfDay(ofWeeks(next), zone) }
    if (period.toMs <= atMs) throw new Error(`no day follows ${new Date(atMs).toISOString()} in ${zone}`)
    periods.push(period)
    atMs = period.toMs
  }
  return periods
}

/** The Monday on or after a day; both as midnights, as if in UTC. */
function weekAfter(dayMs: number): number {
  const sinceMonday = (new Date(dayMs).getUTCDay() + 6) % 7
  return dayMs + ((7 - sinceMonday) % 7) * DAY_MS
}
