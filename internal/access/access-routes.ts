import type { Mode } from '../auth/api-keys.js'
import type { RateLimits } from '../auth/rate-limits.js'
import { settingsOf, type Tenant } from '../auth/tenant.js'
import { bucketRecords } from '../broker/records.js'
import type { PublishEvent } from '../events/publish-event.js'
import type { Mutate } from '../http/mutations/mutations.js'
import type { CursorCodec } from '../http/resource/pages.js'
import type { Route } from '../http/route.js'
import type { TenantIds } from '../ids/ids.js'
import { apiKeyRoutes } from './api-keys/api-key-routes.js'
import { clientRoutes } from './clients/client-routes.js'
import { connectorRoutes } from './connectors/connector-routes.js'
import { delegationChecks } from './delegation/delegation.js'
import { identityProviderRoutes, shownId } from './identity-provider/check-routes.js'
import type { RunningAccess } from './open-access.js'
import { sqlUserRoutes } from './sql-users/sql-user-routes.js'
import { settingsRoutes } from './tenants/tenant-routes.js'
import { type UserRoutesDeps, userRoutes } from './users/user-routes.js'

export interface AccessRoutesDeps {
  readonly mutate: Mutate
  readonly mode: Mode
  readonly idsOf: (tenantId: string) => TenantIds
  readonly cursors: CursorCodec
  readonly publishEvent: PublishEvent
  readonly instanceLimits: RateLimits
  readonly onDeleted: UserRoutesDeps['onDeleted']
  readonly clock: () => number
}

/** The routes of who may do what: OAuth, API keys, clients, users, tenant settings and connectors. */
export function accessRoutes(access: RunningAccess, deps: AccessRoutesDeps): readonly Route[] {
  const { oauth, tenants, apiKeys, connectors, residencyRegionOf } = access
  const findTenant = tenants.get
  const tenantRecords = bucketRecords<Tenant>(access.tenantBucket, tenants.reached)
  const delegationCheckOf = delegationChecks(tenantRecords.read)
  const lifeDaysMaxOf = (tenantId: string) => settingsOf(findTenant(tenantId)).api_key_max_lifetime_days
  const shownProviderOf = (tenantId: string) => {
    const provider = oauth.providerOf(tenantId)
    return provider && { ...provider, id: shownId(provider, deps.idsOf(tenantId)) }
  }
  return [
    ...oauth.routes,
    ...apiKeyRoutes({
      ...deps,
      delegationCheckOf,
      keys: apiKeys,
      deleteUse: access.deleteUse,
      lastUsedAt: access.lastUsedAt,
      lifeDaysMaxOf,
    }),
    ...sqlUserRoutes({ ...deps, delegationCheckOf, users: access.sqlUsers, lifeDaysMaxOf }),
    ...clientRoutes({ ...deps, delegationCheckOf, clients: oauth.clients }),
    ...userRoutes({
      ...deps,
      delegationCheckOf,
      users: oauth.users,
      findUser: oauth.findUser,
      tenants: tenantRecords,
      findTenant,
    }),
    ...settingsRoutes({ ...deps, findTenant, tenants: tenantRecords, providerOf: shownProviderOf }),
    ...identityProviderRoutes({ ...deps, ...oauth }),
    ...connectorRoutes({ ...deps, delegationCheckOf, connectors, residencyRegionOf }),
  ]
}
