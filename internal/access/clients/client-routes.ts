import { refuseEmptyScopes, refuseNoScope } from '../../http/contract/scopes.js'
import type { Mutate } from '../../http/mutations/mutations.js'
import { type RecordRoutesDeps, recordRoutes } from '../../http/resource/record-routes.js'
import type { Route } from '../../http/route.js'
import {
  type ClientChangesDeps,
  createClient,
  deleteClient,
  refusalOfCreation,
  refusalOfRotation,
  rotateClientSecret,
  shownClient,
  updateClient,
  WHAT,
} from './client-changes.js'
import {
  CREATE_CLIENT,
  createBody,
  DELETE_CLIENT,
  EXAMPLE_NEW,
  EXAMPLE_PATCH,
  EXAMPLE_ROTATION,
  GET_CLIENT,
  LIST_CLIENTS,
  PATH,
  ROTATE_CLIENT_SECRET,
  rotateBody,
  UPDATE_CLIENT,
  updateBody,
} from './client-contract.js'

export interface ClientRoutesDeps extends ClientChangesDeps, RecordRoutesDeps {
  readonly mutate: Mutate
}

/** Otherwise a stale sign-in could create a client, and with it tokens that need no sign-in. */
const CHANGE = { access: 'admin:config', rateClass: 'control', needsStepUp: true } as const

/** The routes of `/api/v1/clients`. */
export function clientRoutes(deps: ClientRoutesDeps): readonly Route[] {
  const { mutate, clients } = deps
  return [
    ...recordRoutes(
      {
        path: PATH,
        prefix: 'cli',
        what: WHAT,
        list: LIST_CLIENTS,
        get: GET_CLIENT,
        of: clients.of,
        find: clients.get,
        show: shownClient,
      },
      deps,
    ),
    mutate({
      ...CHANGE,
      method: 'post',
      path: PATH,
      action: 'client.create',
      operation: CREATE_CLIENT,
      body: { schema: createBody, example: EXAMPLE_NEW, screen: refuseNoScope },
      refusalOf: (asked) => refusalOfCreation(asked, deps),
      handle: (request) => createClient(request, deps),
    }),
    mutate({
      ...CHANGE,
      method: 'patch',
      path: `${PATH}/:id`,
      action: 'client.update',
      operation: UPDATE_CLIENT,
      body: { schema: updateBody, example: EXAMPLE_PATCH, screen: refuseEmptyScopes },
      handle: (request) => updateClient(request, deps),
    }),
    mutate({
      ...CHANGE,
      method: 'post',
      path: `${PATH}/:id/rotate-secret`,
      action: 'client.rotate_secret',
      operation: ROTATE_CLIENT_SECRET,
      body: { schema: rotateBody, example: EXAMPLE_ROTATION, isOptional: true, screen: refuseEmptyScopes },
      refusalOf: (asked) => refusalOfRotation(asked, deps),
      handle: (request) => rotateClientSecret(request, deps),
    }),
    mutate({
      ...CHANGE,
      method: 'del',
      path: `${PATH}/:id`,
      action: 'client.delete',
      operation: DELETE_CLIENT,
      handle: (request) => deleteClient(request, deps),
    }),
  ]
}
