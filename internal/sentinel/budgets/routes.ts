import type { WatchedRecords } from '../../broker/watched-records.js'
import { type ResourceDeps, resource, watchedCollection } from '../../http/resource/resource.js'
import type { Route } from '../../http/route.js'
import { BUDGETS_MAX, changedBudget, type StoredBudget, storedBudget } from './budget.js'
import { BUDGET, type ShownBudget } from './contract.js'

export interface BudgetRoutesDeps extends ResourceDeps {
  readonly budgets: WatchedRecords<StoredBudget>
}

/** `/api/v1/budgets`: ceilings that the sentinel watches. */
export const budgetRoutes = ({ budgets, ...deps }: BudgetRoutesDeps): readonly Route[] =>
  resource(
    {
      ...BUDGET,
      actions: { create: 'budget.create', delete: 'budget.delete' },
      max: BUDGETS_MAX,
      collection: watchedCollection(budgets),
      make(fields, tenantId, newId) {
        const id = newId(BUDGET.prefix)
        return { id, key: id, record: storedBudget(fields, id, tenantId, deps.clock()) }
      },
      update: {
        action: 'budget.update',
        apply: (budget, changes) => changedBudget(budget, changes, deps.clock()),
      },
      show: ({ tenant_id: _, changed_at: __, ...shown }): ShownBudget => shown,
      audited: ({ name, filter, monthly_ceiling_usd }) => ({ name, filter: { ...filter }, monthly_ceiling_usd }),
    },
    deps,
  )
