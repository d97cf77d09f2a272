import { PEOPLE_KEPT, unionOf } from '../cohorts/people.js'
import { type Cell, foldRollups } from '../cohorts/rollups.js'
import { type Choice, type Row, type Rows, rowsOf, type SummedCell, type Sums } from '../cohorts/rows.js'
import { compareKeys } from '../gateway/sorted-records.js'
import {
  type Interval,
  type PeopleWanted,
  REPORT_DIMENSIONS,
  type UsageScope,
  type UsageSums,
} from '../store/queries/usage.js'
import { fixedPeriods, type Period } from './period.js'
import type { ReportQuestion } from './question.js'

/** What reports are worked out from. */
export interface UsageReads {
  readonly sums: (
    scope: UsageScope,
    interval: Interval | undefined,
    zone: string,
    people: PeopleWanted,
    signal: AbortSignal,
  ) => Promise<UsageSums[]>
  /** Hashes of a tenant's identities that are no people, as 32 hex digits. */
  readonly notPeople: (tenantId: string) => readonly string[]
}

/** What is summed up in a kind of report. */
export interface Measured<M> extends Sums<M> {
  /** So many people a group are read. */
  readonly peopleMax: number
  readonly of: (sums: UsageSums) => M
}

export interface ReportRow<M> {
  /** In order of time, then of labels; what is folded comes last within its time. */
  readonly key: readonly string[]
  readonly fromMs: number
  readonly toMs: number
  /** By dimension that is grouped by; null in those that were folded away. */
  readonly labels: Readonly<Record<string, string | null>>
  readonly isFolded: boolean
  readonly sum: M
}

export interface Report<M> {
  readonly rows: readonly ReportRow<M>[]
  /** As asked for, or wider. */
  readonly period: Period
  /** Names of filters that were not applied. */
  readonly widened: readonly string[]
}

/** A question that would take more work than a report may. */
export class TooManyGroups extends Error {}

/** Groups with people in a report at most: what telling them apart costs grows faster than they do. */
const GROUPS_MAX = 20_000

/** What groups are told by: first the time, then `REPORT_DIMENSIONS`. */
const TIME_DIMENSION = 0
const DIMENSION_COUNT = REPORT_DIMENSIONS.length + 1

/**
 * What a tenant's usage is by groups, of which none tells of fewer than five people.
 *
 * Which groups may be shown is decided for whole months (`fixedPeriods`), and the period that is asked for is a filter
 * by their days like any other, so that periods cannot be played off against each other either.
 */
export async function reportOf<M>(
  tenantId: string,
  question: ReportQuestion,
  measured: Measured<M>,
  reads: UsageReads,
  signal: AbortSignal,
): Promise<Report<M>> {
  const { interval, zone, period: asked } = question
  const people = { peopleMax: measured.peopleMax, excluded: reads.notPeople(tenantId) }
  const periods = fixedPeriods(asked, interval, zone)
  const whole = { fromMs: periods[0]?.fromMs ?? asked.fromMs, toMs: periods.at(-1)?.toMs ?? asked.toMs }
  const sums = await reads.sums({ tenantId, ...whole }, interval ?? 'day', zone, people, signal)
  const inhabited = sums.filter((each) => each.people.length > 0).length
  if (inhabited > GROUPS_MAX) throw new TooManyGroups()
  if (inhabited === 0) {
    // Nobody to hide: as asked for, to the quarter of an hour.
    const exact = await reads.sums({ tenantId, ...asked }, interval, zone, people, signal)
    const part = { period: asked, ...rowsIn(exact, asked, question, question.filters, measured) }
    return toReport(question, [part], question.filters.length, measured)
  }
  let kept = question.filters.length
  for (;;) {
    const filters = question.filters.slice(0, kept)
    const parts = periods.map((period) => {
      // A week belongs to the month in which it begins.
      const own = sums.filter(({ bucket }) => ownerOf(bucket, periods) === period)
      return { period, ...rowsIn(own, asked, question, filters, measured) }
    })
    const least = Math.min(...parts.map(({ widened }) => kept - widened.filter(isFilter).length))
    if (least === kept) return toReport(question, parts, kept, measured)
    kept = least
  }
}

const ownerOf = (bucket: Period | undefined, periods: readonly Period[]): Period | undefined =>
  periods.findLast(({ fromMs }) => bucket !== undefined && bucket.fromMs >= fromMs) ?? periods[0]

const lies = (bucket: Period, period: Period): boolean => bucket.fromMs < period.toMs && bucket.toMs > period.fromMs

interface Part<M> extends Rows<M> {
  readonly period: Period
  readonly buckets: ReadonlyMap<string, Period>
}

