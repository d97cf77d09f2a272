/** A gateway whose only routes are those of clients, people and the views that they save, on a real broker. */

import { clientRoutes } from '../../internal/access/clients/client-routes.js'
import { delegationChecks } from '../../internal/access/delegation/delegation.js'
import type { StoredClient } from '../../internal/access/oauth/clients.js'
import { type StoredUser, UserDirectory } from '../../internal/access/oauth/users.js'
import { userRoutes } from '../../internal/access/users/user-routes.js'
import type { Delegation } from '../../internal/auth/tenant.js'
import type { Broker } from '../../internal/broker/connect.js'
import { type WatchedRecords, watchRecords } from '../../internal/broker/watched-records.js'
import { openViews } from '../../internal/console/views/view-routes.js'
import type { Mutate } from '../../internal/http/mutations/mutations.js'
import { createCursorCodec } from '../../internal/http/resource/pages.js'
import type { Route } from '../../internal/http/route.js'
import { CLIENTS, USERS } from '../../streams/buckets.js'
import { idsOf } from './key-gateway.js'
import { SECRET } from './mutation-gateway.js'
import { tenantRecords } from './tenant-records.js'

export interface AccessOptions {
  /** Setting of the tenant, where this is its first gateway. */
  readonly delegation?: Delegation
  /** Wrap the real ones, to inject failures. */
  readonly clients?: (real: WatchedRecords<StoredClient>) => WatchedRecords<StoredClient>
  readonly users?: (real: WatchedRecords<StoredUser>) => WatchedRecords<StoredUser>
}

export const accessRoutes =
  (options: AccessOptions = {}) =>
  async (mutate: Mutate, broker: Broker): Promise<readonly Route[]> => {
    const onLost = (): void => undefined
    const clients = await watchRecords<StoredClient>(await broker.bucket(CLIENTS), onLost)
    const people = new UserDirectory()
    const users = await watchRecords<StoredUser>(await broker.bucket(USERS), onLost, (key, user) => {
      people.follow(key, user)
    })
    const { tenants, findTenant } = await tenantRecords(broker, options.delegation)
    const delegationCheckOf = delegationChecks(tenants.read)
    const deps = { delegationCheckOf, mutate, idsOf, cursors: createCursorCodec(SECRET), clock: Date.now }
    const nameOf = (_: string, id: string) => people.withId(id)?.username
    const views = await openViews({ ...deps, broker, onLost, nameOf })
    return [
      ...views.routes,
      ...clientRoutes({ ...deps, mode: 'production', clients: options.clients?.(clients) ?? clients }),
      ...userRoutes({
        ...deps,
        users: options.users?.(users) ?? users,
        findUser: (id) => people.withId(id),
        tenants,
        findTenant,
        onDeleted: views.leave,
      }),
    ]
  }
