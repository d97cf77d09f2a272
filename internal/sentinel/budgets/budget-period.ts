import { DAY_MS, dayOf, startOfDay } from '../../units/time-zone.js'

/** The periods of budgets: days, weeks, months and quarters of a time zone. */

export const PERIODS = ['day', 'week', 'month', 'quarter'] as const
export type PeriodKind = (typeof PERIODS)[number]

export interface Period {
  /** Milliseconds since the epoch; the end is exclusive. */
  readonly fromMs: number
  readonly toMs: number
  /** `2026-11-24`, `2026-W48` (ISO 8601), `2026-11` or `2026-Q4`: unique among the periods of a budget. */
  readonly name: string
}

/**
 * The period of an instant. Its length follows the clocks of the zone: a day has 23 to 25 hours where daylight saving
 * time starts or ends. A week starts on Monday.
 */
export function periodOf(kind: PeriodKind, zone: string, ms: number): Period {
  const day = dayOf(zone, ms)
  const period = periodOfDay(kind, zone, day)
  // Where clocks go back across midnight, the hour before the second midnight belongs to the day that has not started
  // yet.
  if (ms < period.fromMs) return periodOfDay(kind, zone, day - DAY_MS)
  return period
}

/** @param dayMs midnight of the day, as if the zone were UTC */
function periodOfDay(kind: PeriodKind, zone: string, dayMs: number): Period {
  const date = new Date(dayMs)
  const [year, month, day] = [date.getUTCFullYear(), date.getUTCMonth(), date.getUTCDate()]
  const between = (first: number, next: number, name: string): Period => ({
    fromMs: startOfDay(first, zone),
    toMs: startOfDay(next, zone),
    name,
  })
  switch (kind) {
    case 'day':
      return between(dayMs, Date.UTC(year, month, day + 1), date.toISOString().slice(0, 10))
    case 'week': {
      const monday = dayMs - ((date.getUTCDay() + 6) % 7) * DAY_MS
      return between(monday, monday + 7 * DAY_MS, weekName(monday))
    }
    case 'month':
      return between(Date.UTC(year, month), Date.UTC(year, month + 1), date.toISOString().slice(0, 7))
    case 'quarter': {
      const quarter = Math.floor(month / 3)
      return between(Date.UTC(year, quarter * 3), Date.UTC(year, quarter * 3 + 3), `${year}-Q${quarter + 1}`)
    }
  }
}

/** The year and number of an ISO week are those of its Thursday. */
function weekName(mondayMs: number): string {
  const thursday = mondayMs + 3 * DAY_MS
  const year = new Date(thursday).getUTCFullYear()
  const week = Math.floor((thursday - Date.UTC(year, 0)) / DAY_MS / 7) + 1
  return `${year}-W${String(week).padStart(2, '0')}`
}
