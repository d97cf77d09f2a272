import type { Row, Sums } from '../cohorts/rows.js'
import { compareKeys } from '../http/resource/sorted-records.js'
import type { SpreadWeights } from '../store/queries/attribution/allocation-weights.js'
import type { Interval, PeopleWanted, UsageScope, UsageSums } from '../store/queries/reports/usage.js'
import { Folds } from './folds.js'
import {
  type FoldedPeriod,
  hasTime,
  isFilter,
  lies,
  type Measured,
  type Month,
  type PeriodRows,
  periodRowsOf,
  TooManyGroups,
  withFolded,
} from './parts.js'
import { fixedPeriods, type Period } from './period.js'
import type { ReportQuestion } from './question.js'
import { SHARES_MAX } from './spread.js'

/** The reads that a report needs. */
export interface UsageReads {
  readonly sums: (
    scope: UsageScope,
    interval: Interval | undefined,
    zone: string,
    people: PeopleWanted,
    signal: AbortSignal,
  ) => Promise<UsageSums[]>
  /** Hashes of a tenant's identities that are not people, as 32 hex digits. */
  readonly notPeople: (tenantId: string) => readonly string[]
  /** The latest weights for spreading a tenant's pools, at or before a time. */
  readonly weights: (tenantId: string, byMs: number, signal: AbortSignal) => Promise<SpreadWeights | undefined>
}

export interface ReportRow<M> {
  /** Sort key: time, then labels; folded rows come last within their time. */
  readonly key: readonly string[]
  readonly fromMs: number
  readonly toMs: number
  /** By grouped dimension; null if folded. */
  readonly labels: Readonly<Record<string, string | null>>
  readonly isFolded: boolean
  readonly sum: M
}

export interface Report<M> {
  readonly rows: readonly ReportRow<M>[]
  /** The requested period, or a wider one. */
  readonly period: Period
  /** Names of filters that were not applied. */
  readonly widened: readonly string[]
  /** For each month, the time of the weights by which its pools were spread; empty if the report is not allocated. */
  readonly spreadBy: readonly (Period & { readonly asOfMs: number | undefined })[]
}

/** Maximum number of groups with people per month: the cost of folding grows faster than their number. */
const GROUPS_MAX = 60_000

/**
 * Computes a tenant's usage by groups, none of which reveals fewer than five people.
 *
 * Which groups may be shown is decided for whole months (`fixedPeriods`). The requested period is then a filter on days
 * like any other filter, so that the difference between two periods reveals nothing either.
 */
