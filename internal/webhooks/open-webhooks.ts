import { WEBHOOK_HEALTH, WEBHOOKS } from '../../streams/buckets.js'
import { deliveriesWake } from '../../streams/deliveries.js'
import { EVENTS } from '../../streams/events.js'
import {
  DEADLETTERS,
  deadLettersSubject,
  dueSubject,
  REPLAYS_SUBJECT,
  RETRIES,
  retriesOfEndpoint,
} from '../../streams/retries.js'
import type { Broker } from '../broker/connect.js'
import { lastSequenceOf } from '../broker/log.js'
import { mirrorBucket } from '../broker/mirror.js'
import { type Publisher, publishOrThrow } from '../broker/publisher.js'
import { bucketRecords } from '../broker/records.js'
import { watchRecords } from '../broker/watched-records.js'
import type { Route } from '../http/route.js'
import { guardOf, type TargetSettings, targetRulesOf } from '../outbound/targets.js'
import { encodeDelivery, partitionOf } from './delivery.js'
import type { StoredWebhook } from './endpoint.js'
import type { StoredHealth } from './endpoint-health.js'
import { replayMessageId } from './orders.js'
import { type WebhookRoutesDeps, webhookRoutes } from './webhook-routes.js'

type Given =
  | 'mutate'
  | 'listAttempts'
  | 'masterKeys'
  | 'idsOf'
  | 'residencyRegionOf'
  | 'instanceRegion'
  | 'cursors'
  | 'clock'

export interface OpenWebhooksDeps extends Pick<WebhookRoutesDeps, Given> {
  readonly broker: Broker
  readonly publish: Publisher['publish']
  readonly targets: TargetSettings
  readonly baseUrl: string
  /** Called once when the watch of a KV bucket is lost. */
  readonly onLost: (cause: unknown) => void
}

/** The routes of webhook endpoints, backed by a broker's streams and buckets. */
export async function openWebhookRoutes(deps: OpenWebhooksDeps): Promise<readonly Route[]> {
  const { broker, publish, targets, baseUrl, onLost, ...given } = deps
  const { connection, manager } = broker
  const webhooks = await watchRecords<StoredWebhook>(await broker.bucket(WEBHOOKS), onLost)
  const healthBucket = await broker.bucket(WEBHOOK_HEALTH)
  const health = await mirrorBucket<StoredHealth>(healthBucket, onLost)
  const healthRecords = bucketRecords<StoredHealth>(healthBucket, health.reached)
  return webhookRoutes({
    ...given,
    webhooks,
    healthOf: health.get,
    targetRules: targetRulesOf(targets, baseUrl),
    guard: guardOf(targets),
    newestEvent: () => lastSequenceOf(manager, EVENTS.name),
    newestDeadLetter: () => lastSequenceOf(manager, DEADLETTERS.name),
    async deliver(delivery) {
      const partition = partitionOf(delivery.endpointId)
      await publishOrThrow(publish, dueSubject(partition), encodeDelivery(delivery), delivery.id)
      connection.publish(deliveriesWake(partition))
    },
    order: (order) =>
      publishOrThrow(publish, REPLAYS_SUBJECT, Buffer.from(JSON.stringify(order)), replayMessageId(order)),
    async deleteRemains(id) {
      await manager.streams.purge(RETRIES.name, { filter: retriesOfEndpoint(partitionOf(id), id) })
      await manager.streams.purge(DEADLETTERS.name, { filter: deadLettersSubject(id) })
      // Last: a courier stops writing health once its copy of the endpoints no longer has this one.
      await healthRecords.delete(id)
    },
  })
}
