import type { WatchedRecords } from '../../broker/watched-records.js'
import { type ResourceDeps, resource, watchedCollection } from '../../http/resource/resource.js'
import type { Route } from '../../http/route.js'
import { OVERRIDES_MAX, overrideKey, type StoredOverride, storedOverride } from './override.js'
import { PRICE } from './price-contract.js'

/** `/api/v1/prices`: negotiated prices, which replace list prices. */
export const priceRoutes = ({
  prices,
  ...deps
}: ResourceDeps & { readonly prices: WatchedRecords<StoredOverride> }): readonly Route[] =>
  resource(
    {
      ...PRICE,
      actions: { create: 'price.create', delete: 'price.delete' },
      stepUp: 'every_change',
      max: OVERRIDES_MAX,
      collection: watchedCollection(prices, {
        keyOf: overrideKey,
        sortKeyOf: ({ provider, model, valid_from, id }) => [provider, model, valid_from, id],
        order: 'ascending',
      }),
      make(fields, tenantId) {
        const record = storedOverride(fields, tenantId, deps.idsOf(tenantId), deps.clock())
        return { id: record.id, key: overrideKey(tenantId, record.id), record }
      },
      duplicate: 'A price for this provider, model, region and valid_from already exists.',
      show,
      audited: show,
    },
    deps,
  )

const show = ({ tenant_id: _, ...shown }: StoredOverride) => ({ ...shown, usd_per_unit: shown.usd_per_unit ?? null })
