import type { CohortScope } from '../auth/tenant.js'
import type { AnswerRow, PreviousRow } from '../store/queries/reports/answer.js'
import type { FigureName } from '../store/queries/reports/figures.js'
import { parseSum } from '../units/quantity.js'
import { type Decimal, decimalText, quotient } from './decimals.js'
import { unitPrices } from './unit-prices.js'

/** A row's figures of the period before (`compare=previous`). */

/** Members of a row of usage that are compared, with the decimals of their sums. */
const SUMS = {
  cost_usd: 18,
  energy_wh: 18,
  carbon_gco2e: 18,
  calls: 0,
  input_tokens: 0,
  output_tokens: 0,
  cached_input_tokens: 0,
  cache_write_tokens: 0,
  reasoning_tokens: 0,
  unpriced_calls: 0,
} as const satisfies Partial<Record<FigureName, number>>
type Sum = keyof typeof SUMS

export const COMPARED_FIGURES = {
  usage: [...(Object.keys(SUMS) as Sum[]), 'people', 'cost_usd_per_call', 'cost_usd_per_1k_tokens'],
  adoption: ['people', 'calls'],
} as const
export type ComparedFigure = (typeof COMPARED_FIGURES)['usage'][number]
export type ReportKind = keyof typeof COMPARED_FIGURES

/** Changes in percent are rounded half to even. */
export const PERCENT_DECIMALS = 2

type Side = Pick<PreviousRow, 'people' | 'figures'>
type Values = Readonly<Record<string, Decimal | null>>

/** @returns no members unless periods are compared; null for a figure that is not shown or has no divisor */
export function comparedOf(row: AnswerRow, kind: ReportKind, by: Cohorts) {
  const { previous } = row
  if (previous === undefined) return {}
  const { compared } = previous
  if (compared === 'not_shown') return { compared, previous: null, change: null, change_percent: null }
  const [now, before] = [valuesOf(row, kind, by), valuesOf(previous, kind, by)]
  const names = COMPARED_FIGURES[kind]
  const each = <T>(of: (name: ComparedFigure) => T) => Object.fromEntries(names.map((name) => [name, of(name)]))
  return {
    compared,
    previous: each((name) => shown(before[name])),
    change: each((name) => shown(difference(now[name], before[name]))),
    change_percent: each((name) => percent(difference(now[name], before[name]), before[name])),
  }
}

interface Cohorts {
  readonly cohortMin: number
  readonly cohortScope: CohortScope
}

function valuesOf({ people, figures }: Side, kind: ReportKind, { cohortMin, cohortScope }: Cohorts): Values {
  const isHidden = cohortScope === 'people' || (people > 0 && people < cohortMin)
  const ofPeople = { people: isHidden ? null : { steps: BigInt(people), decimals: 0 } }
  if (kind === 'adoption') return { ...ofPeople, calls: { steps: BigInt(figures.calls), decimals: 0 } }
  const sums = Object.entries(SUMS).map(([name, decimals]) => {
    const text = figures[name as Sum]
    return [name, { steps: decimals === 0 ? BigInt(text) : parseSum(text), decimals }]
  })
  return { ...ofPeople, ...Object.fromEntries(sums), ...unitPrices(figures) }
}

/** Counts are JSON numbers, amounts and prices decimal text. */
const shown = (value: Decimal | null | undefined): string | number | null =>
  value == null ? null : value.decimals === 0 ? Number(value.steps) : decimalText(value)

const difference = (now: Decimal | null | undefined, before: Decimal | null | undefined): Decimal | null =>
  now == null || before == null ? null : { steps: now.steps - before.steps, decimals: now.decimals }

function percent(change: Decimal | null, before: Decimal | null | undefined): string | null {
  const value = change === null || before == null ? null : quotient(change.steps * 100n, before.steps, PERCENT_DECIMALS)
  return value === null ? null : decimalText(value)
}
