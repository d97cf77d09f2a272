import type { ExportSelection, Summary } from '../store/queries/exports/export-records.js'
import type { ExportSource } from '../store/queries/exports/export-source.js'
import { formatQuantity, parseSum, sum } from '../units/quantity.js'
import type { ExportRequest } from './export-request.js'
import { monthsOf } from './slices.js'
import { ExportFailed, withStoreErrors } from './unavailable.js'

/** Known reasons for leaving records out. A record with another reason fails the export. */
const REASONS = [
  'eligible',
  'residency_restricted',
  'disputed',
  'advisory',
  'notional',
  'implausible_cost',
  'ambiguous_usage',
  'unpriced',
  'cost_upper_bound',
  'below_floor',
]

/** Count and cost of some records. */
export interface Amount {
  readonly count: number
  /** USD. */
  readonly cost_usd: string
}

/** Totals of a period's records: exported, left out by reason, and all. */
export interface PeriodTotals {
  readonly exported: Amount
  readonly leftOut: readonly (Amount & { readonly reason: string })[]
  readonly everything: Amount
}

/** Exact sums, nothing rounded. */
function totalsOf(summaries: readonly Summary[]): PeriodTotals {
  const amountOf = (some: readonly Summary[]): Amount => ({
    count: some.reduce((total, { count }) => total + Number(count), 0),
    cost_usd: formatQuantity(sum(some.map(({ cost }) => parseSum<'USD'>(cost)))),
  })
  const of = (reason: string): readonly Summary[] => summaries.filter((summary) => summary.reason === reason)
  const reasons = [...new Set(summaries.map(({ reason }) => reason))].filter((reason) => reason !== 'eligible').sort()
  return {
    exported: amountOf(of('eligible')),
    leftOut: reasons.map((reason) => ({ reason, ...amountOf(of(reason)) })),
    everything: amountOf(summaries),
  }
}

/**
 * Sums up the records of a period, independently of the staged groups: the totals of the file are checked against it.
 *
 * @returns the totals, and the number of exported records by day, or by month, keyed by the month's first day in the
 *   period
 * @throws ExportFailed when a record has an unknown reason or ClickHouse refuses the query; Unavailable when ClickHouse
 *   is down
 */
export async function sumPeriod(
  period: ExportRequest['period'],
  isByDay: boolean,
  selection: ExportSelection,
  source: Pick<ExportSource, 'summarizeRecords'>,
  signal: AbortSignal,
): Promise<{ readonly totals: PeriodTotals; readonly exportedOf: ReadonlyMap<string, number> }> {
  const summaries: Summary[] = []
  const exportedOf = new Map<string, number>()
  for (const { chargeStart, fromMs, toMs } of monthsOf(period)) {
    const month = { ...selection, fromMs, toMs }
    const ofMonth = await withStoreErrors('floor_unknown', source.summarizeRecords(month, isByDay, signal))
    if (ofMonth.some(({ reason }) => !REASONS.includes(reason))) throw new ExportFailed('floor_unknown')
    summaries.push(...ofMonth)
    for (const { day, reason, count } of ofMonth) {
      if (reason === 'eligible') exportedOf.set(isByDay ? day : chargeStart, Number(count))
    }
  }
  return { totals: totalsOf(summaries), exportedOf }
}
