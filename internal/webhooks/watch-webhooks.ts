import { WEBHOOKS } from '../../streams/buckets.js'
import { ByTenant } from '../broker/by-tenant.js'
import type { Broker } from '../broker/connect.js'
import { mirrorBucket } from '../broker/mirror.js'
import { bucketRecords } from '../broker/records.js'
import { watchRecords } from '../broker/watched-records.js'
import type { StoredWebhook } from './endpoint.js'

/** All webhook endpoints: a copy in memory, and the records of their bucket. */
export async function watchWebhooks(broker: Broker, onLost: (cause: unknown) => void) {
  const bucket = await broker.bucket(WEBHOOKS)
  const byTenant = new ByTenant<StoredWebhook>()
  const mirror = await mirrorBucket<StoredWebhook>(bucket, onLost, (id, webhook) => byTenant.follow(id, webhook))
  return {
    find: mirror.get,
    records: bucketRecords<StoredWebhook>(bucket, mirror.reached),
    /**
     * Waits until the copy holds all writes before this call: an event goes to the endpoints of its time, or later
     * ones.
     */
    async current() {
      const { state } = (await bucket.status()).streamInfo
      await mirror.reached(state.last_seq)
      return (tenantId: string) => byTenant.of(tenantId)
    },
    stop: mirror.stop,
  }
}

/**
 * Whether a verified endpoint of a tenant subscribes to a type of event.
 *
 * @param onLost called once when the KV watch is lost
 */
export async function watchSubscriptions(
  broker: Broker,
  onLost: (cause: unknown) => void,
): Promise<(tenantId: string, event: StoredWebhook['events'][number]) => boolean> {
  const webhooks = await watchRecords<StoredWebhook>(await broker.bucket(WEBHOOKS), onLost)
  return (tenantId, event) =>
    [...webhooks.of(tenantId)].some(({ status, events }) => status === 'verified' && events.includes(event))
}
