import type { Interval } from '../store/queries/reports/intervals.js'
import { parseDayOrInstant } from '../units/day-or-instant.js'
import { DAY_MS, dayOf, startOfDay } from '../units/time-zone.js'

/** Milliseconds since the epoch; the end is exclusive. */
export interface Period {
  readonly fromMs: number
  readonly toMs: number
}

const HOUR_MS = 60 * 60 * 1000
const QUARTER_MS = 15 * 60 * 1000
/** Default length of the period. */
const DAYS_DEFAULT = 30
export const DAYS_MAX = 1_100

/** Rollups store seconds in 32 bits, which end in February 2106; a period may be widened to whole months. */
const LAST_EDGE_MS = Date.UTC(2106, 0, 1)

/** Whether a period may start or end at this instant. */
export const isEdge = (ms: number): boolean => ms >= 0 && ms <= LAST_EDGE_MS && ms % QUARTER_MS === 0

/**
 * Parses a day (its start in the zone) or an instant.
 *
 * @returns undefined for anything else, or when no period may start or end there
 */
export function readEdge(text: string, zone: string): number | undefined {
  const ms = parseDayOrInstant(text, zone)
  return ms === undefined || !isEdge(ms) ? undefined : ms
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

/**
 * The period that a report compares its own with (`compare=previous`).
 *
 * Without an interval the period before of the same length: as many calendar months, where the period consists of whole
 * months of the zone; else as many days, if of whole days; else as many quarters of an hour. With an interval, each row
 * is compared with the interval before its own, so that the period begins and ends one interval earlier.
 *
 * @returns undefined when the period cuts one of its intervals: that would compare a part with a whole
 */
export function previousPeriod(period: Period, interval: Interval | undefined, zone: string): Period | undefined {
  const { fromMs, toMs } = period
  if (interval !== undefined) {
    const edges = [fromMs, toMs].map((ms) => intervalBefore(ms, interval, zone))
    const [from, to] = edges
    return from === undefined || to === undefined ? undefined : { fromMs: from, toMs: to }
  }
  const [first, end] = [fromMs, toMs].map((ms) => (isStartOfDay(ms, zone) ? new Date(dayOf(zone, ms)) : undefined))
  if (first === undefined || end === undefined) return { fromMs: Math.max(0, fromMs - (toMs - fromMs)), toMs: fromMs }
  if (first.getUTCDate() === 1 && end.getUTCDate() === 1) {
    const months = (end.getUTCFullYear() - first.getUTCFullYear()) * 12 + end.getUTCMonth() - first.getUTCMonth()
    return { fromMs: startOfMonth(first, -months, zone), toMs: fromMs }
  }
  return { fromMs: dayStart(first.getTime() - (end.getTime() - first.getTime()), zone), toMs: fromMs }
}

/** The start of the interval that ends at an instant; undefined if none ends there. */
function intervalBefore(ms: number, interval: Interval, zone: string): number | undefined {
  if (interval === '15m') return Math.max(0, ms - QUARTER_MS)
  const day = dayOf(zone, ms)
  if (interval === 'hour') {
    return (ms - startOfDay(day, zone)) % HOUR_MS === 0 ? Math.max(0, ms - HOUR_MS) : undefined
  }
  if (!isStartOfDay(ms, zone)) return undefined
  const date = new Date(day)
  if (interval === 'day') return dayStart(day - DAY_MS, zone)
  if (interval === 'week') return date.getUTCDay() === 1 ? dayStart(day - 7 * DAY_MS, zone) : undefined
  return date.getUTCDate() === 1 ? startOfMonth(date, -1, zone) : undefined
}

/** From the start of the earlier to the end of the later of a period and the one that it is compared with. */
export const spanOf = ({
  period,
  previous = period,
}: {
  readonly period: Period
  readonly previous: Period | undefined
}): Period => ({
  fromMs: Math.min(period.fromMs, previous.fromMs),
  toMs: Math.max(period.toMs, previous.toMs),
})

const isStartOfDay = (ms: number, zone: string): boolean => startOfDay(dayOf(zone, ms), zone) === ms
const dayStart = (dayMs: number, zone: string): number => Math.max(0, startOfDay(dayMs, zone))
const startOfMonth = (date: Date, add: number, zone: string): number =>
  dayStart(Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + add), zone)