/** The rows of one fixed period, of which the question may want a part. */
function rowsIn<M>(
  sums: readonly UsageSums[],
  asked: Period,
  { groupBy, interval }: ReportQuestion,
  filters: readonly Choice[],
  measured: Measured<M>,
): Omit<Part<M>, 'period'> {
  const buckets = new Map<string, Period>()
  const cells: SummedCell<M>[] = sums.map((each) => {
    const key = each.bucket === undefined ? '' : String(each.bucket.fromMs)
    if (each.bucket !== undefined) buckets.set(key, each.bucket)
    return { values: [key, ...each.labels], people: each.people.slice(0, PEOPLE_KEPT), sum: measured.of(each) }
  })
  const inhabited = new Map<string, Cell>()
  for (const { values, people } of cells) {
    if (people.length === 0) continue
    const key = values.join('\u0000')
    const known = inhabited.get(key)
    inhabited.set(key, { values, people: known === undefined ? people : unionOf([known.people, people]) })
  }
  const time: Choice = {
    dimension: TIME_DIMENSION,
    holds: (key) => {
      const bucket = buckets.get(key)
      return bucket === undefined || lies(bucket, asked)
    },
  }
  const isPart = [...buckets.keys()].some((key) => !time.holds(key))
  const dimensions = groupBy.map((name) => REPORT_DIMENSIONS.indexOf(name) + 1)
  const path = interval === undefined ? dimensions : [TIME_DIMENSION, ...dimensions]
  const rollups = foldRollups([...inhabited.values()], DIMENSION_COUNT)
  return { ...rowsOf(cells, rollups, path, isPart ? [...filters, time] : filters, measured), buckets }
}

const isFilter = ({ dimension }: Choice): boolean => dimension !== TIME_DIMENSION

/** @param kept so many of the filters were applied */
function toReport<M>(
  question: ReportQuestion,
  parts: readonly Part<M>[],
  kept: number,
  measured: Measured<M>,
): Report<M> {
  const { filters, period: asked, interval } = question
  const isExact = parts.length === 1 && parts[0]?.period === asked
  const isWider = (part: Part<M>): boolean => part.widened.some((choice) => !isFilter(choice))
  const edges = parts.filter(isWider).flatMap(({ period }) => [period])
  const snapped = parts.flatMap(({ buckets }) =>
    isExact ? [] : [...buckets.values()].filter((bucket) => lies(bucket, asked)),
  )
  const period = {
    fromMs: Math.min(asked.fromMs, ...[...edges, ...snapped].map(({ fromMs }) => fromMs)),
    toMs: Math.max(asked.toMs, ...[...edges, ...snapped].map(({ toMs }) => toMs)),
  }
  const rows =
    interval === undefined
      ? merged(parts, measured).map((row) => toReportRow(row, question, period, undefined))
      : parts.flatMap((part) =>
          part.rows.map((row) => toReportRow(row, question, part.period, part.buckets.get(row.values[0] ?? ''))),
        )
  return {
    rows: rows.sort((a, b) => compareKeys(a.key, b.key)),
    period,
    widened: filters.slice(kept).map(({ name }) => name),
  }
}
/** One row a group over all periods; what any of them folds is folded in all. */
function merged<M>(parts: readonly Part<M>[], { none, plus }: Sums<M>): Row<M>[] {
  const [only] = parts
  if (only !== undefined && parts.length === 1) return [...only.rows]
  const hidden = new Set(parts.flatMap((part) => part.hidden.map((path) => JSON.stringify(path))))
  const shown = new Map<string, Row<M>>()
  let rest: Row<M> | undefined
  for (const row of parts.flatMap(({ rows }) => rows)) {
    const key = JSON.stringify(row.values)
    if (row.isFolded || hidden.has(key)) {
      rest = { values: row.values.map(() => undefined), isFolded: true, sum: plus(rest?.sum ?? none, row.sum) }
    } else {
      const known = shown.get(key)
      shown.set(key, { ...row, sum: known === undefined ? row.sum : plus(known.sum, row.sum) })
    }
  }
  return [...shown.values(), ...(rest === undefined ? [] : [rest])]
}

/** @param bucket the row's; undefined where it is of the whole period */
function toReportRow<M>(
  { values, isFolded, sum }: Row<M>,
  { groupBy, interval }: ReportQuestion,
  period: Period,
  bucket: Period | undefined,
): ReportRow<M> {
  const labels = interval === undefined ? values : values.slice(1)
  const { fromMs, toMs } = bucket ?? period
  // Folded rows of the whole period come behind those of its intervals.
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
