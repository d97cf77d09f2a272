import { PEOPLE_KEPT, unionOf } from '../cohorts/people.js'
import type { Cell, Rollups } from '../cohorts/rollups.js'
import { type Choice, type Row, type Rows, rowsHeldBy, rowsOf, type SummedCell, type Sums } from '../cohorts/rows.js'
import type { SpreadWeights } from '../store/queries/attribution/allocation-weights.js'
import {
  type Interval,
  REPORT_DIMENSIONS,
  type ReportDimension,
  type UsageSums,
} from '../store/queries/reports/usage.js'
import type { Folds } from './folds.js'
import type { Period } from './period.js'
import type { ReportFilter, ReportQuestion } from './question.js'
import { SHARES_MAX, type Spreading, spreadPools } from './spread.js'

/** The rows of a report, one fixed period at a time. */

/** The measures of a kind of report. */
export interface Measured<M> extends Sums<M> {
  /** Maximum number of people read per group. */
  readonly peopleMax: number
  readonly of: (sums: UsageSums) => M
  /** Only for kinds in which pools can be spread. */
  readonly spreading?: Spreading<M>
}

/** The report would exceed the work limit. */
export class TooManyGroups extends Error {}

/** Dimensions of a cell: first the time, then `REPORT_DIMENSIONS`. */
const TIME_DIMENSION = 0
const DIMENSION_COUNT = REPORT_DIMENSIONS.length + 1
const dimensionOf = (name: ReportDimension): number => REPORT_DIMENSIONS.indexOf(name) + 1
const OWNER = dimensionOf('owner')
const SERVICE = dimensionOf('service')

/** Whether a fixed period has several intervals; months are fixed periods themselves. */
export const hasTime = (interval: Interval | undefined): interval is Exclude<Interval, 'month'> =>
  interval !== undefined && interval !== 'month'

/** A month with the weights by which its pools are spread. */
export interface Month extends Period {
  readonly spreadBy: SpreadWeights | undefined
}

/** The folded cells of one fixed period, from which its rows are computed. */
export interface FoldedPeriod<M> {
  readonly period: Period
  readonly cells: readonly SummedCell<M>[]
  readonly rollups: Rollups
  readonly buckets: ReadonlyMap<string, Period>
  /** Services that are only pools. */
  readonly pools: ReadonlySet<string>
}

/** The rows of one fixed period. */
export interface PeriodRows<M> extends Rows<M> {
  readonly period: Period
  /** Number of shares that pools were spread into. */
  readonly shares: number
  readonly buckets: ReadonlyMap<string, Period>
}

/** Folds the sums of a fixed period. @param use consumes the result, which is released afterwards */
export function withFolded<M, T>(
  period: Period,
  sums: readonly UsageSums[],
  measured: Measured<M>,
  { folds, signal }: { readonly folds: Folds; readonly signal: AbortSignal },
  use: (folded: FoldedPeriod<M>) => T,
): Promise<T> {
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
  const serviceOf = ({ labels }: UsageSums): string => labels[SERVICE - 1] ?? ''
  const pools = new Set(sums.filter(({ isPooled }) => isPooled).map(serviceOf))
  for (const each of sums) if (!each.isPooled) pools.delete(serviceOf(each))
  return folds.during([...inhabited.values()], DIMENSION_COUNT, signal, (rollups) =>
    use({ period, cells, rollups, buckets, pools }),
  )
}

/** Computes the rows of a fixed period, or of the part of it within the requested period. */
export function periodRowsOf<M>(
  folded: FoldedPeriod<M>,
  question: ReportQuestion,
  filters: readonly ReportFilter[],
  months: readonly Month[],
  measured: Measured<M>,
): PeriodRows<M> {
  const { groupBy, interval, period: asked } = question
  const dimensions = groupBy.map(dimensionOf)
  const path = hasTime(interval) ? [TIME_DIMENSION, ...dimensions] : dimensions
  const { period, cells, rollups, buckets } = folded
  const time: Choice = {
    dimension: TIME_DIMENSION,
    holds: (key) => {
      const bucket = buckets.get(key)
      return bucket === undefined || lies(bucket, asked)
    },
  }
  const isPart = [...buckets.keys()].some((key) => !time.holds(key))
  const choices = isPart ? [...filters, time] : filters
  const { widened, hidden, rows } = rowsOf(cells, rollups, path, choices, measured)
  const part = { period, buckets, widened, hidden }
  const weights = months.findLast(({ fromMs }) => fromMs <= period.fromMs)?.spreadBy?.weights ?? []
  const { spreading } = measured
  if (spreading === undefined || weights.length === 0) return { ...part, rows: rows.map(withoutCells), shares: 0 }
  const applied = choices.filter((choice) => !widened.includes(choice))
  const pools = poolsOf(folded, path, applied, measured)
  const shares = pools.length * weights.length
  if (shares > SHARES_MAX) throw new TooManyGroups()
  const ofOwners = applied.filter(isOfOwners)
  const spread = spreadPools(
    rows,
    pools,
    weights,
    { owner: OWNER, service: SERVICE, groupBy: path, poolsBy: poolsBy(path) },
    (values) => ofOwners.every(({ dimension, holds }) => holds(values[dimension] ?? '')),
    { ...measured, ...spreading },
  )
  return { ...part, rows: spread.map(withoutCells), shares }
}

/** Drops a row's cells, which would otherwise stay in memory until all periods are read. */
const withoutCells = <M>({ values, isFolded, leaves, sum }: Row<M>): Row<M> => ({ values, isFolded, leaves, sum })

/** The pool rows that may be shown: the answer to the same query restricted to pools. */
function poolsOf<M>(
  { cells, rollups, pools }: FoldedPeriod<M>,
  path: readonly number[],
  applied: readonly Choice[],
  measured: Measured<M>,
): readonly Row<M>[] {
  if (pools.size === 0) return []
  const isPool: Choice = { dimension: SERVICE, holds: (service) => pools.has(service) }
  const choices = [...applied.filter((choice) => !isOfOwners(choice)), isPool]
  return rowsHeldBy(cells, rollups, poolsBy(path), choices, measured)?.rows ?? []
}

const poolsBy = (path: readonly number[]): number[] => [
  ...path.filter((dimension) => dimension !== OWNER && dimension !== SERVICE),
  OWNER,
  SERVICE,
]

const isOfOwners = ({ dimension }: Choice): boolean => dimension === OWNER || dimension === SERVICE
/** Whether a choice is a filter and not the requested period. */
export const isFilter = ({ dimension }: Choice): boolean => dimension !== TIME_DIMENSION

export const lies = (bucket: Period, period: Period): boolean =>
  bucket.fromMs < period.toMs && bucket.toMs > period.fromMs
