import type { WatchedRecords } from '../../broker/watched-records.js'
import { type ResourceDeps, resource, watchedCollection } from '../../http/resource/resource.js'
import type { Route } from '../../http/route.js'
import { MODEL_NAME } from './model-name-contract.js'
import { NAMES_MAX, type StoredModelName, storedName } from './name.js'

/** `/api/v1/model-names`: the models behind a tenant's own names (deployments, inference profiles, gateway groups). */
export const modelNameRoutes = ({
  names,
  ...deps
}: ResourceDeps & { readonly names: WatchedRecords<StoredModelName> }): readonly Route[] =>
  resource(
    {
      ...MODEL_NAME,
      actions: { create: 'model_name.create', delete: 'model_name.delete' },
      max: NAMES_MAX,
      collection: watchedCollection(names),
      make(fields, tenantId) {
        const record = storedName(fields, tenantId, deps.idsOf(tenantId), deps.clock())
        return { id: record.id, key: record.id, record }
      },
      duplicate: 'This name is already mapped to a model.',
      show: ({ tenant_id: _, ...shown }) => shown,
      audited: ({ provider, name, served_provider, served_model }) => ({
        provider,
        name,
        served_provider,
        served_model,
      }),
    },
    deps,
  )
