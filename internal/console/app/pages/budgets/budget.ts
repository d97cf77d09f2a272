import type { Budget, BudgetGroup, PeriodSpending } from 'attribution-service/sdk/api'
import { hasClosedValues } from '../../../../filters/report-dimensions.js'
import { fieldShown, wordOf } from '../../../figures/words.js'

export type { Budget }

export type BudgetFilter = Budget['filter']

export type Crossing = BudgetGroup['crossings'][number]

export type Current = PeriodSpending

export type Group = BudgetGroup

export const BUDGETS_PATH = '/api/v1/budgets'

export const CEILING_PATTERN = String.raw`\d{1,12}(\.\d{1,18})?`

/** Fields and values of a filter, those of tags as `tags.<key>`: the names that reports know too. */
export function pairsOf(filter: BudgetFilter): readonly (readonly [string, string])[] {
  const { tags = {}, ...fields } = filter
  const stated = {
    ...fields,
    ...Object.fromEntries(Object.entries(tags).map(([key, value]) => [`tags.${key}`, value])),
  }
  return Object.entries(stated).flatMap(([field, value]) => (value === undefined ? [] : [[field, value] as const]))
}

/** Which calls count, in words. */
export const callsOf = (filter: BudgetFilter): string =>
  pairsOf(filter)
    .map(([field, value]) => `${fieldShown(field)} ${hasClosedValues(field) ? wordOf(value) : value}`)
    .join(', ') || 'all calls'
