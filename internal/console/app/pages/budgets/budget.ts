import { hasClosedValues } from '../../../../filters/report-dimensions.js'
import { fieldShown, wordOf } from '../../../figures/words.js'

/** Budgets of `GET /api/v1/budgets`, as far as the console reads them. */
export interface Budget {
  readonly id: string
  readonly name: string
  readonly filter: BudgetFilter
  readonly per: string | null
  readonly period: Span
  readonly time_zone: string
  readonly ceiling_usd: string
  readonly thresholds: readonly number[]
  readonly current?: Current
}

export type Span = 'day' | 'week' | 'month' | 'quarter'

export type BudgetFilter = Readonly<Record<string, string | undefined>> & {
  readonly tags?: never
}

export interface Spending {
  readonly spent_usd: string
  readonly percent: string | null
  readonly forecast_usd: string | null
  readonly forecast_percent: string | null
}

export interface Crossing {
  readonly threshold: number
  readonly crossed_at: string | null
}

export interface Current extends Spending {
  readonly from: string
  readonly to: string
  readonly as_of: string
  readonly crossings?: readonly Crossing[]
  readonly groups?: {
    readonly count: number
    readonly crossed: readonly { readonly threshold: number; readonly count: number }[]
  }
}

export interface Group extends Spending {
  readonly value: string
  readonly crossings: readonly Crossing[]
}

export const BUDGETS_PATH = '/api/v1/budgets'

/** Fields and values of a filter, those of tags as `tags.<key>`: the names that reports know too. */
export function pairsOf(filter: BudgetFilter): readonly (readonly [string, string])[] {
  const { tags, ...fields } = filter as Readonly<Record<string, unknown>>
  return [
    ...Object.entries(fields as Readonly<Record<string, string>>),
    ...Object.entries((tags ?? {}) as Readonly<Record<string, string>>).map(
      ([key, value]) => [`tags.${key}`, value] as const,
    ),
  ]
}

/** Which calls count, in words. */
export const callsOf = (filter: BudgetFilter): string =>
  pairsOf(filter)
    .map(([field, value]) => `${fieldShown(field)} ${hasClosedValues(field) ? wordOf(value) : value}`)
    .join(', ') || 'all calls'
