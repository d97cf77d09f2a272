/** A gateway whose only routes are those of API keys, on a real broker; several of them stand for several processes. */
import type { StoredKeyUse } from '../../internal/api-keys/last-use.js'
import { apiKeyRoutes } from '../../internal/api-keys/routes.js'
import type { StoredApiKey } from '../../internal/auth/api-keys.js'
import { ByTenant } from '../../internal/broker/by-tenant.js'
import type { Broker } from '../../internal/broker/connect.js'
import { mirrorBucket } from '../../internal/broker/mirror.js'
import { createPublisher } from '../../internal/broker/publisher.js'
import { bucketRecords, type Records } from '../../internal/broker/records.js'
import { eventPublisher, type PublishEvent } from '../../internal/events/publish.js'
import type { Mutate } from '../../internal/gateway/mutations/mutations.js'
import { createCursorCodec } from '../../internal/gateway/pages.js'
import type { Route } from '../../internal/gateway/route.js'
import { tenantIdsCache } from '../../internal/ids/ids.js'
import { API_KEY_USES, API_KEYS } from '../../streams/buckets.js'
import { SECRET } from './mutation-gateway.js'

export interface KeyGatewayOptions {
  readonly clock?: () => number
  readonly lifeDaysMax?: number
  /** Stands before the real ones: to fail in the middle. */
  readonly records?: (real: Records<StoredApiKey>) => Records<StoredApiKey>
  readonly publishEvent?: (real: PublishEvent) => PublishEvent
}

export const idsOf = tenantIdsCache(SECRET)

export const keyRoutes =
  ({ clock = Date.now, lifeDaysMax = 365, records, publishEvent }: KeyGatewayOptions = {}) =>
  async (mutate: Mutate, broker: Broker): Promise<readonly Route[]> => {
    const bucket = await broker.bucket(API_KEYS)
    const byTenant = new ByTenant<StoredApiKey>()
    const lost = (): void => undefined
    const keys = await mirrorBucket<StoredApiKey>(bucket, lost, (id, key) => byTenant.follow(id, key))
    const useBucket = await broker.bucket(API_KEY_USES)
    const uses = await mirrorBucket<StoredKeyUse>(useBucket, lost)
    const real = bucketRecords<StoredApiKey>(bucket, keys.reached)
    const publish = eventPublisher(createPublisher(broker.connection).publish, idsOf)
    return apiKeyRoutes({
      mutate,
      mode: 'production',
      idsOf,
      records: records?.(real) ?? real,
      findKey: (id) => keys.get(id),
      keysOf: (tenantId) => byTenant.of(tenantId),
      deleteUse: (id) => useBucket.delete(id),
      lastUsedAt: (id) => uses.get(id)?.at ?? null,
      lifeDaysMaxOf: () => lifeDaysMax,
      publishEvent: publishEvent?.(publish) ?? publish,
      cursors: createCursorCodec(SECRET),
      clock,
    })
  }
