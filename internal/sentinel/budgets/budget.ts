import { z } from 'zod'
import { DECIMAL_TEXT, name } from '../../text/plain-text.js'
import { parseQuantity, type Quantity } from '../../units/quantity.js'

/** A ceiling on the cost of calls in a UTC month (design section 10). */

/** Budgets per tenant. */
export const BUDGETS_MAX = 500

/** Percent of the ceiling at which an event is emitted, ascending (spec 6.1). */
export const THRESHOLDS = [75, 100, 150] as const
export type Threshold = (typeof THRESHOLDS)[number]

/** Selects calls that match all its fields; an empty filter selects all calls. */
export interface BudgetFilter {
  readonly owner?: string
  readonly service?: string
  readonly provider?: string
}
export const FILTERED = ['owner', 'service', 'provider'] as const satisfies readonly (keyof BudgetFilter)[]

/** A budget in the bucket `budgets`, under its id. */
export interface StoredBudget {
  readonly id: string
  readonly tenant_id: string
  readonly name: string
  readonly filter: BudgetFilter
  /** Decimal text, above 0. */
  readonly monthly_ceiling_usd: string
  readonly created_at: string
  /** When its ceiling or filter last changed; absent if neither has. */
  readonly changed_at?: string
}

const filter = z
  .strictObject({ owner: name().nullish(), service: name().nullish(), provider: name().nullish() })
  .meta({ description: 'Selects the calls that match all given fields. Default: all calls.' })
const ceiling = () =>
  z
    .string()
    .regex(DECIMAL_TEXT)
    .refine((text) => (parseQuantity(text) ?? 0n) > 0n, 'must be above 0')
    .meta({ description: 'USD per calendar month (UTC).', examples: ['2500.00'] })

export const budgetFields = z.strictObject({ name: name(), filter: filter.nullish(), monthly_ceiling_usd: ceiling() })
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
  const isSameRule =
    ceilingOf(changed) === ceilingOf(budget) &&
    FILTERED.every((field) => changed.filter[field] === budget.filter[field])
  return isSameRule ? changed : { ...changed, changed_at: new Date(nowMs).toISOString() }
}

const storedFilter = (stated: BudgetFields['filter']): BudgetFilter =>
  Object.fromEntries(FILTERED.flatMap((field) => (stated?.[field] == null ? [] : [[field, stated[field]]])))

export const ceilingOf = ({ monthly_ceiling_usd }: StoredBudget): Quantity<'USD'> => {
  const ceiling = parseQuantity<'USD'>(monthly_ceiling_usd)
  if (ceiling === undefined) throw new Error('a stored budget has no valid ceiling')
  return ceiling
}

/** Since when its current ceiling and filter apply, milliseconds since the epoch. */
export const countsSinceMs = ({ changed_at, created_at }: StoredBudget): number => Date.parse(changed_at ?? created_at)

/** Thresholds that an amount reaches, ascending. Exact. */
export const reachedThresholds = (spent: Quantity<'USD'>, ceiling: Quantity<'USD'>): Threshold[] =>
  THRESHOLDS.filter((percent) => spent * 100n >= ceiling * BigInt(percent))
