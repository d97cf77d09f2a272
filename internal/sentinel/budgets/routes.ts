import type { WatchedRecords } from '../../broker/watched-records.js'
import type { MutationRequest, Reply } from '../../http/mutations/mutation.js'
import type { Mutate } from '../../http/mutations/mutations.js'
import { removeRecord, updateRecord } from '../../http/resource/record-changes.js'
import { type RecordRoutesDeps, recordRoutes } from '../../http/resource/record-routes.js'
import type { Route } from '../../http/route.js'
import { type Problem, problem } from '../../problems/catalogue.js'
import {
  BUDGETS_MAX,
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
  const kind = { prefix: 'bdg', what: WHAT, records: budgets, idsOf: deps.idsOf, audited: audited } as const
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
      handle: (request) =>
        updateRecord(request, (record) => changedBudget(record, request.body, deps.clock()), show, kind),
    }),
    mutate({
      ...CHANGE,
      method: 'del',
      path: `${PATH}/:id`,
      action: 'budget.delete',
      operation: DELETE_BUDGET,
      handle: (request) => removeRecord(request, kind),
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

const show = ({ tenant_id: _, changed_at: __, ...shown }: StoredBudget): ShownBudget => shown

const audited = ({ name, filter, monthly_ceiling_usd }: StoredBudget) => ({
  name,
  filter: { ...filter },
  monthly_ceiling_usd,
})
