import { PEOPLE_KEPT } from '../cohorts/people.js'
import { type Row, rowsOf, type Sums } from '../cohorts/rows.js'
import type { Period } from '../cohorts/timeline.js'
import { compareKeys } from '../gateway/sorted-records.js'
import {
  type Grid,
  type Interval,
  type PeopleWanted,
  REPORT_DIMENSIONS,
  type UsagePeople,
  type UsageScope,
  type UsageSums,
} from '../store/queries/usage.js'
import { INTERVAL_DIMENSION, monthsAround, PeopleByTime } from './cohorts.js'
import { gridOf } from './period.js'
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
  readonly people: (scope: UsageScope, grid: Grid, people: PeopleWanted, signal: AbortSignal) => Promise<UsagePeople[]>
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

/** What a tenant's usage is by groups, of which none tells of fewer than five people. */
export async function reportOf<M>(
  tenantId: string,
  question: ReportQuestion,
  measured: Measured<M>,
  reads: UsageReads,
  signal: AbortSignal,
): Promise<Report<M>> {
  const { interval, zone } = question
  const grid = gridOf(question.period, interval, zone)
  const excluded = reads.notPeople(tenantId)
  const months = monthsAround(question.period)
  const parts = await reads.people({ tenantId, ...months }, grid, { peopleMax: PEOPLE_KEPT, excluded }, signal)
  const people = new PeopleByTime(parts, grid)
  const ask = { tenantId, question, measured, reads, people, excluded, signal }
  const asked = await reportOn(people.widened(question.period), ask)
  return asked.isRootCut ? reportOn(months, ask) : asked
}

interface Ask<M> {
  readonly tenantId: string
  readonly question: ReportQuestion
  readonly measured: Measured<M>
  readonly reads: UsageReads
  readonly people: PeopleByTime
  readonly excluded: readonly string[]
  readonly signal: AbortSignal
}

async function reportOn<M>(
  period: Period,
  { tenantId, question, measured, reads, people, excluded, signal }: Ask<M>,
): Promise<Report<M> & { readonly isRootCut: boolean }> {
  const { interval, zone } = question
  const wanted = { peopleMax: measured.peopleMax, excluded }
  const sums = await reads.sums({ tenantId, ...period }, interval, zone, wanted, signal)
  if (sums.filter((each) => each.people.length > 0).length > GROUPS_MAX) throw new TooManyGroups()

  const buckets = bucketsOf(sums, period)
  const cells = sums.map((each) => ({
    values: [each.bucket === undefined ? '' : String(each.bucket.fromMs), ...each.labels],
    people: each.people.slice(0, PEOPLE_KEPT),
    sum: measured.of(each),
  }))
  const rollups = people.rollups(cells, period, buckets)
  const groupBy = question.groupBy.map((name) => REPORT_DIMENSIONS.indexOf(name) + 1)
  const path = interval === undefined ? groupBy : [INTERVAL_DIMENSION, ...groupBy]
  const { rows, widened } = rowsOf(cells, rollups, path, question.filters, measured)
  return {
    rows: rows.map((row) => toReportRow(row, question, buckets, period)).sort((a, b) => compareKeys(a.key, b.key)),
    period,
    isRootCut: rollups.isRootCut,
    widened: question.filters.filter((filter) => widened.includes(filter)).map(({ name }) => name),
  }
}

/** The intervals in which anything happened, as far as they lie in the period. */
function bucketsOf(sums: readonly UsageSums[], period: Period): Map<string, Period> {
  const buckets = new Map<string, Period>()
  for (const { bucket } of sums) {
    if (bucket === undefined) continue
    buckets.set(String(bucket.fromMs), {
      fromMs: Math.max(bucket.fromMs, period.fromMs),
      toMs: Math.min(bucket.toMs, period.toMs),
    })
  }
  return buckets
}

function toReportRow<M>(
  { values, isFolded, sum }: Row<M>,
  { groupBy, interval }: ReportQuestion,
  buckets: ReadonlyMap<string, Period>,
  period: Period,
): ReportRow<M> {
  const bucket = interval === undefined ? undefined : buckets.get(values[0] ?? '')
  const labels = interval === undefined ? values : values.slice(1)
  const { fromMs, toMs } = bucket ?? period
  // Folded rows of the whole period come behind those of its intervals.
  const time = bucket === undefined && interval !== undefined ? LAST : new Date(fromMs).toISOString()
  return {
    key: [time, isFolded ? '1' : '0', ...groupBy.map((_, i) => labels[i] ?? '')],
    fromMs,
    toMs,
    labels: Object.fromEntries(groupBy.map((name, i) => [name, labels[i] ?? null])),
    isFolded,
    sum,
  }
}

const LAST = '~'
