import { parseInstant } from '../units/instant.js'

/** The period and time zone of a report. */

/** Milliseconds since the epoch; the end is exclusive. */
export interface Period {
  readonly fromMs: number
  readonly toMs: number
}

const QUARTER_MS = 15 * 60 * 1000
const DAY_MS = 24 * 60 * 60 * 1000
/** Default length of the period. */
const DAYS_DEFAULT = 30
export const DAYS_MAX = 1_100

/** Rollups store seconds in 32 bits, which end in February 2106; a period may be widened to whole months. */
const LAST_EDGE_MS = Date.UTC(2106, 0, 1)

/** Whether a period may start or end at this instant. */
export const isEdge = (ms: number): boolean => ms >= 0 && ms <= LAST_EDGE_MS && ms % QUARTER_MS === 0

const ZONES: ReadonlySet<string> = new Set(['UTC', ...Intl.supportedValuesOf('timeZone')])

/** @returns the canonical name of the tz database; undefined for an unknown name */
export function readZone(text: string): string | undefined {
  try {
    // Some JavaScript engines accept offsets such as +02:00. They ignore daylight saving time, so they are rejected.
    if (!/^[A-Za-z]/.test(text)) return undefined
    const name = new Intl.DateTimeFormat('en', { timeZone: text }).resolvedOptions().timeZone
    // Node also knows names (SystemV/PST8) that ClickHouse does not.
    return ZONES.has(name) || /^Etc\/GMT[+-]\d+$/.test(name) ? name : undefined
  } catch {
    return undefined
  }
}

/** Cached per zone: creating a formatter takes ten times as long as using it. */
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

/** Offset of a zone from UTC at an instant, in milliseconds. */
function offsetMs(zone: string, ms: number): number {
  const parts = clockOf(zone).formatToParts(ms)
  const part = (name: string): number => Number(parts.find(({ type }) => type === name)?.value)
  const local = Date.UTC(part('year'), part('month') - 1, part('day'), part('hour'), part('minute'), part('second'))
  return local - Math.floor(ms / 1000) * 1000
}

/**
 * The instant at which a day starts in a zone: midnight, or the moment of the change when clocks go forward across
 * midnight.
 *
 * @param dayMs midnight of that day, as if the zone were UTC
 */
function startOfDay(dayMs: number, zone: string): number {
  const localMs = (ms: number): number => ms + offsetMs(zone, ms)
  const [before, after] = [dayMs - offsetMs(zone, dayMs - DAY_MS), dayMs - offsetMs(zone, dayMs + DAY_MS)]
  // When clocks go back there may be two midnights: if they go back across midnight, the second counts; if to midnight, the first.
  const midnights = [before, after].filter((ms) => localMs(ms) === dayMs && localMs(ms - 1000) < dayMs)
  return midnights.length === 0 ? before : Math.max(...midnights)
}

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

/** Midnight of the instant's day, as if the zone were UTC. */
const dayOf = (zone: string, ms: number): number => Math.floor((ms + offsetMs(zone, ms)) / DAY_MS) * DAY_MS

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
