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
import type { Mutate } from '../http/mutations/mutations.js'
import { type RecordRoutesDeps, recordRoutes } from '../http/resource/record-routes.js'
import type { Route } from '../http/route.js'
import { guardOf, type TargetSettings, targetRulesOf } from '../outbound/targets.js'
import { encodeDelivery, partitionOf } from './delivery.js'
import { type DeliveryRoutesDeps, deliveryRoutes } from './delivery-routes.js'
import type { StoredWebhook } from './endpoint.js'
import type { StoredHealth } from './endpoint-health.js'
import { type ReplayDeps, replayWebhook } from './replay-request.js'
import { replayMessageId } from './replayer.js'
import {
  changeWebhook,
  createWebhook,
  deleteWebhook,
  refusalOfEvents,
  rotateSecret,
  shownWebhook,
  verifyWebhook,
  type WebhookChangesDeps,
  WHAT,
} from './webhook-changes.js'
import {
  CHANGE_WEBHOOK,
  CREATE_WEBHOOK,
  changeBody,
  createBody,
  DELETE_WEBHOOK,
  EXAMPLE_CHANGES,
  EXAMPLE_NEW,
  EXAMPLE_REPLAY,
  EXAMPLE_VERIFICATION,
  GET_WEBHOOK,
  LIST_WEBHOOKS,
  PATH,
  REPLAY_WEBHOOK,
  ROTATE_WEBHOOK_SECRET,
  replayBody,
  VERIFY_WEBHOOK,
  verifyBody,
} from './webhook-contract.js'

interface WebhookRoutesDeps extends WebhookChangesDeps, ReplayDeps, DeliveryRoutesDeps, RecordRoutesDeps {
  readonly webhooks: WebhookChangesDeps['webhooks']
  readonly mutate: Mutate
}

const MANAGED = { access: 'webhooks:manage', rateClass: 'control' } as const

/** All routes under `/api/v1/webhooks`. */
function webhookRoutes(deps: WebhookRoutesDeps): readonly Route[] {
  const { mutate, webhooks, healthOf, clock } = deps
  return [
    ...recordRoutes(
      {
        path: PATH,
        prefix: 'whk',
        what: WHAT,
        access: MANAGED.access,
        list: LIST_WEBHOOKS,
        get: GET_WEBHOOK,
        of: webhooks.of,
        find: webhooks.get,
        show: (webhook: StoredWebhook) => shownWebhook(webhook, healthOf(webhook.id), clock()),
      },
      deps,
    ),
    mutate({
      // Only an administrator may decide that events leave the service, and where they go.
      access: 'admin:config',
      rateClass: 'control',
      needsStepUp: true,
      method: 'post',
      path: PATH,
      action: 'webhook.create',
      operation: CREATE_WEBHOOK,
      body: { schema: createBody, example: EXAMPLE_NEW },
      refusalOf: async ({ caller, body }) => refusalOfEvents(body.events, caller),
      handle: (request) => createWebhook(request, deps),
    }),
    mutate({
      ...MANAGED,
      method: 'patch',
      path: `${PATH}/:id`,
      action: 'webhook.update',
      operation: CHANGE_WEBHOOK,
      body: { schema: changeBody, example: EXAMPLE_CHANGES },
      handle: (request) => changeWebhook(request, deps),
    }),
    mutate({
      ...MANAGED,
      needsStepUp: true,
      method: 'del',
      path: `${PATH}/:id`,
      action: 'webhook.delete',
      operation: DELETE_WEBHOOK,
      handle: (request) => deleteWebhook(request, deps),
    }),
    mutate({
      ...MANAGED,
      method: 'post',
      path: `${PATH}/:id/verify`,
      action: 'webhook.verify',
      operation: VERIFY_WEBHOOK,
      body: { schema: verifyBody, example: EXAMPLE_VERIFICATION, isOptional: true },
      handle: (request) => verifyWebhook(request, deps),
    }),
    mutate({
      ...MANAGED,
      needsStepUp: true,
      method: 'post',
      path: `${PATH}/:id/rotate-secret`,
      action: 'webhook.rotate_secret',
      operation: ROTATE_WEBHOOK_SECRET,
      handle: (request) => rotateSecret(request, deps),
    }),
    mutate({
      ...MANAGED,
      method: 'post',
      path: `${PATH}/:id/replay`,
      action: 'webhook.replay',
      operation: REPLAY_WEBHOOK,
      body: { schema: replayBody, example: EXAMPLE_REPLAY },
      handle: (request) => replayWebhook(request, deps),
    }),
    ...deliveryRoutes(deps),
  ]
}

/** What the routes need from elsewhere; everything else comes from the broker's streams and buckets. */
type Given = Pick<
  WebhookRoutesDeps,
  'mutate' | 'listAttempts' | 'masterKeys' | 'idsOf' | 'residencyRegionOf' | 'instanceRegion' | 'cursors' | 'clock'
>

export interface OpenWebhooksDeps extends Given {
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
