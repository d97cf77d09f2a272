import type { WatchedRecords } from '../broker/watched-records.js'
import type { MutationRequest, Reply } from '../gateway/mutations/mutation.js'
import type { Mutate } from '../gateway/mutations/mutations.js'
import { noSuch, refusalOfId } from '../gateway/own-id.js'
import { type RecordRoutesDeps, recordRoutes } from '../gateway/record-routes.js'
import type { Route } from '../gateway/route.js'
import { type Problem, problem } from '../problems/catalogue.js'
import {
  BUDGETS_MAX,
  type BudgetChanges,
  type BudgetFields,
  budgetChanges,
  budgetFields,
  changedBudget,
  type StoredBudget,
  storedBudget,
} from './budget.js'
import {
  CREATE_BUDGET,
  DELETE_BUDGET,
  EXAMPLE_CHANGES,
  EXAMPLE_FIELDS,
  GET_BUDGET,
  LIST_BUDGETS,
  PATH,
  type ShownBudget,
  UPDATE_BUDGET,
} from './contract.js'

export interface BudgetRoutesDeps extends RecordRoutesDeps {
  readonly mutate: Mutate
  readonly budgets: WatchedRecords<StoredBudget>
}

const CHANGE = { access: 'admin:config', rateClass: 'control' } as const
const WHAT = 'budget'

/** `/api/v1/budgets`: ceilings that the sentinel watches. */
export function budgetRoutes(deps: BudgetRoutesDeps): readonly Route[] {
  const { mutate, budgets } = deps
  return [
    ...recordRoutes(
      {
        path: PATH,
        prefix: 'bdg',
        what: WHAT,
        list: LIST_BUDGETS,
        get: GET_BUDGET,
        of: budgets.of,
        find: budgets.get,
        show,
      },
      deps,
    ),
    mutate({
      ...CHANGE,
      method: 'post',
      path: PATH,
      action: 'budget.create',
      operation: CREATE_BUDGET,
      body: { schema: budgetFields, example: EXAMPLE_FIELDS },
      handle: (request) => create(request, deps),
    }),
    mutate({
      ...CHANGE,
      method: 'patch',
      path: `${PATH}/:id`,
      action: 'budget.update',
      operation: UPDATE_BUDGET,
      body: { schema: budgetChanges, example: EXAMPLE_CHANGES },
      handle: (request) => update(request, deps),
    }),
    mutate({
      ...CHANGE,
      method: 'del',
      path: `${PATH}/:id`,
      action: 'budget.delete',
      operation: DELETE_BUDGET,
      handle: (request) => remove(request, deps),
    }),
  ]
}

async function create(
  { caller: { tenantId }, body, newId }: MutationRequest<BudgetFields>,
  { budgets, clock }: BudgetRoutesDeps,
): Promise<Reply | Problem> {
  const id = newId('bdg')
  if (budgets.get(id) === undefined && budgets.countOf(tenantId) >= BUDGETS_MAX) {
    return problem('CONFLICT', `There are ${BUDGETS_MAX} budgets, as many as there may be.`)
  }
  const budget = await budgets.createOnce(id, storedBudget(body, id, tenantId, clock()))
  return { status: 201, body: show(budget), location: `${PATH}/${id}`, target: id, changes: { after: audited(budget) } }
}

async function update(
  { caller: { tenantId }, body, parameter: id }: MutationRequest<BudgetChanges>,
  { budgets, idsOf }: BudgetRoutesDeps,
): Promise<Reply | Problem> {
  const refusal = refusalOfId('bdg', id, idsOf(tenantId), WHAT)
  if (refusal !== undefined) return refusal
  let before: StoredBudget | undefined
  const after = await budgets.change(id, (budget) => {
    before = budget
    return changedBudget(budget, body)
  })
  if (after === undefined || before === undefined) return noSuch(WHAT)
  return { status: 200, body: show(after), changes: { before: audited(before), after: audited(after) } }
}

async function remove(
  { caller: { tenantId }, parameter: id, isRepeat }: MutationRequest<undefined>,
  { budgets, idsOf }: BudgetRoutesDeps,
): Promise<Reply | Problem> {
  const refusal = refusalOfId('bdg', id, idsOf(tenantId), WHAT)
  if (refusal !== undefined) return refusal
  const before = budgets.get(id)
  const isDeleted = await budgets.delete(id)
  if (!isDeleted && !isRepeat) return noSuch(WHAT)
  return { status: 204, ...(before !== undefined && { changes: { before: audited(before) } }) }
}

const show = ({ tenant_id: _, ...shown }: StoredBudget): ShownBudget => shown

const audited = ({ name, filter, monthly_ceiling_usd }: StoredBudget) => ({
  name,
  filter: { ...filter },
  monthly_ceiling_usd,
})
