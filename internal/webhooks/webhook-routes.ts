import type { Mutate } from '../http/mutations/mutations.js'
import { type RecordRoutesDeps, recordRoutes } from '../http/resource/record-routes.js'
import type { Route } from '../http/route.js'
import { type DeliveryRoutesDeps, deliveryRoutes } from './delivery-routes.js'
import type { StoredWebhook } from './endpoint.js'
import { type ReplayDeps, replayWebhook } from './replay-request.js'
import { shownWebhook } from './show-webhook.js'
import {
  changeWebhook,
  createWebhook,
  deleteWebhook,
  rotateSecret,
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

export interface WebhookRoutesDeps extends WebhookChangesDeps, ReplayDeps, DeliveryRoutesDeps, RecordRoutesDeps {
  readonly webhooks: WebhookChangesDeps['webhooks']
  readonly mutate: Mutate
}

const MANAGED = { access: 'webhooks:manage', rateClass: 'control' } as const

/** All routes under `/api/v1/webhooks`. */
export function webhookRoutes(deps: WebhookRoutesDeps): readonly Route[] {
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
