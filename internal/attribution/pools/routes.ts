import type { WatchedRecords } from '../../broker/watched-records.js'
import type { MutationRequest, Reply } from '../../http/mutations/mutation.js'
import type { Mutate } from '../../http/mutations/mutations.js'
import { removeRecord, updateRecord } from '../../http/resource/record-changes.js'
import { type RecordRoutesDeps, recordRoutes } from '../../http/resource/record-routes.js'
import type { Route } from '../../http/route.js'
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
  const kind = { prefix: 'pool', what: WHAT, records: pools, idsOf: deps.idsOf, audited: audited } as const
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
      handle: (request) => updateRecord(request, (record) => changedPool(record, request.body), show, kind),
    }),
    mutate({
      ...CHANGE,
      method: 'del',
      path: `${PATH}/:id`,
      action: 'pool.delete',
      operation: DELETE_POOL,
      handle: (request) => removeRecord(request, kind),
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

const show = ({ tenant_id: _, ...shown }: StoredPool): ShownPool => shown

const audited = ({ name, owner, priority, rules }: StoredPool) => ({
  name,
  owner,
  priority,
  rules: rules.map((rule) => ({ ...rule })),
})
