import type { Exchange } from '../../http/exchange.js'
import { noSuch } from '../../http/resource/own-id.js'
import type { Route } from '../../http/route.js'
import { type Problem, problem } from '../../problems/problem-catalogue.js'
import { decodeFormText } from '../../text/query-string.js'
import { providerConfig, resourceTypes, type ScimBody, schemas } from './scim-contract.js'
import { groupsOf, scimGroupRoutes } from './scim-group-routes.js'
import { listOf } from './scim-messages.js'
import { type ScimDeps, scimCollection, scimRead, scimWithout } from './scim-route.js'
import { scimUserRoutes, usersOf } from './scim-user-routes.js'

/**
 * `/scim/v2`: people and their teams from an identity provider (RFC 7644, a subset: `deploy/docs/directory.md`). Of a
 * user, the name, whether it is active, and the client's own id are kept; of a group, its name, members and that id.
 * All else that a client sends is dropped.
 */
export const scimRoutes = (deps: ScimDeps): readonly Route[] => [
  scimRead('ServiceProviderConfig', (exchange) => unfiltered(exchange, providerConfig(deps.baseUrl))),
  ...described('ResourceTypes', resourceTypes(deps.baseUrl)),
  ...described('Schemas', schemas(deps.baseUrl)),
  ...scimCollection('', (tenantId) => [usersOf(tenantId, deps), groupsOf(tenantId, deps)]),
  ...scimUserRoutes(deps),
  ...scimGroupRoutes(deps),
  scimWithout('get', 'Me'),
  scimWithout('post', 'Bulk'),
]

const described = (path: string, all: readonly (ScimBody & { readonly id: string })[]): readonly Route[] => [
  scimRead(path, (exchange) => unfiltered(exchange, listOf(all))),
  scimRead(`${path}/:id`, ({ parameter }) => {
    const sought = decodeFormText(parameter)?.toLowerCase()
    return all.find(({ id }) => id.toLowerCase() === sought) ?? noSuch(path === 'Schemas' ? 'schema' : 'resource type')
  }),
]

const NO_FILTER = problem('INSUFFICIENT_SCOPE', 'What describes the service cannot be filtered.')

/** RFC 7644 section 4: a filter is refused with 403. */
const unfiltered = ({ query }: Exchange, body: ScimBody): ScimBody | Problem =>
  /(?:^|&)filter=/i.test(query) ? NO_FILTER : body
