import type { AnswerRow, AnswerScope, ReportQuery } from '../store/queries/reports/answer.js'
import type { FigureName } from '../store/queries/reports/figures.js'
import { parseSum } from '../units/quantity.js'
import { type Cell, type Decomposition, decompose } from './changes/decompose.js'
import { NOTHING, type Side } from './changes/effects.js'
import { type Explanation, explainsMost } from './changes/explains-most.js'
import type { ChangesQuestion } from './changes-question.js'
import { queryOf, type ReportOf, type ReportReads } from './report.js'
import { spanOf } from './report-period.js'

/** Groups that are read: those that moved most. All others are one row of the answer. */
export const CELLS_MAX = 2_000

/** What a side is made of. */
const SUMMED = ['cost_usd', 'calls', 'input_tokens', 'output_tokens', 'unpriced_calls'] as const satisfies FigureName[]
/** And those that tell which group is the calls of nobody. */
const FIGURES = [...SUMMED, 'default_pool_calls', 'unattributed_calls'] as const satisfies FigureName[]

export interface ChangesAnswer {
  /** How many of the filters hold, in both periods; the others were dropped. */
  readonly filtersApplied: number
  readonly parts: Decomposition<AnswerRow>
  readonly explainedBy: Explanation | undefined
  /** Whether groups were left unread: `rest` has them, too. */
  readonly isCut: boolean
}

/**
 * Reads the compared report by group, with what each period is as a whole. What folds in either period, or is not read,
 * is the whole less the groups.
 */
export async function readChangesOf(
  { report, moversMax }: ChangesQuestion,
  of: ReportOf,
  reads: Pick<ReportReads, 'hasClosed' | 'holdingFilters' | 'read'>,
  signal: AbortSignal,
): Promise<ChangesAnswer> {
  const hasClosed = await reads.hasClosed({ ...spanOf(report), ...of }, signal)
  const comparedBy = (filters: number): ReportQuery & { readonly previous: AnswerScope } => {
    const query = queryOf(report, of, filters, hasClosed)
    if (query.previous === undefined) throw new Error('the question is compared')
    return { ...query, previous: query.previous, figures: FIGURES, summed: SUMMED, sort: BY_CHANGE }
  }
  const holding = ({ scope }: AnswerScope): Promise<number> =>
    reads.holdingFilters(scope, report.groupBy, of.cohortMin, signal)
  // The same filters in both periods: fewer of them may hold less in the other one.
  let filtersApplied = report.filters.length
  for (let before = -1; before !== filtersApplied; ) {
    before = filtersApplied
    const query = comparedBy(before)
    filtersApplied = Math.min(...(await Promise.all([holding(query), holding(query.previous)])))
  }
  const query = comparedBy(filtersApplied)
  const { rows = [], totals } = (await reads.read(query, CELLS_MAX + 1, signal)) ?? {}
  // Without calls now, the groups that fold before have no row that could carry the sums.
  const ungrouped = { ...query, grouping: { ...query.grouping, groupBy: [] } }
  const { sums } = totals?.sums === undefined ? ((await reads.read(ungrouped, 1, signal))?.totals ?? {}) : totals
  const whole = { before: sums ? sideOf(sums.before) : NOTHING, now: sums ? sideOf(sums.now) : NOTHING }
  const cells = rows.slice(0, CELLS_MAX).flatMap(cellOf)
  const parts = decompose(whole, cells, moversMax)
  const explainedBy = explainsMost(whole, cells, ({ labels }) => labels)
  // Sorted last are rows that fold in one of the periods: they would be no groups either if they were read.
  return { filtersApplied, parts, explainedBy, isCut: rows.slice(CELLS_MAX).flatMap(cellOf).length > 0 }
}

const BY_CHANGE: ReportQuery['sort'] = [
  {
    key: { kind: 'change', of: { kind: 'figure', name: 'cost_usd' }, isPercent: false, isAbsolute: true },
    isDescending: true,
  },
]

const cellOf = (row: AnswerRow): readonly Cell<AnswerRow>[] =>
  row.previous === undefined || row.previous.compared === 'not_shown'
    ? []
    : [{ row, before: sideOf(row.previous.figures), now: sideOf(row.figures) }]

const sideOf = (figures: AnswerRow['figures']): Side => ({
  cost: parseSum(figures.cost_usd),
  calls: BigInt(figures.calls),
  tokens: BigInt(figures.input_tokens) + BigInt(figures.output_tokens),
  unpricedCalls: BigInt(figures.unpriced_calls),
})
