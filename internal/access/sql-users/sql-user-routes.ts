import type { StoredSqlUser } from '../../auth/sql-users.js'
import type { Mutate } from '../../http/mutations/mutations.js'
import { type RecordRoutesDeps, recordRoutes } from '../../http/resource/record-routes.js'
import type { Route } from '../../http/route.js'
import {
  createSqlUser,
  refusalOfCreation,
  revokeSqlUser,
  type SqlUserChangesDeps,
  shownSqlUser,
  WHAT,
} from './sql-user-changes.js'
import {
  CREATE_SQL_USER,
  createBody,
  EXAMPLE_NEW,
  GET_SQL_USER,
  LIST_SQL_USERS,
  PATH,
  REVOKE_SQL_USER,
} from './sql-user-contract.js'

export interface SqlUserRoutesDeps extends SqlUserChangesDeps, RecordRoutesDeps {
  readonly mutate: Mutate
}

const CHANGE = { access: 'admin:config', rateClass: 'control', needsStepUp: true } as const

/** The routes of `/api/v1/sql-users`: who may read a tenant's records by SQL (`deploy/docs/sql.md`). */
export function sqlUserRoutes(deps: SqlUserRoutesDeps): readonly Route[] {
  const { mutate, users, clock } = deps
  return [
    ...recordRoutes(
      {
        path: PATH,
        prefix: 'sql',
        what: WHAT,
        list: LIST_SQL_USERS,
        get: GET_SQL_USER,
        of: users.of,
        find: users.get,
        show: (user: StoredSqlUser) => shownSqlUser(user, clock()),
      },
      deps,
    ),
    mutate({
      ...CHANGE,
      method: 'post',
      path: PATH,
      action: 'sql_user.create',
      operation: CREATE_SQL_USER,
      body: { schema: createBody, example: EXAMPLE_NEW },
      refusalOf: (asked) => refusalOfCreation(asked, deps),
      handle: (request) => createSqlUser(request, deps),
    }),
    mutate({
      ...CHANGE,
      method: 'del',
      path: `${PATH}/:id`,
      action: 'sql_user.revoke',
      operation: REVOKE_SQL_USER,
      handle: (request) => revokeSqlUser(request, deps),
    }),
  ]
}
