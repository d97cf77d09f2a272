import type { StoredApiKey } from '../../auth/api-keys.js'
import { refuseEmptyScopes, refuseNoScope } from '../../http/contract/scopes.js'
import type { Mutate } from '../../http/mutations/mutations.js'
import { type RecordRoutesDeps, recordRoutes } from '../../http/resource/record-routes.js'
import type { Route } from '../../http/route.js'
import {
  type ApiKeyChangesDeps,
  createKey,
  refusalOfCreation,
  refusalOfRotation,
  revokeKey,
  rotateKey,
  shownApiKey,
  WHAT,
} from './api-key-changes.js'
import {
  CREATE_API_KEY,
  createBody,
  EXAMPLE_NEW,
  EXAMPLE_ROTATION,
  GET_API_KEY,
  LIST_API_KEYS,
  PATH,
  REVOKE_API_KEY,
  ROTATE_API_KEY,
  rotateBody,
} from './api-key-contract.js'

export interface ApiKeyRoutesDeps extends ApiKeyChangesDeps, RecordRoutesDeps {
  readonly mutate: Mutate
  readonly lastUsedAt: (id: string) => string | null
}

const CHANGE = { access: 'admin:config', rateClass: 'control', needsStepUp: true } as const

/** The routes of `/api/v1/api-keys`. */
export function apiKeyRoutes(deps: ApiKeyRoutesDeps): readonly Route[] {
  const { mutate, keys, lastUsedAt, clock } = deps
  return [
    ...recordRoutes(
      {
        path: PATH,
        prefix: 'key',
        what: WHAT,
        list: LIST_API_KEYS,
        get: GET_API_KEY,
        of: keys.of,
        find: keys.get,
        show: (key: StoredApiKey) => shownApiKey(key, lastUsedAt(key.id), clock()),
      },
      deps,
    ),
    mutate({
      ...CHANGE,
      method: 'post',
      path: PATH,
      action: 'api_key.create',
      operation: CREATE_API_KEY,
      body: { schema: createBody, example: EXAMPLE_NEW, screen: refuseNoScope },
      refusalOf: (asked) => refusalOfCreation(asked, deps),
      handle: (request) => createKey(request, deps),
    }),
    mutate({
      ...CHANGE,
      method: 'post',
      path: `${PATH}/:id/rotate`,
      action: 'api_key.rotate',
      operation: ROTATE_API_KEY,
      body: { schema: rotateBody, example: EXAMPLE_ROTATION, isOptional: true, screen: refuseEmptyScopes },
      refusalOf: (asked) => refusalOfRotation(asked, deps),
      handle: (request) => rotateKey(request, deps),
    }),
    mutate({
      ...CHANGE,
      method: 'del',
      path: `${PATH}/:id`,
      action: 'api_key.revoke',
      operation: REVOKE_API_KEY,
      handle: (request) => revokeKey(request, deps),
    }),
  ]
}
