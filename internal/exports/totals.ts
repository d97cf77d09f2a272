import type { ExportSelection, Summary } from '../store/queries/exports/export-records.js'
import type { ExportSource } from '../store/queries/exports/export-source.js'
import { formatQuantity, parseSum, sum } from '../units/quantity.js'
import type { ExportRequest } from './request.js'
import { monthsOf } from './slices.js'
import { asking, ExportFailed } from './unavailable.js'

/** Why records are left out; a record with another reason is not understood, and its file not made. */
const REASONS = ['eligible', 'residency_restricted', 'disputed', 'advisory', 'unpriced', 'below_floor']

/** Records of some kind: how many, and what they cost. */
export interface Amount {
  readonly count: number
  /** USD. */
  readonly cost_usd: string
}

/** What of a period is exported, and what is left out and why. */
export interface Reckoning {
  readonly exported: Amount
  readonly leftOut: readonly (Amount & { readonly reason: string })[]
  readonly everything: Amount
}

/** Exactly. */
function reckon(summaries: readonly Summary[]): Reckoning {
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
 * Sums the records of a period up, in a way of its own: what the file comes to is held against it.
 *
 * @returns beside it, how many records are exported: by day, or of each month by the first of its days that lies in the period
 * @throws ExportFailed when a record is not understood, or the read model refuses; Unavailable when that is away
 */
export async function reckonMonths(
  period: ExportRequest['period'],
  isByDay: boolean,
  selection: ExportSelection,
  source: Pick<ExportSource, 'summarizeRecords'>,
  signal: AbortSignal,
): Promise<{ readonly reckoning: Reckoning; readonly exportedOf: ReadonlyMap<string, number> }> {
  const summaries: Summary[] = []
  const exportedOf = new Map<string, number>()
  for (const { chargeStart, fromMs, toMs } of monthsOf(period)) {
    const month = { ...selection, fromMs, toMs }
    const ofMonth = await asking('floor_unknown', source.summarizeRecords(month, isByDay, signal))
    if (ofMonth.some(({ reason }) => !REASONS.includes(reason))) throw new ExportFailed('floor_unknown')
    summaries.push(...ofMonth)
    for (const { day, reason, count } of ofMonth) {
      if (reason === 'eligible') exportedOf.set(isByDay ? day : chargeStart, Number(count))
    }
  }
  return { reckoning: reckon(summaries), exportedOf }
}
