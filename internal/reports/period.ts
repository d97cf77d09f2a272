import type { Interval } from '../store/queries/reports/usage.js'
import { parseInstant } from '../units/instant.js'

/** The times of a report: from when to when, in which time zone. */

/** Milliseconds since the epoch; the end is no part of it. */
export interface Period {
  readonly fromMs: number
  readonly toMs: number
}

const QUARTER_MS = 15 * 60 * 1000
const DAY_MS = 24 * 60 * 60 * 1000
/** What a report is about that does not say where its period begins. */
const DAYS_USUAL = 30
export const DAYS_MAX = 1_100

/** Rollups count seconds in 32 bits, which end in February 2106; a period may be widened to its months. */
const LAST_EDGE_MS = Date.UTC(2106, 0, 1)

/** Whether a period may begin or end there. */
export const isEdge = (ms: number): boolean => ms >= 0 && ms <= LAST_EDGE_MS && ms % QUARTER_MS === 0

const ZONES: ReadonlySet<string> = new Set(['UTC', ...Intl.supportedValuesOf('timeZone')])

/** @returns the zone's name as the tz database has it; undefined when there is none of that name */
export function readZone(text: string): string | undefined {
  try {
    // Offsets such as +02:00 are zones to some engines: they know no summer time, so they are not taken.
    if (!/^[A-Za-z]/.test(text)) return undefined
    const name = new Intl.DateTimeFormat('en', { timeZone: text }).resolvedOptions().timeZone
    // Here there are names besides (SystemV/PST8) that the read model does not have.
    return ZONES.has(name) || /^Etc\/GMT[+-]\d+$/.test(name) ? name : undefined
  } catch {
    return undefined
  }
}

/** Made once a zone: that takes ten times as long as to ask it. */
const clocks = new Map<string, Intl.DateTimeFormat>()

function clockOf(zone: string): Intl.DateTimeFormat {
  const known = clocks.get(zone)
  if (known !== undefined) return known
  const clock = new Intl.DateTimeFormat('en-US', {
    timeZone: zone,
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
  })
  clocks.set(zone, clock)
  return clock
}

/** Milliseconds that a zone's clocks are ahead of UTC at an instant. */
function offsetMs(zone: string, ms: number): number {
  const parts = clockOf(zone).formatToParts(ms)
  const part = (name: string): number => Number(parts.find(({ type }) => type === name)?.value)
  const local = Date.UTC(part('year'), part('month') - 1, part('day'), part('hour'), part('minute'), part('second'))
  return local - Math.floor(ms / 1000) * 1000
}

/**
 * The instant at which a day begins in a zone: from then on it is that day, or later. It is a midnight, or where clocks go
 * forward over midnight, that moment.
 *
 * @param dayMs midnight of that day, as if the zone were UTC
 */
function startOfDay(dayMs: number, zone: string): number {
  const localMs = (ms: number): number => ms + offsetMs(zone, ms)
  const [before, after] = [dayMs - offsetMs(zone, dayMs - DAY_MS), dayMs - offsetMs(zone, dayMs + DAY_MS)]
  // Where clocks go back there may be two: over midnight, the second counts; to midnight, the first.
  const midnights = [before, after].filter((ms) => localMs(ms) === dayMs && localMs(ms - 1000) < dayMs)
  return midnights.length === 0 ? before : Math.max(...midnights)
}

const DATE = /^(\d{4})-(\d{2})-(\d{2})$/

/** A day's beginning in the zone, or an instant. @returns undefined for what is neither, or no edge */
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

/** Midnight of an instant's day, as if the zone were UTC. */
const dayOf = (zone: string, ms: number): number => Math.floor((ms + offsetMs(zone, ms)) / DAY_MS) * DAY_MS

/** The beginning of the day thirty days before. */
export const usualStart = (zone: string, ms: number): number =>
  Math.max(0, startOfDay(dayOf(zone, ms) - DAYS_USUAL * DAY_MS, zone))

/** The last thirty days, and today. */
export const usualPeriod = (zone: string, nowMs: number): Period => ({
  fromMs: usualStart(zone, nowMs),
  toMs: startOfDay(dayOf(zone, nowMs) + DAY_MS, zone),
})

/**
 * The periods for each of which it is decided once which groups may be shown: months of the zone, and its days where the
 * question is of parts of a day. A week belongs to the month in which it begins, so that months of weeks begin with the
 * first week that does.
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
