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
import { addressRule } from './addresses.js'
import { encodeDelivery, partitionOf } from './delivery.js'
import type { StoredWebhook } from './endpoint.js'
import { createGuard } from './guard.js'
import type { StoredHealth } from './health.js'
import { replayMessageId } from './orders.js'
import { type WebhookRoutesDeps, webhookRoutes } from './routes.js'
import type { TargetRules } from './target-url.js'

/** What the operator allows to be called. */
export interface TargetSettings {
  readonly webhookPorts: readonly number[]
  readonly webhookAllowedNetworks: readonly string[]
  readonly webhookResolvers: readonly string[]
}

/** @param baseUrl of this service, which must not be made to call itself */
export const targetRulesOf = (
  { webhookPorts, webhookAllowedNetworks }: TargetSettings,
  baseUrl: string,
): TargetRules => ({
  ports: webhookPorts,
  takesPrivateNames: takesPrivateNames(webhookAllowedNetworks),
  ownHosts: baseUrl === '' ? [] : [new URL(baseUrl).hostname],
})

export const guardOf = ({ webhookAllowedNetworks, webhookResolvers }: TargetSettings) =>
  createGuard({
    isAllowed: addressRule(webhookAllowedNetworks),
    resolvers: webhookResolvers,
    takesPrivateNames: takesPrivateNames(webhookAllowedNetworks),
  })

const takesPrivateNames = (allowedNetworks: readonly string[]): boolean => allowedNetworks.length > 0

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
  /** Called once when a copy no longer follows its bucket. */
  readonly lost: (cause: unknown) => void
}

/** The routes of webhook endpoints, on the streams and buckets of a broker. */
export async function openWebhookRoutes(deps: OpenWebhooksDeps): Promise<readonly Route[]> {
  const { broker, publish, targets, baseUrl, lost, ...given } = deps
  const { connection, manager } = broker
  const webhooks = await watchRecords<StoredWebhook>(await broker.bucket(WEBHOOKS), lost)
  const healthBucket = await broker.bucket(WEBHOOK_HEALTH)
  const health = await mirrorBucket<StoredHealth>(healthBucket, lost)
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
    async dropRest(id) {
      await manager.streams.purge(RETRIES.name, { filter: retriesOfEndpoint(partitionOf(id), id) })
      await manager.streams.purge(DEADLETTERS.name, { filter: deadLettersSubject(id) })
      // Last: a courier writes none once its copy of the endpoints no longer has this one.
      await healthRecords.delete(id)
    },
  })
}