export async function reportOf<M>(
  tenantId: string,
  question: ReportQuestion,
  measured: Measured<M>,
  reads: UsageReads,
  signal: AbortSignal,
  folds: Folds = new Folds(),
): Promise<Report<M>> {
  const { interval, zone, period: asked } = question
  const people = { peopleMax: measured.peopleMax, excluded: reads.notPeople(tenantId) }
  const periods = fixedPeriods(asked, interval, zone)
  const [first, last] = [periods[0] ?? asked, periods.at(-1) ?? asked]
  // Months are folded by day. Folded as a whole, they would show groups that daily reports, and reports without an interval, hide.
  const finest = hasTime(interval) ? interval : 'day'
  const readings = readingsOf(periods, interval)
  const read = async (of: readonly Period[]): Promise<UsageSums[]> => {
    const scope = { tenantId, fromMs: of[0]?.fromMs ?? 0, toMs: of.at(-1)?.toMs ?? 0 }
    const sums = await reads.sums(scope, finest, zone, people, signal)
    if (sums.filter(isInhabited).length > GROUPS_MAX) throw new TooManyGroups()
    return sums
  }
  const partIn = (
    own: Period,
    into: readonly Period[],
    sums: readonly UsageSums[],
    toPart: (folded: FoldedPeriod<M>) => PeriodRows<M>,
  ): Promise<PeriodRows<M>> => {
    const its = sums.filter(({ bucket }) => ownerOf(bucket, into) === own)
    return withFolded(own, its, measured, { folds, signal }, toPart)
  }
  let shares = 0
  const counted = (part: PeriodRows<M>): PeriodRows<M> => {
    shares += part.shares
    if (shares > SHARES_MAX) throw new TooManyGroups()
    return part
  }

  let ahead: { readonly of: readonly Period[]; readonly sums: UsageSums[] } | undefined
  for (const of of readings) {
    ahead = { of, sums: await read(of) }
    if (ahead.sums.some(isInhabited)) break
  }
  const isExact = ahead === undefined || !ahead.sums.some(isInhabited)
  const begun = isExact ? asked : { fromMs: first.fromMs, toMs: last.fromMs + 1 }
  const months = question.isAllocating ? await monthsOf(tenantId, begun, zone, reads, signal) : []
  if (isExact) {
    // No people in any group, so nothing to hide: use the requested period to the quarter hour.
    const exact = async (period: Period, into: readonly Period[]): Promise<PeriodRows<M>[]> => {
      const sums = await reads.sums({ tenantId, ...period }, interval, zone, people, signal)
      const parts: PeriodRows<M>[] = []
      for (const own of into) {
        const toPart = (folded: FoldedPeriod<M>) => periodRowsOf(folded, question, question.filters, months, measured)
        parts.push(counted(await partIn(own, into, sums, toPart)))
      }
      return parts
    }
    const isSplit = interval === 'month' || months.length > 1
    const split = isSplit ? fixedPeriods(asked, undefined, zone).map((month) => within(month, asked)) : [asked]
    const parts: PeriodRows<M>[] = []
    if (interval !== undefined) parts.push(...(await exact(asked, split)))
    else for (const period of split) parts.push(...(await exact(period, [period])))
    return toReport(question, parts, question.filters.length, { isExact, months, measured })
  }
  // Rows per month cover the whole month.
  const wide = interval === 'month' ? { ...question, period: { fromMs: first.fromMs, toMs: last.toMs } } : question
  let kept = question.filters.length
  // One period after the other, because a whole year would need too much memory. When a later period has to drop a
  // filter, the earlier ones are computed again without it.
  const made = new Map<Period, { readonly part: PeriodRows<M>; readonly kept: number }>()
  const isPending = (period: Period): boolean => made.get(period)?.kept !== kept
  while (periods.some(isPending)) {
    for (const of of readings) {
      if (!of.some(isPending)) continue
      const sums = ahead?.of === of ? ahead.sums : await read(of)
      ahead = undefined
      for (const own of of.filter(isPending)) {
        const part = await partIn(own, of, sums, (folded) => {
          for (;;) {
            const tried = periodRowsOf(folded, wide, question.filters.slice(0, kept), months, measured)
            const least = kept - tried.widened.filter(isFilter).length
            if (least === kept) return tried
            kept = least
          }
        })
        shares -= made.get(own)?.part.shares ?? 0
        made.set(own, { part: counted(part), kept })
      }
    }
  }
  const parts = periods.flatMap((period) => made.get(period)?.part ?? [])
  return toReport(wide, parts, kept, { isExact, months, measured })
}

const isInhabited = ({ people }: UsageSums): boolean => people.length > 0

/** Number of days per query; months are queried one by one. */
const DAYS_READ = 7

function readingsOf(periods: readonly Period[], interval: Interval | undefined): Period[][] {
  const length = interval === '15m' || interval === 'hour' ? DAYS_READ : 1
  const readings: Period[][] = []
  for (let at = 0; at < periods.length; at += length) readings.push(periods.slice(at, at + length))
  return readings
}

const ownerOf = (bucket: Period | undefined, periods: readonly Period[]): Period | undefined =>
  periods.findLast(({ fromMs }) => bucket !== undefined && bucket.fromMs >= fromMs) ?? periods[0]

const within = (period: Period, bounds: Period): Period => ({
  fromMs: Math.max(period.fromMs, bounds.fromMs),
  toMs: Math.min(period.toMs, bounds.toMs),
})

