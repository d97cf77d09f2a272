import { DAY_MS, dayOf, startOfDay } from '../../units/time-zone.js'

/** The period that a person looks at, as the address names it: `30d`, or `2026-11-01..2026-11-23`, both included. */

export const PRESETS = {
  '24h': 'Last 24 hours',
  today: 'Today',
  '7d': 'Last 7 days',
  '30d': 'Last 30 days',
  month: 'This month',
  'last-month': 'Last month',
  '90d': 'Last 90 days',
  '12m': 'Last 12 months',
} as const
type Preset = keyof typeof PRESETS
export const DEFAULT_PERIOD: Preset = '30d'

export type Interval = '15m' | 'hour' | 'day' | 'week' | 'month'

export interface Period {
  readonly fromMs: number
  /** Exclusive. One that includes now ends with this quarter of an hour, so that it is compared with as long a time. */
  readonly toMs: number
  readonly interval: Interval
  /** "Nov 1 – 23" */
  readonly label: string
}

const HOUR_MS = 60 * 60 * 1000
const QUARTER_MS = 15 * 60 * 1000
const DAYS = /^(\d{4}-\d{2}-\d{2})\.\.(\d{4}-\d{2}-\d{2})$/

/** @param text of the address; the default for one that is no period */
export function periodOf(text: string, zone: string, nowMs: number): Period {
  const untilNow = (Math.floor(nowMs / QUARTER_MS) + 1) * QUARTER_MS
  const today = dayOf(zone, nowMs)
  const since = (dayMs: number): Period => between(startOfDay(dayMs, zone), untilNow, zone)
  const month = (add: number): number => {
    const date = new Date(today)
    return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + add)
  }
  const days = daysOf(text)
  if (days !== undefined) {
    return between(
      startOfDay(days.first, zone),
      Math.min(startOfDay(days.last + DAY_MS, zone), Math.max(untilNow, startOfDay(days.first, zone) + QUARTER_MS)),
      zone,
    )
  }
  switch (Object.hasOwn(PRESETS, text) ? (text as Preset) : DEFAULT_PERIOD) {
    case '24h':
      return between(untilNow - 24 * HOUR_MS, untilNow, zone)
    case 'today':
      return since(today)
    case '7d':
      return since(today - 6 * DAY_MS)
    case '30d':
      return since(today - 29 * DAY_MS)
    case 'month':
      return since(month(0))
    case 'last-month':
      return between(startOfDay(month(-1), zone), startOfDay(month(0), zone), zone)
    case '90d':
      return since(today - 89 * DAY_MS)
    case '12m':
      return since(month(-11))
  }
}

/** @returns the first and last day, as midnights of UTC; undefined for another text, or where they are swapped */
export function daysOf(text: string): { readonly first: number; readonly last: number } | undefined {
  const [, from, to] = DAYS.exec(text) ?? []
  const [first, last] = [Date.parse(`${from}T00:00:00Z`), Date.parse(`${to}T00:00:00Z`)]
  return Number.isNaN(first) || Number.isNaN(last) || first > last ? undefined : { first, last }
}

const between = (fromMs: number, toMs: number, zone: string): Period => ({
  fromMs,
  toMs,
  interval: intervalFor(toMs - fromMs),
  label: spanLabel(fromMs, toMs, zone),
})

/** So that a chart has some ten to a hundred bars. */
function intervalFor(lengthMs: number): Interval {
  if (lengthMs <= 6 * HOUR_MS) return '15m'
  if (lengthMs <= 3 * DAY_MS) return 'hour'
  if (lengthMs <= 100 * DAY_MS) return 'day'
  return lengthMs <= 200 * DAY_MS ? 'week' : 'month'
}

const yearOf = (ms: number, zone: string): number => new Date(dayOf(zone, ms)).getUTCFullYear()

/** A period in words: days where it begins with one, else times; with the year where not all of it is in this one. */
export function spanLabel(fromMs: number, toMs: number, zone: string, nowMs = Date.now()): string {
  const isLong = [fromMs, toMs - 1].some((ms) => yearOf(ms, zone) !== yearOf(nowMs, zone))
  const day = new Intl.DateTimeFormat('en-US', {
    timeZone: zone,
    month: 'short',
    day: 'numeric',
    ...(isLong && { year: 'numeric' }),
  })
  if (toMs - fromMs <= 26 * HOUR_MS && fromMs !== startOfDay(dayOf(zone, fromMs), zone)) {
    return timeFormat(zone, isLong).formatRange(fromMs, toMs)
  }
  return day.formatRange(fromMs, toMs - 1)
}

const timeFormat = (zone: string, hasYear: boolean, hasSeconds = false): Intl.DateTimeFormat =>
  new Intl.DateTimeFormat('en-US', {
    timeZone: zone,
    ...(hasYear && { year: 'numeric' }),
    month: 'short',
    day: 'numeric',
    hour: '2-digit',
    minute: '2-digit',
    ...(hasSeconds && { second: '2-digit' }),
    hourCycle: 'h23',
  })

/** An instant in the viewer's zone, with its year where that is not this one. */
export const timeShown = (ms: number, zone: string, { nowMs = Date.now(), hasSeconds = false } = {}): string =>
  timeFormat(zone, yearOf(ms, zone) !== yearOf(nowMs, zone), hasSeconds).format(ms)

/** The start of an interval, as short as its length permits. */
export function intervalLabel(fromMs: number, interval: Interval, zone: string): string {
  if (interval === '15m' || interval === 'hour') return timeShown(fromMs, zone)
  return new Intl.DateTimeFormat('en-US', {
    timeZone: zone,
    month: 'short',
    ...(interval === 'month' ? { year: 'numeric' } : { day: 'numeric' }),
  }).format(fromMs)
}

/** The same below a bar, where there is little room: a time of day alone, and the day where one begins. */
export function tickLabel(fromMs: number, interval: Interval, zone: string): string {
  if (interval !== '15m' && interval !== 'hour') return intervalLabel(fromMs, interval, zone)
  if (fromMs === startOfDay(dayOf(zone, fromMs), zone)) return intervalLabel(fromMs, 'day', zone)
  return new Intl.DateTimeFormat('en-US', {
    timeZone: zone,
    hour: '2-digit',
    minute: '2-digit',
    hourCycle: 'h23',
  }).format(fromMs)
}

/** The starts of all intervals of a period; the first one may be cut. */
export function intervalsOf({ fromMs, toMs, interval }: Period, zone: string): readonly number[] {
  const starts = [fromMs]
  for (let at = nextStart(fromMs, interval, zone); at < toMs; at = nextStart(at, interval, zone)) starts.push(at)
  return starts
}

function nextStart(ms: number, interval: Interval, zone: string): number {
  if (interval === '15m') return ms - (ms % QUARTER_MS) + QUARTER_MS
  const day = dayOf(zone, ms)
  if (interval === 'hour') {
    const intoHour = (ms - startOfDay(day, zone)) % HOUR_MS
    return ms - intoHour + HOUR_MS
  }
  const date = new Date(day)
  if (interval === 'day') return startOfDay(day + DAY_MS, zone)
  // Weeks begin on Monday.
  if (interval === 'week') return startOfDay(day + (8 - (date.getUTCDay() || 7)) * DAY_MS, zone)
  return startOfDay(Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1), zone)
}
