import type { CohortScope } from '../auth/tenant.js'
import type { GroupField } from '../filters/report-dimensions.js'
import { isTagField } from '../records/dimensions.js'
import type { AnswerRow, AnswerTotals } from '../store/queries/reports/answer.js'
import { type FigureName, figureSteps, REASON_NAMES } from '../store/queries/reports/figures.js'
import { COST_PART_NAMES } from '../store/queries/reports/priced-figures.js'
import { formatDifference, formatQuantity, parseSum, type Quantity } from '../units/quantity.js'
import { comparedOf } from './compared.js'
import { type Decimal, decimalText, quotient } from './decimals.js'
import type { ReportQuestion } from './question.js'
import type { Period } from './report-period.js'
import { unitPrices } from './unit-prices.js'

/** The rows of reports in their wire form. */

/** Figures of a row for which nothing but a name differs. */
const AMOUNTS = ['cost_usd', 'energy_wh', 'carbon_gco2e'] as const
const COUNTS = [
  'calls',
  'input_tokens',
  'output_tokens',
  'cached_input_tokens',
  'cache_write_tokens',
  'reasoning_tokens',
  'unpriced_calls',
] as const

/** For each figure, the count of calls whose value is unknown. */
const MISSING = {
  cost_usd: 'cost_unknown_calls',
  energy_wh: 'energy_unknown_calls',
  carbon_gco2e: 'carbon_unknown_calls',
  input_tokens: 'input_tokens_unknown_calls',
  output_tokens: 'output_tokens_unknown_calls',
} as const satisfies Readonly<Record<string, FigureName>>
export type BoundedFigure = keyof typeof MISSING
export const BOUNDED_FIGURES = Object.keys(MISSING) as [BoundedFigure, ...BoundedFigure[]]

export interface ShownBy {
  readonly question: ReportQuestion
  readonly totals: AnswerTotals
  readonly cohortMin: number
  readonly cohortScope: CohortScope
  /** Whether filters were dropped: the rows are those of a larger group than asked for. */
  readonly isParent: boolean
}

/** Members that rows of all reports have. */
const head = (row: AnswerRow, { question, cohortMin, cohortScope, isParent }: ShownBy) => ({
  ...shownPeriod(periodOf(row, question)),
  ...labelsOf(row, question.groupBy),
  ...(isParent && { scope: 'parent' as const }),
  folded: row.isFolded,
  ...(row.isFolded && { groups: row.groups }),
  // Where groups of cost objects do not fold, how many people are in them is no figure of theirs: adoption has it.
  people: cohortScope === 'people' || (row.people > 0 && row.people < cohortMin) ? null : row.people,
})

export const shownAdoption = (row: AnswerRow, by: ShownBy) => ({
  ...head(row, by),
  calls: Number(row.figures.calls),
  ...comparedOf(row, 'adoption', by),
})

export function shownUsage(row: AnswerRow, by: ShownBy) {
  const { figures } = row
  const cost = parseSum<'USD'>(figures.cost_usd)
  const usd = (name: FigureName): string => formatQuantity(parseSum<'USD'>(figures[name]))
  return {
    ...head(row, by),
    unattributed: isUnattributed(row, by.question.groupBy),
    ...Object.fromEntries(AMOUNTS.map((name) => [name, formatQuantity(parseSum(figures[name]))])),
    ...Object.fromEntries(COUNTS.map((name) => [name, Number(figures[name])])),
    cost_share: textOf(quotient(cost, parseSum<'USD'>(by.totals.costUsd), SHARE_DECIMALS)),
    ...Object.fromEntries(Object.entries(unitPrices(figures)).map(([name, price]) => [name, textOf(price)])),
    ...(figureSteps(figures.energy_class_estimate_wh) !== 0n && {
      energy_class_estimate_wh: formatQuantity(parseSum(figures.energy_class_estimate_wh)),
    }),
    lower_bounds: BOUNDED_FIGURES.filter((name) => Number(figures[MISSING[name]]) > 0),
    confidence: textOf(quotient(figureSteps(figures.cost_confidence), cost * CONFIDENCE_STEPS, CONFIDENCE_DECIMALS)),
    cost_usd_by_band: {
      chargeback_ready: usd('chargeback_ready_cost_usd'),
      provisional: usd('provisional_cost_usd'),
      estimated: formatQuantity(
        (cost -
          parseSum<'USD'>(figures.chargeback_ready_cost_usd) -
          parseSum<'USD'>(figures.provisional_cost_usd)) as Quantity<'USD'>,
      ),
    },
    cost_usd_by_trust: costByTrust(cost, figures),
    unattributed_calls: Number(figures.unattributed_calls),
    unattributed_cost_usd: usd('unattributed_cost_usd'),
    ...(by.question.extras.includes('unspread') && { not_spread_usd: usd('unspread_cost_usd') }),
    ...(by.question.extras.includes('notional') && { notional_cost_usd: usd('notional_cost_usd') }),
    ...(by.question.extras.includes('cost_parts') && { cost_usd_by_part: costParts(cost, figures) }),
    ...(by.question.extras.includes('repriced') && { repriced: repricedFigures(figures) }),
    reasons: Object.fromEntries(
      // In allocated reports a row may have a share of a pool's cost without any of its calls.
      REASON_NAMES.filter(
        (reason) => figures[`${reason}_calls`] !== '0' || figureSteps(figures[`${reason}_cost_usd`]) !== 0n,
      ).map((reason) => [reason, { calls: Number(figures[`${reason}_calls`]), cost_usd: usd(`${reason}_cost_usd`) }]),
    ),
    ...comparedOf(row, 'usage', by),
  }
}

