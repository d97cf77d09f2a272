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

interface Period {
  /** Its first day and its last, YYYY-MM-DD. */
  readonly from: string
  readonly to: string
}

/** What lies of a period in each of its months, in their order. */
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
 * Parts a period into slices: whole months, since a row by month cannot be parted; by day, runs of days. Months without
 * a record have none. The same period and records give the same slices.
 *
 * @param recordsOf records that are exported, by day; where rows have no day, a month's may all stand at one of its days
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

/** The day of an instant, YYYY-MM-DD in UTC. */
export const dayOf = (instantMs: number): string => new Date(instantMs).toISOString().slice(0, 10)
