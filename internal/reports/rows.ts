import type { AnswerRow, AnswerTotals } from '../store/queries/reports/answer.js'
import type { DimensionName } from '../store/queries/reports/dimensions.js'
import { type FigureName, REASON_NAMES } from '../store/queries/reports/figures.js'
import { divideHalfEven } from '../units/half-even.js'
import { formatQuantity, parseSum, type Quantity, STEPS_PER_UNIT } from '../units/quantity.js'
import type { Period } from './period.js'
import type { ReportQuestion } from './question.js'

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
  cost_usd: 'unpriced_calls',
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
  /** Whether filters were dropped: the rows are those of a larger group than asked for. */
  readonly isParent: boolean
}

/** Members that rows of all reports have. */
const head = (row: AnswerRow, { question, cohortMin, isParent }: ShownBy) => ({
  ...shownPeriod(periodOf(row, question)),
  ...labelsOf(row, question.groupBy),
  ...(isParent && { scope: 'parent' as const }),
  folded: row.isFolded,
  ...(row.isFolded && { groups: row.groups }),
  people: row.people > 0 && row.people < cohortMin ? null : row.people,
})

export const shownAdoption = (row: AnswerRow, by: ShownBy) => ({ ...head(row, by), calls: Number(row.figures.calls) })

export function shownUsage(row: AnswerRow, by: ShownBy) {
  const { figures } = row
  const cost = parseSum<'USD'>(figures.cost_usd)
  const calls = Number(figures.calls)
  const tokens = BigInt(figures.input_tokens) + BigInt(figures.output_tokens)
  const usd = (name: FigureName): string => formatQuantity(parseSum<'USD'>(figures[name]))
  return {
    ...head(row, by),
    unattributed: isUnattributed(row, by.question.groupBy),
    ...Object.fromEntries(AMOUNTS.map((name) => [name, formatQuantity(parseSum(figures[name]))])),
    ...Object.fromEntries(COUNTS.map((name) => [name, Number(figures[name])])),
    cost_share: quotient(cost, parseSum<'USD'>(by.totals.costUsd), SHARE_DECIMALS),
    cost_usd_per_call: quotient(cost, BigInt(figures.calls) * STEPS_PER_UNIT, PRICE_DECIMALS),
    cost_usd_per_1k_tokens: quotient(cost * 1_000n, tokens * STEPS_PER_UNIT, PRICE_DECIMALS),
    lower_bounds: BOUNDED_FIGURES.filter((name) => Number(figures[MISSING[name]]) > 0),
    confidence: quotient(stepsOf(figures.cost_confidence), cost * CONFIDENCE_STEPS, CONFIDENCE_DECIMALS),
    cost_usd_by_band: {
      chargeback_ready: usd('chargeback_ready_cost_usd'),
      provisional: usd('provisional_cost_usd'),
      estimated: formatQuantity(
        (cost -
          parseSum<'USD'>(figures.chargeback_ready_cost_usd) -
          parseSum<'USD'>(figures.provisional_cost_usd)) as Quantity<'USD'>,
      ),
    },
    unattributed_calls: Number(figures.unattributed_calls),
    unattributed_cost_usd: usd('unattributed_cost_usd'),
    reasons: Object.fromEntries(
      REASON_NAMES.filter((reason) => calls > 0 && figures[`${reason}_calls`] !== '0').map((reason) => [
        reason,
        { calls: Number(figures[`${reason}_calls`]), cost_usd: usd(`${reason}_cost_usd`) },
      ]),
    ),
  }
}

/** Shares, unit prices and mean confidence are rounded half to even, here. */
export const SHARE_DECIMALS = 6
export const PRICE_DECIMALS = 12
export const CONFIDENCE_DECIMALS = 4
/** `cost_confidence` has four decimals more than an amount. */
const CONFIDENCE_STEPS = 10_000n

/** @returns decimal text; null where there is nothing to divide by */
function quotient(numerator: bigint, denominator: bigint, decimals: number): string | null {
  if (denominator <= 0n) return null
  const steps = divideHalfEven((numerator < 0n ? -numerator : numerator) * 10n ** BigInt(decimals), denominator)
  const text = steps.toString().padStart(decimals + 1, '0')
  const fraction = text.slice(-decimals).replace(/0+$/, '')
  const whole = text.slice(0, -decimals)
  return `${numerator < 0n && steps > 0n ? '-' : ''}${whole}${fraction === '' ? '' : `.${fraction}`}`
}

/** Of a decimal with at most 22 digits after the point, as an integer of its last one. */
function stepsOf(text: string): bigint {
  const [whole = '0', fraction = ''] = text.split('.')
  return BigInt(`${whole}${fraction.padEnd(22, '0')}`)
}

/** Whether the row is the calls that have no service, or no owner: a group of its own, unlike a folded row. */
function isUnattributed(row: AnswerRow, groupBy: readonly DimensionName[]): boolean {
  const { calls, default_pool_calls: inDefaultPool, no_owner_calls: withoutOwner } = row.figures
  const isAll = (count: string): boolean => calls !== '0' && count === calls
  const has = (name: DimensionName): boolean => groupBy.includes(name)
  return !row.isFolded && ((has('service') && isAll(inDefaultPool)) || (has('owner') && isAll(withoutOwner)))
}

const labelsOf = (row: AnswerRow, groupBy: readonly DimensionName[]): Readonly<Record<string, string | null>> =>
  Object.fromEntries(groupBy.map((name, i) => [name, row.labels[i] ?? null]))

/** The part of its interval that the report covers; all of it where the row has no interval. */
const periodOf = ({ interval }: AnswerRow, { period }: ReportQuestion): Period =>
  interval === undefined
    ? period
    : { fromMs: Math.max(interval.fromMs, period.fromMs), toMs: Math.min(interval.toMs, period.toMs) }

export const shownPeriod = ({ fromMs, toMs }: Period) => ({
  from: new Date(fromMs).toISOString(),
  to: new Date(toMs).toISOString(),
})
