import type { Interval } from '../store/queries/usage.js'
import { parseInstant } from '../units/instant.js'

/** The times of a report: from when to when, in which time zone. */

/** Milliseconds since the epoch; the end is no part of it. */
export interface Period {
  readonly fromMs: number
  readonly toMs: number
}

export const QUARTER_MS = 15 * 60 * 1000
const DAY_MS = 24 * 60 * 60 * 1000
/** What a report without a period is about. */
const DAYS_USUAL = 30
export const DAYS_MAX = 1_100

/** @returns the zone's name as the tz database has it; undefined when there is none of that name */
export function readZone(text: string): string | undefined {
  try {
    // Offsets such as +02:00 are zones to some engines: they know no summer time, so they are not taken.
    if (!/^[A-Za-z]/.test(text)) return undefined
    return new Intl.DateTimeFormat('en', { timeZone: text }).resolvedOptions().timeZone
  } catch {
    return undefined
  }
}

/** Minutes that a zone's clocks are ahead of UTC at an instant. */
function offsetMs(zone: string, ms: number): number {
  const parts = new Intl.DateTimeFormat('en-US', {
    timeZone: zone,
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
  }).formatToParts(ms)
  const part = (name: string): number => Number(parts.find(({ type }) => type === name)?.value)
  const local = Date.UTC(part('year'), part('month') - 1, part('day'), part('hour'), part('minute'), part('second'))
  return local - Math.floor(ms / 1000) * 1000
}

/** The instant at which a day begins in a zone. @param dayMs midnight of that day, as if the zone were UTC */
function startOfDay(dayMs: number, zone: string): number {
  // The offset at the wrong instant may be that of the other season: once more at the right one.
  const guess = dayMs - offsetMs(zone, dayMs)
  return dayMs - offsetMs(zone, guess)
}

const DATE = /^(\d{4})-(\d{2})-(\d{2})$/

/** A day's beginning in the zone, or an instant. @returns undefined for what is neither, or not on a quarter of an hour */
export function readEdge(text: string, zone: string): number | undefined {
  const [, year, month, day] = DATE.exec(text) ?? []
  if (year === undefined) {
    const ms = parseInstant(text)
    return ms === undefined || ms % QUARTER_MS !== 0 ? undefined : ms
  }
  const dayMs = parseInstant(`${year}-${month}-${day}T00:00:00Z`)
  return dayMs === undefined ? undefined : startOfDay(dayMs, zone)
}

/** The last thirty days, and today. */
export function usualPeriod(zone: string, nowMs: number): Period {
  const today = Math.floor((nowMs + offsetMs(zone, nowMs)) / DAY_MS) * DAY_MS
  return { fromMs: startOfDay(today - DAYS_USUAL * DAY_MS, zone), toMs: startOfDay(today + DAY_MS, zone) }
}

/**
 * The periods for each of which it is decided once which groups may be shown: months of the zone, and its days where the
 * question is of parts of a day.
 */
export function fixedPeriods({ fromMs, toMs }: Period, interval: Interval | undefined, zone: string): Period[] {
  const isOfDays = interval === '15m' || interval === 'hour'
  const periods: Period[] = []
  for (let atMs = fromMs; atMs < toMs; atMs = periods.at(-1)?.toMs ?? toMs) {
    const local = new Date(atMs + offsetMs(zone, atMs))
    const [year, month, day] = [local.getUTCFullYear(), local.getUTCMonth(), local.getUTCDate()]
    const [first, next] = isOfDays
      ? [Date.UTC(year, month, day), Date.UTC(year, month, day + 1)]
      : [Date.UTC(year, month), Date.UTC(year, month + 1)]
    periods.push({ fromMs: startOfDay(first, zone), toMs: startOfDay(next, zone) })
  }
  return periods
}