/** The same months for every interval, so that the spread amounts within a month add up to those of the month. */
const monthsOf = (tenantId: string, period: Period, zone: string, reads: UsageReads, signal: AbortSignal) =>
  Promise.all(
    fixedPeriods(period, undefined, zone).map(
      async (month): Promise<Month> => ({
        ...month,
        spreadBy: await reads.weights(tenantId, month.toMs, signal),
      }),
    ),
  )

/** @param kept number of filters that were applied */
function toReport<M>(
  question: ReportQuestion,
  parts: readonly PeriodRows<M>[],
  kept: number,
  {
    isExact,
    months: spreadMonths,
    measured,
  }: { readonly isExact: boolean; readonly months: readonly Month[]; readonly measured: Measured<M> },
): Report<M> {
  const { filters, period: asked, interval, zone } = question
  const isWider = (part: PeriodRows<M>): boolean => part.widened.some((choice) => !isFilter(choice))
  const edges = parts.filter(isWider).flatMap(({ period }) => [period])
  const snapped = parts.flatMap(({ buckets }) =>
    isExact ? [] : [...buckets.values()].filter((bucket) => lies(bucket, asked)),
  )
  const period = {
    fromMs: Math.min(asked.fromMs, ...[...edges, ...snapped].map(({ fromMs }) => fromMs)),
    toMs: Math.max(asked.toMs, ...[...edges, ...snapped].map(({ toMs }) => toMs)),
  }
  const months = interval === 'month' ? fixedPeriods(asked, interval, zone) : []
  const rows =
    interval === undefined
      ? merged(parts, measured).map((row) => toReportRow(row, question, period, undefined))
      : parts.flatMap((part, i) =>
          part.rows.map((row) =>
            toReportRow(row, question, part.period, months[i] ?? part.buckets.get(row.values[0] ?? '')),
          ),
        )
  return {
    rows: rows.sort((a, b) => compareKeys(a.key, b.key)),
    period,
    widened: filters.slice(kept).map(({ name }) => name),
    spreadBy: spreadMonths.map(({ fromMs, toMs, spreadBy }) => ({ fromMs, toMs, asOfMs: spreadBy?.asOfMs })),
  }
}

/** Merges the periods into one row per group; a group folded in any period is folded in all. */
function merged<M>(parts: readonly PeriodRows<M>[], { none, plus }: Sums<M>): Row<M>[] {
  const [only] = parts
  if (only !== undefined && parts.length === 1) return [...only.rows]
  const hidden = new Set(parts.flatMap((part) => part.hidden.map((path) => JSON.stringify(path))))
  const shown = new Map<string, Row<M>>()
  let rest: Row<M> | undefined
  for (const row of parts.flatMap(({ rows }) => rows)) {
    const key = JSON.stringify(row.values)
    if (row.isFolded || hidden.has(key)) {
      const values = row.values.map(() => undefined)
      rest = { values, isFolded: true, leaves: [], sum: plus(rest?.sum ?? none, row.sum) }
    } else {
      const known = shown.get(key)
      shown.set(key, { ...row, sum: known === undefined ? row.sum : plus(known.sum, row.sum) })
    }
  }
  return [...shown.values(), ...(rest === undefined ? [] : [rest])]
}

/** @param bucket the row's interval; undefined if the row covers the whole period */
function toReportRow<M>(
  { values, isFolded, sum }: Row<M>,
  { groupBy, interval }: ReportQuestion,
  period: Period,
  bucket: Period | undefined,
): ReportRow<M> {
  const labels = hasTime(interval) ? values.slice(1) : values
  const { fromMs, toMs } = bucket ?? period
  // Folded rows of the whole period come after those of its intervals.
  const time = bucket === undefined && interval !== undefined ? LAST : ''
  return {
    key: [`${time}${new Date(fromMs).toISOString()}`, isFolded ? '1' : '0', ...groupBy.map((_, i) => labels[i] ?? '')],
    fromMs,
    toMs,
    labels: Object.fromEntries(groupBy.map((name, i) => [name, labels[i] ?? null])),
    isFolded,
    sum,
  }
}

const LAST = '~'
