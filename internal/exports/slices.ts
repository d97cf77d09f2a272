import { DAY_MS, startOfDay } from './export-request.js'

/** Days of one month whose groups are formed together. */
export interface PlannedSlice {
  /** First day of the month, YYYY-MM-DD. */
  readonly month: string
  /** Time range of its records, milliseconds since the epoch; the end is exclusive. */
  readonly fromMs: number
  readonly toMs: number
  /** The days of the period in that month, YYYY-MM-DD; the end is exclusive. */
  readonly chargeStart: string
  readonly chargeEnd: string
}

/** Target size of a slice of days: large enough to make a query worthwhile, small enough to repeat after a crash. */
const SLICE_RECORDS = 1_000_000

interface Period {
  /** First and last day, both inclusive, YYYY-MM-DD. */
  readonly from: string
  readonly to: string
}

/** Splits a period into its calendar months, in order. */
export function monthsOf({ from, to }: Period): readonly PlannedSlice[] {
  const endMs = startOfDay(to) + DAY_MS
  const months: PlannedSlice[] = []
  for (let fromMs = startOfDay(from); fromMs < endMs; ) {
    const chargeStart = dayOf(fromMs)
    const month = `${chargeStart.slice(0, 7)}-01`
    const toMs = Math.min(endMs, startOfNextMonth(month))
    months.push({ month, fromMs, toMs, chargeStart, chargeEnd: dayOf(toMs) })
    fromMs = toMs
  }
  return months
}

/**
 * Splits a period into slices: whole months, because a row per month cannot be split; with daily rows, runs of days.
 * Months without records have no slice. The same period and records always give the same slices.
 *
 * @param recordsOf exported records by day; without daily rows, all records of a month may be counted on one of its
 *   days
 */
export function planSlices(
  period: Period,
  isByDay: boolean,
  recordsOf: ReadonlyMap<string, number>,
): readonly PlannedSlice[] {
  const days = [...recordsOf].filter(([, records]) => records > 0).sort(([one], [other]) => (one < other ? -1 : 1))
  return monthsOf(period).flatMap((month) => {
    const ofMonth = days.filter(([day]) => dayOf(month.fromMs) <= day && day < dayOf(month.toMs))
    if (ofMonth.length === 0) return []
    return isByDay ? runsOf(month, ofMonth) : [month]
  })
}

function runsOf(month: PlannedSlice, days: readonly (readonly [day: string, records: number])[]): PlannedSlice[] {
  const runs: PlannedSlice[] = []
  let records = 0
  for (const [day, ofDay] of days) {
    const [fromMs, toMs] = [startOfDay(day), startOfDay(day) + DAY_MS]
    const last = runs.at(-1)
    if (last !== undefined && records + ofDay <= SLICE_RECORDS) {
      records += ofDay
      runs[runs.length - 1] = { ...last, toMs }
      continue
    }
    records = ofDay
    runs.push({ ...month, fromMs, toMs })
  }
  return runs
}

function startOfNextMonth(month: string): number {
  const first = new Date(startOfDay(month))
  return Date.UTC(first.getUTCFullYear(), first.getUTCMonth() + 1, 1)
}

/** The UTC day of an instant, YYYY-MM-DD. */
export const dayOf = (instantMs: number): string => new Date(instantMs).toISOString().slice(0, 10)
