import { z } from 'zod'
import { DECIMAL_TEXT, name } from '../../text/plain-text.js'
import { parseQuantity, type Quantity } from '../../units/quantity.js'

/** A ceiling on what calls may cost in a UTC month (design section 10). */

/** Budgets of a tenant. */
export const BUDGETS_MAX = 500

/** Percent of the ceiling at which a budget tells, in order (spec 6.1). */
export const THRESHOLDS = [75, 100, 150] as const
export type Threshold = (typeof THRESHOLDS)[number]

/** Which calls count: those that meet all that it names; all when it names none. */
export interface BudgetFilter {
  readonly owner?: string
  readonly service?: string
  readonly provider?: string
}
export const FILTERED = ['owner', 'service', 'provider'] as const satisfies readonly (keyof BudgetFilter)[]

/** As it is kept, under its id in the bucket `budgets`. */
export interface StoredBudget {
  readonly id: string
  readonly tenant_id: string
  readonly name: string
  readonly filter: BudgetFilter
  /** Decimal text, above 0. */
  readonly monthly_ceiling_usd: string
  readonly created_at: string
  /** When its ceiling or filter became another; absent when neither has. */
  readonly changed_at?: string
}

const filter = z
  .strictObject({ owner: name().nullish(), service: name().nullish(), provider: name().nullish() })
  .meta({ description: 'Which calls count: those that meet all that it names; all when it names nothing.' })
const ceiling = () =>
  z
    .string()
    .regex(DECIMAL_TEXT)
    .refine((text) => (parseQuantity(text) ?? 0n) > 0n, 'must be above 0')
    .meta({ description: 'USD of a calendar month (UTC).', examples: ['2500.00'] })

export const budgetFields = z.object({ name: name(), filter: filter.nullish(), monthly_ceiling_usd: ceiling() })
export type BudgetFields = z.infer<typeof budgetFields>

export const budgetChanges = z.strictObject({
  name: name().optional(),
  filter: filter.nullish(),
  monthly_ceiling_usd: ceiling().optional(),
})
export type BudgetChanges = z.infer<typeof budgetChanges>

export const storedBudget = (fields: BudgetFields, id: string, tenantId: string, nowMs: number): StoredBudget => ({
  id,
  tenant_id: tenantId,
  name: fields.name,
  filter: storedFilter(fields.filter),
  monthly_ceiling_usd: fields.monthly_ceiling_usd,
  created_at: new Date(nowMs).toISOString(),
})

export function changedBudget(budget: StoredBudget, changes: BudgetChanges, nowMs: number): StoredBudget {
  const changed: StoredBudget = {
    ...budget,
    name: changes.name ?? budget.name,
    filter: changes.filter === undefined ? budget.filter : storedFilter(changes.filter),
    monthly_ceiling_usd: changes.monthly_ceiling_usd ?? budget.monthly_ceiling_usd,
  }
  const countsAlike =
    ceilingOf(changed) === ceilingOf(budget) &&
    FILTERED.every((field) => changed.filter[field] === budget.filter[field])
  return countsAlike ? changed : { ...changed, changed_at: new Date(nowMs).toISOString() }
}

const storedFilter = (stated: BudgetFields['filter']): BudgetFilter =>
  Object.fromEntries(FILTERED.flatMap((field) => (stated?.[field] == null ? [] : [[field, stated[field]]])))

export const ceilingOf = ({ monthly_ceiling_usd }: StoredBudget): Quantity<'USD'> => {
  const ceiling = parseQuantity<'USD'>(monthly_ceiling_usd)
  if (ceiling === undefined) throw new Error('a budget without a ceiling')
  return ceiling
}

/** Since when it has counted as it does now; milliseconds since the epoch. */
export const countsSinceMs = ({ changed_at, created_at }: StoredBudget): number => Date.parse(changed_at ?? created_at)

/** Thresholds that so much reaches, in order. Exact. */
export const reachedThresholds = (spent: Quantity<'USD'>, ceiling: Quantity<'USD'>): Threshold[] =>
  THRESHOLDS.filter((percent) => spent * 100n >= ceiling * BigInt(percent))