export const TRUST_PARTS = ['eligible', 'held_back', 'provisional', 'estimated', 'unattributed'] as const

/** The dollars of each part: every call is in one of them. */
function costByTrust(
  cost: Quantity<'USD'>,
  figures: AnswerRow['figures'],
): Record<(typeof TRUST_PARTS)[number], string> {
  const usd = (name: FigureName): Quantity<'USD'> => parseSum<'USD'>(figures[name])
  const eligible = usd('eligible_cost_usd')
  const heldBack = usd('withheld_ready_cost_usd')
  const provisional = usd('withheld_provisional_cost_usd')
  const rest: bigint = cost - eligible - heldBack - provisional
  const unattributed: bigint = usd('unattributed_cost_usd') - usd('eligible_unattributed_cost_usd')
  // Shares of a pool's cost are rounded apart from those of its unattributed part, which may be a step more.
  const nobody = unattributed < rest ? unattributed : rest
  return {
    eligible: formatQuantity(eligible),
    held_back: formatQuantity(heldBack),
    provisional: formatQuantity(provisional),
    estimated: formatQuantity((rest - nobody) as Quantity<'USD'>),
    unattributed: formatQuantity(nobody as Quantity<'USD'>),
  }
}

/** The dollars of each part, and those that are no price times a count: stated by the sender, or of no known price. */
function costParts(cost: Quantity<'USD'>, figures: AnswerRow['figures']) {
  const parts = COST_PART_NAMES.map((part) => [part, parseSum<'USD'>(figures[`${part}_part_cost_usd`])] as const)
  const split = parts.reduce((sum, [, usd]) => sum + usd, 0n)
  return {
    ...Object.fromEntries(parts.map(([part, usd]) => [part, formatQuantity(usd)])),
    not_split: formatDifference(cost, split as Quantity<'USD'>),
  }
}

function repricedFigures(figures: AnswerRow['figures']) {
  const [anew, before] = [parseSum<'USD'>(figures.repriced_cost_usd), parseSum<'USD'>(figures.repriced_from_cost_usd)]
  return {
    cost_usd: formatQuantity(anew),
    instead_of_usd: formatQuantity(before),
    change_usd: formatDifference(anew, before),
    calls: Number(figures.repriced_calls),
    calls_left_out: Number(figures.calls) - Number(figures.repriced_calls),
  }
}

/** Shares, unit prices and mean confidence are rounded half to even, here. */
export const SHARE_DECIMALS = 6
export const CONFIDENCE_DECIMALS = 4
/** `cost_confidence` has four decimals more than an amount. */
const CONFIDENCE_STEPS = 10_000n

const textOf = (value: Decimal | null): string | null => (value === null ? null : decimalText(value))

/** Whether the row is the calls that have no service, or no owner: a group of its own, unlike a folded row. */
export function isUnattributed(row: AnswerRow, groupBy: readonly GroupField[]): boolean {
  const { calls, default_pool_calls: inDefaultPool, unattributed_calls: unattributed } = row.figures
  const isAll = (count: string): boolean => calls !== '0' && count === calls
  const has = (name: GroupField): boolean => groupBy.includes(name)
  return !row.isFolded && ((has('service') && isAll(inDefaultPool)) || (has('owner') && isAll(unattributed)))
}

export const labelsOf = (
  row: Pick<AnswerRow, 'labels'>,
  groupBy: readonly GroupField[],
): Readonly<Record<string, string | null>> =>
  Object.fromEntries(
    groupBy.map((name, i) => [name, (isTagField(name) ? row.labels[i] || null : row.labels[i]) ?? null]),
  )

/** The part of its interval that the report covers; all of it where the row has no interval. */
const periodOf = ({ interval }: AnswerRow, { period }: ReportQuestion): Period =>
  interval === undefined
    ? period
    : { fromMs: Math.max(interval.fromMs, period.fromMs), toMs: Math.min(interval.toMs, period.toMs) }

export const shownPeriod = ({ fromMs, toMs }: Period) => ({
  from: new Date(fromMs).toISOString(),
  to: new Date(toMs).toISOString(),
})
