import type { WatchedRecords } from '../../broker/watched-records.js'
import { type ResourceDeps, resource, watchedCollection } from '../../http/resource/resource.js'
import type { Route } from '../../http/route.js'
import { CONVENTIONS_MAX, type StoredConvention, storedConvention } from './convention.js'
import { USAGE_CONVENTION } from './convention-contract.js'

/** `/api/v1/usage-conventions`: what the counts of senders mean where nothing else tells. */
export const conventionRoutes = ({
  conventions,
  ...deps
}: ResourceDeps & { readonly conventions: WatchedRecords<StoredConvention> }): readonly Route[] =>
  resource(
    {
      ...USAGE_CONVENTION,
      actions: { create: 'usage_convention.create', delete: 'usage_convention.delete' },
      max: CONVENTIONS_MAX,
      collection: watchedCollection(conventions),
      make(fields, tenantId) {
        const record = storedConvention(fields, tenantId, deps.idsOf(tenantId), deps.clock())
        return { id: record.id, key: record.id, record }
      },
      duplicate: 'The sender already has a convention from this time on.',
      show: ({ tenant_id: _, ...shown }) => shown,
      audited: ({ sender, provider, cache, reasoning, valid_from, valid_to }) => ({
        sender,
        provider,
        cache,
        reasoning,
        valid_from,
        valid_to,
      }),
    },
    deps,
  )
