import { VIEWS } from '../../../streams/buckets.js'
import type { Broker } from '../../broker/connect.js'
import { type WatchedRecords, watchRecords } from '../../broker/watched-records.js'
import { type ResourceDeps, resource, watchedCollection } from '../../http/resource/resource.js'
import type { Route } from '../../http/route.js'
import {
  changedView,
  isSeenBy,
  leaveViews,
  refuseChange,
  refuseView,
  type StoredView,
  storedView,
  VIEWS_MAX,
} from './view.js'
import { type ShownView, VIEW } from './view-contract.js'

interface ViewRoutesDeps extends ResourceDeps {
  /** The name of a tenant's person, API key or client; undefined when it was deleted. */
  readonly nameOf: (tenantId: string, id: string) => string | undefined
}

interface OpenViews {
  readonly routes: readonly Route[]
  /** @param leaver id of a person who is deleted. @param heir id of the credential that gets what they shared */
  readonly leave: (tenantId: string, leaver: string, heir: string) => Promise<void>
}

/** @param onLost called once when a KV watch is lost */
export async function openViews(
  deps: ViewRoutesDeps & { readonly broker: Broker; readonly onLost: (cause: unknown) => void },
): Promise<OpenViews> {
  const views = await watchRecords<StoredView>(await deps.broker.bucket(VIEWS), deps.onLost)
  return { routes: viewRoutes(views, deps), leave: (...those) => leaveViews(views, ...those) }
}

/** `/api/v1/views`: pages of the console with their parameters, saved for oneself or for all of the tenant. */
const viewRoutes = (views: WatchedRecords<StoredView>, deps: ViewRoutesDeps): readonly Route[] =>
  resource(
    {
      ...VIEW,
      access: 'any',
      actions: { create: 'view.create', delete: 'view.delete' },
      max: VIEWS_MAX,
      collection: watchedCollection(views, { sortKeyOf: ({ name, id }) => [name, id], order: 'ascending' }),
      make(fields, tenantId, newId, owner) {
        const id = newId(VIEW.prefix)
        return { id, key: id, record: storedView(fields, id, { tenantId, owner, nowMs: deps.clock() }) }
      },
      update: { action: 'view.update', apply: changedView },
      refuse: (tenantId, view) => refuseView(view, views.of(tenantId)),
      isSeenBy,
      refuseChange,
      show: ({ tenant_id: tenantId, ...view }): ShownView => ({
        ...view,
        owner_name: deps.nameOf(tenantId, view.owner) ?? null,
      }),
      // The log is read by administrators, who see no private view, and it holds no query of an address.
      audited: ({ name, page, shared }) => (shared ? { name, page, shared } : { shared }),
    },
    deps,
  )
