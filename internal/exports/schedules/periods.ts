import { parseInstant } from '../../units/instant.js'

/** The periods of export schedules: days and calendar months in UTC, as FOCUS has billing periods. */

export const CADENCES = ['daily', 'monthly'] as const
export type Cadence = (typeof CADENCES)[number]

export interface Period {
  /** `2026-11-24` or `2026-11`: unique among the periods of a schedule. */
  readonly name: string
  /** First and last day, both inclusive, YYYY-MM-DD. */
  readonly from: string
  readonly to: string
  /** Milliseconds since the epoch; the end is exclusive. */
  readonly fromMs: number
  readonly toMs: number
}

/** How many closed periods a schedule maintains: these are delivered late, delivered on request, and corrected. */
export const PERIODS_MAINTAINED: Readonly<Record<Cadence, number>> = { daily: 35, monthly: 3 }

const HOUR_MS = 3_600_000
/** How long after its end a period is exported: most events that arrive late have arrived by then. */
const SETTLING_MS = 3 * HOUR_MS

const DAY_CHARACTERS = 10
const MONTH_CHARACTERS = 7
const dayOf = (ms: number): string => new Date(ms).toISOString().slice(0, DAY_CHARACTERS)

/** The period of an instant. */
export function periodAt(cadence: Cadence, ms: number): Period {
  const date = new Date(ms)
  const [year, month, day] = [date.getUTCFullYear(), date.getUTCMonth(), date.getUTCDate()]
  const isDaily = cadence === 'daily'
  const fromMs = Date.UTC(year, month, isDaily ? day : 1)
  const toMs = isDaily ? Date.UTC(year, month, day + 1) : Date.UTC(year, month + 1, 1)
  const from = dayOf(fromMs)
  return { name: from.slice(0, isDaily ? DAY_CHARACTERS : MONTH_CHARACTERS), from, to: dayOf(toMs - 1), fromMs, toMs }
}

/** @returns undefined when the text names no period of the cadence */
export function readPeriod(cadence: Cadence, name: string): Period | undefined {
  const startMs = parseInstant(`${cadence === 'daily' ? name : `${name}-01`}T00:00:00Z`)
  const period = startMs === undefined ? undefined : periodAt(cadence, startMs)
  return period?.name === name ? period : undefined
}

/** The closed periods that a schedule maintains at an instant, oldest first. */
export function maintainedPeriods(cadence: Cadence, nowMs: number): readonly Period[] {
  const periods: Period[] = []
  for (let next = periodAt(cadence, nowMs); periods.length < PERIODS_MAINTAINED[cadence]; ) {
    next = periodAt(cadence, next.fromMs - 1)
    periods.unshift(next)
  }
  return periods
}

export const dueAt = ({ toMs }: Pick<Period, 'toMs'>): number => toMs + SETTLING_MS
