import { isOwner, type Tenant } from '../../auth/tenant.js'
import { refuseEmptyScopes, refuseNoScope } from '../../http/contract/scopes.js'
import type { Mutate } from '../../http/mutations/mutations.js'
import { type RecordRoutesDeps, recordRoutes } from '../../http/resource/record-routes.js'
import type { Route } from '../../http/route.js'
import type { StoredUser } from '../oauth/users.js'
import {
  createUser,
  deleteUser,
  refusalOfCreation,
  refusalOfUpdate,
  shownUser,
  type UserChangesDeps,
  updateUser,
  WHAT,
} from './user-changes.js'
import {
  CREATE_USER,
  createBody,
  DELETE_USER,
  EXAMPLE_NEW,
  EXAMPLE_PATCH,
  GET_USER,
  LIST_USERS,
  PATH,
  UPDATE_USER,
  updateBody,
} from './user-contract.js'

export interface UserRoutesDeps extends UserChangesDeps, RecordRoutesDeps {
  readonly mutate: Mutate
  /** From the copy in memory. */
  readonly findTenant: (id: string) => Tenant | undefined
}

/** Otherwise a stale sign-in could set a password, and sign in again with it. */
const CHANGE = { access: 'admin:config', rateClass: 'control', needsStepUp: true } as const

/** The routes of `/api/v1/users`. */
export function userRoutes(deps: UserRoutesDeps): readonly Route[] {
  const { mutate, users, findUser, findTenant } = deps
  return [
    ...recordRoutes(
      {
        path: PATH,
        prefix: 'usr',
        what: WHAT,
        list: LIST_USERS,
        get: GET_USER,
        of: users.of,
        find: findUser,
        nameOf: ({ username }) => username,
        show: (user: StoredUser) => shownUser(user, isOwner(findTenant(user.tenant_id), user.id)),
      },
      deps,
    ),
    mutate({
      ...CHANGE,
      method: 'post',
      path: PATH,
      action: 'user.create',
      operation: CREATE_USER,
      body: { schema: createBody, example: EXAMPLE_NEW, screen: refuseNoScope },
      refusalOf: (asked) => refusalOfCreation(asked, deps),
      handle: (request) => createUser(request, deps),
    }),
    mutate({
      ...CHANGE,
      method: 'patch',
      path: `${PATH}/:id`,
      action: 'user.update',
      operation: UPDATE_USER,
      body: { schema: updateBody, example: EXAMPLE_PATCH, screen: refuseEmptyScopes },
      refusalOf: (asked) => refusalOfUpdate(asked, deps),
      handle: (request) => updateUser(request, deps),
    }),
    mutate({
      ...CHANGE,
      method: 'del',
      path: `${PATH}/:id`,
      action: 'user.delete',
      operation: DELETE_USER,
      handle: (request) => deleteUser(request, deps),
    }),
  ]
}
