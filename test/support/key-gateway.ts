/** A gateway whose only routes are those of API keys, on a real broker; several of them simulate several processes. */

import { apiKeyRoutes } from '../../internal/access/api-keys/api-key-routes.js'
import type { StoredKeyUse } from '../../internal/access/api-keys/last-use.js'
import { delegationChecks } from '../../internal/access/delegation/delegation.js'
import type { StoredApiKey } from '../../internal/auth/api-keys.js'
import type { Broker } from '../../internal/broker/connect.js'
import { mirrorBucket } from '../../internal/broker/mirror.js'
import { createPublisher } from '../../internal/broker/publisher.js'
import { type WatchedRecords, watchRecords } from '../../internal/broker/watched-records.js'
import { eventPublisher, type PublishEvent } from '../../internal/events/publish-event.js'
import type { Mutate } from '../../internal/http/mutations/mutations.js'
import { createCursorCodec } from '../../internal/http/resource/pages.js'
import type { Route } from '../../internal/http/route.js'
import { tenantIdsCache } from '../../internal/ids/ids.js'
import { API_KEY_USES, API_KEYS } from '../../streams/buckets.js'
import { SECRET } from './mutation-gateway.js'
import { tenantRecords } from './tenant-records.js'

export interface KeyGatewayOptions {
  readonly clock?: () => number
  readonly lifeDaysMax?: number
  /** Wraps the real ones, to inject failures. */
  readonly keys?: (real: WatchedRecords<StoredApiKey>) => WatchedRecords<StoredApiKey>
  readonly publishEvent?: (real: PublishEvent) => PublishEvent
}

export const idsOf = tenantIdsCache(SECRET)

export const keyRoutes =
  ({ clock = Date.now, lifeDaysMax = 365, keys, publishEvent }: KeyGatewayOptions = {}) =>
  async (mutate: Mutate, broker: Broker): Promise<readonly Route[]> => {
    const onLost = (): void => undefined
    const real = await watchRecords<StoredApiKey>(await broker.bucket(API_KEYS), onLost)
    const useBucket = await broker.bucket(API_KEY_USES)
    const uses = await mirrorBucket<StoredKeyUse>(useBucket, onLost)
    const publish = eventPublisher(createPublisher(broker.connection).publish, idsOf)
    return apiKeyRoutes({
      mutate,
      mode: 'production',
      idsOf,
      delegationCheckOf: delegationChecks((await tenantRecords(broker)).tenants.read),
      keys: keys?.(real) ?? real,
      deleteUse: (id) => useBucket.delete(id),
      lastUsedAt: (id) => uses.get(id)?.at ?? null,
      lifeDaysMaxOf: () => lifeDaysMax,
      publishEvent: publishEvent?.(publish) ?? publish,
      cursors: createCursorCodec(SECRET),
      clock,
    })
  }
