import { DAY_MS, startOfDay } from './request.js'

/** Days of one month whose groups are formed together. */
export interface PlannedSlice {
  /** First day of the month, YYYY-MM-DD. */
  readonly month: string
  /** Of its records, milliseconds since the epoch; the end is not in it. */
  readonly fromMs: number
  readonly toMs: number
  /** The days of the period in that month, YYYY-MM-DD; the end is not in it. */
  readonly chargeStart: string
  readonly chargeEnd: string
}

/** So many records make a slice of days: enough that a query is worth it, and few enough to do again after a crash. */
const SLICE_RECORDS = 1_000_000

/**
 * Parts a period into slices: whole months, since a row by month cannot be parted; by day, runs of days. Months without
 * a record have none. The same period and records give the same slices.
 *
 * @param from first day of the period, YYYY-MM-DD @param to its last
 * @param recordsOf records that are exported, by day
 */
export function planSlices(
  { from, to }: { readonly from: string; readonly to: string },
  isByDay: boolean,
  recordsOf: ReadonlyMap<string, number>,
): readonly PlannedSlice[] {
  const [startMs, endMs] = [startOfDay(from), startOfDay(to) + DAY_MS]
  const days = [...recordsOf].filter(([, records]) => records > 0).sort(([one], [other]) => (one < other ? -1 : 1))
  const slices: PlannedSlice[] = []
  let records = 0
  for (const [day, ofDay] of days) {
    const dayMs = startOfDay(day)
    const month = `${day.slice(0, 7)}-01`
    const last = slices.at(-1)
    if (last?.month === month && (!isByDay || records + ofDay <= SLICE_RECORDS)) {
      records += ofDay
      slices[slices.length - 1] = { ...last, toMs: isByDay ? dayMs + DAY_MS : last.toMs }
      continue
    }
    records = ofDay
    const fromMs = Math.max(startMs, startOfDay(month))
    const toMs = Math.min(endMs, startOfNextMonth(month))
    slices.push({
      month,
      fromMs: isByDay ? dayMs : fromMs,
      toMs: isByDay ? dayMs + DAY_MS : toMs,
      chargeStart: dayOf(fromMs),
      chargeEnd: dayOf(toMs),
    })
  }
  return slices
}

function startOfNextMonth(month: string): number {
  const first = new Date(startOfDay(month))
  return Date.UTC(first.getUTCFullYear(), first.getUTCMonth() + 1, 1)
}

/** The day of an instant, YYYY-MM-DD in UTC. */
export const dayOf = (instantMs: number): string => new Date(instantMs).toISOString().slice(0, 10)
