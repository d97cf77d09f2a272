import type { Route } from '../../http/route.js'
import { PROVIDER_CONFIG, RESOURCE_TYPES, SCHEMAS } from './scim-contract.js'
import { scimGroupRoutes } from './scim-group-routes.js'
import { listOf } from './scim-messages.js'
import { type ScimDeps, scimRead } from './scim-route.js'
import { scimUserRoutes } from './scim-user-routes.js'

/**
 * `/scim/v2`: identities and their teams from an identity provider (RFC 7644, a subset: `deploy/docs/directory.md`). Of
 * a user, the name and whether it is active are kept; of a group, its name and members. All else that a client sends is
 * dropped.
 */
export const scimRoutes = (deps: ScimDeps): readonly Route[] => [
  scimRead('ServiceProviderConfig', () => PROVIDER_CONFIG),
  scimRead('ResourceTypes', () => listOf(RESOURCE_TYPES)),
  scimRead('Schemas', () => listOf(SCHEMAS)),
  ...scimUserRoutes(deps),
  ...scimGroupRoutes(deps),
]
