import { WEBHOOKS } from '../../streams/buckets.js'
import type { Broker } from '../broker/connect.js'
import { watchRecords } from '../broker/watched-records.js'
import type { StoredWebhook } from './endpoint.js'

/**
 * Whether a verified endpoint of a tenant subscribes to a type of event.
 *
 * @param lost called once when the KV watch is lost
 */
export async function watchSubscriptions(
  broker: Broker,
  onLost: (cause: unknown) => void,
): Promise<(tenantId: string, event: StoredWebhook['events'][number]) => boolean> {
  const webhooks = await watchRecords<StoredWebhook>(await broker.bucket(WEBHOOKS), onLost)
  return (tenantId, event) =>
    [...webhooks.of(tenantId)].some(({ status, events }) => status === 'verified' && events.includes(event))
}
