import type { WatchedRecords } from '../../broker/watched-records.js'
import { type ResourceDeps, resource, watchedCollection } from '../../http/resource/resource.js'
import type { Route } from '../../http/route.js'
import { idOfName } from '../../ids/ids.js'
import { problem } from '../../problems/problem-catalogue.js'
import { changedPool, POOLS_MAX, type StoredPool, storedPool } from './pool.js'
import { POOL, type ShownPool } from './pool-contract.js'

export interface PoolRoutesDeps extends ResourceDeps {
  readonly pools: WatchedRecords<StoredPool>
  /** Whether the name is that of a service in the tenant's directory. */
  readonly isService: (tenantId: string, name: string) => boolean
}

/** `/api/v1/pools`: the tenant's allocation policy, for the pools stage. */
export const poolRoutes = ({ pools, isService, ...deps }: PoolRoutesDeps): readonly Route[] =>
  resource(
    {
      ...POOL,
      actions: { create: 'pool.create', delete: 'pool.delete' },
      max: POOLS_MAX,
      collection: watchedCollection(pools),
      make(fields, tenantId) {
        // Derived from the name: a tenant cannot have two pools of the same name.
        const id = idOfName(POOL.prefix, deps.idsOf(tenantId), 'pools', fields.name)
        return { id, key: id, record: storedPool(fields, id, tenantId, deps.clock()) }
      },
      // Reports could not tell the pool from the service.
      refuse: (tenantId, { name }) =>
        isService(tenantId, name) ? problem('CONFLICT', 'The directory has a service of this name.') : undefined,
      duplicate: 'A pool with this name already exists.',
      update: { action: 'pool.update', apply: changedPool },
      show: ({ tenant_id: _, ...shown }): ShownPool => shown,
      audited: ({ name, owner, priority, rules }) => ({
        name,
        owner,
        priority,
        rules: rules.map((rule) => ({ ...rule })),
      }),
    },
    deps,
  )
