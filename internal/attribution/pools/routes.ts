import type { WatchedRecords } from '../../broker/watched-records.js'
import type { MutationRequest, Reply } from '../../gateway/mutations/mutation.js'
import type { Mutate } from '../../gateway/mutations/mutations.js'
import { noSuch, refusalOfId } from '../../gateway/own-id.js'
import { type RecordRoutesDeps, recordRoutes } from '../../gateway/record-routes.js'
import type { Route } from '../../gateway/route.js'
import { idOfName } from '../../ids/ids.js'
import { type Problem, problem } from '../../problems/catalogue.js'
import {
  CREATE_POOL,
  DELETE_POOL,
  EXAMPLE_CHANGES,
  EXAMPLE_FIELDS,
  GET_POOL,
  LIST_POOLS,
  PATH,
  type ShownPool,
  UPDATE_POOL,
} from './contract.js'
import {
  changedPool,
  POOLS_MAX,
  type PoolChanges,
  type PoolFields,
  poolChanges,
  poolFields,
  type StoredPool,
  storedPool,
} from './pool.js'

export interface PoolRoutesDeps extends RecordRoutesDeps {
  readonly mutate: Mutate
  readonly pools: WatchedRecords<StoredPool>
}

const CHANGE = { access: 'admin:config', rateClass: 'control' } as const
const WHAT = 'pool'

/** `/api/v1/pools`: the tenant's allocation policy, for stage C. */
export function poolRoutes(deps: PoolRoutesDeps): readonly Route[] {
  const { mutate, pools } = deps
  return [
    ...recordRoutes(
      {
        path: PATH,
        prefix: 'pool',
        what: WHAT,
        list: LIST_POOLS,
        get: GET_POOL,
        of: pools.of,
        find: pools.get,
        show,
      },
      deps,
    ),
    mutate({
      ...CHANGE,
      method: 'post',
      path: PATH,
      action: 'pool.create',
      operation: CREATE_POOL,
      body: { schema: poolFields, example: EXAMPLE_FIELDS },
      handle: (request) => create(request, deps),
    }),
    mutate({
      ...CHANGE,
      method: 'patch',
      path: `${PATH}/:id`,
      action: 'pool.update',
      operation: UPDATE_POOL,
      body: { schema: poolChanges, example: EXAMPLE_CHANGES },
      handle: (request) => update(request, deps),
    }),
    mutate({
      ...CHANGE,
      method: 'del',
      path: `${PATH}/:id`,
      action: 'pool.delete',
      operation: DELETE_POOL,
      handle: (request) => remove(request, deps),
    }),
  ]
}

/** The id comes from the name, so that a tenant has no two pools of one name. */
async function create(
  { caller: { tenantId }, body, isRepeat }: MutationRequest<PoolFields>,
  { pools, idsOf, clock }: PoolRoutesDeps,
): Promise<Reply | Problem> {
  const id = idOfName('pool', idsOf(tenantId), 'pools', body.name)
  if (pools.get(id) === undefined && pools.countOf(tenantId) >= POOLS_MAX) {
    return problem('CONFLICT', `There are ${POOLS_MAX} pools, as many as there may be.`)
  }
  const pool = storedPool(body, id, tenantId, clock())
  const found = await pools.createOnce(id, pool)
  const wasMadeBefore = isRepeat && isSame(found, pool)
  if (found !== pool && !wasMadeBefore) return problem('CONFLICT', 'There is a pool of this name.')
  return { status: 201, body: show(found), location: `${PATH}/${id}`, target: id, changes: { after: audited(found) } }
}

const isSame = (one: StoredPool, other: StoredPool): boolean =>
  JSON.stringify({ ...one, created_at: '' }) === JSON.stringify({ ...other, created_at: '' })

async function update(
  { caller: { tenantId }, body, parameter: id }: MutationRequest<PoolChanges>,
  { pools, idsOf }: PoolRoutesDeps,
): Promise<Reply | Problem> {
  const refusal = refusalOfId('pool', id, idsOf(tenantId), WHAT)
  if (refusal !== undefined) return refusal
  let before: StoredPool | undefined
  const after = await pools.change(id, (pool) => {
    before = pool
    return changedPool(pool, body)
  })
  if (after === undefined || before === undefined) return noSuch(WHAT)
  return { status: 200, body: show(after), changes: { before: audited(before), after: audited(after) } }
}

async function remove(
  { caller: { tenantId }, parameter: id, isRepeat }: MutationRequest<undefined>,
  { pools, idsOf }: PoolRoutesDeps,
): Promise<Reply | Problem> {
  const refusal = refusalOfId('pool', id, idsOf(tenantId), WHAT)
  if (refusal !== undefined) return refusal
  const before = pools.get(id)
  const isDeleted = await pools.delete(id)
  if (!isDeleted && !isRepeat) return noSuch(WHAT)
  return { status: 204, ...(before !== undefined && { changes: { before: audited(before) } }) }
}

const show = ({ tenant_id: _, ...shown }: StoredPool): ShownPool => shown

const audited = ({ name, owner, priority, rules }: StoredPool) => ({
  name,
  owner,
  priority,
  rules: rules.map((rule) => ({ ...rule })),
})
