import { z } from 'zod'
import { EVENT_TYPES } from '../events/contract.js'
import { json, type Operation } from '../http/contract/operation.js'
import { PAGE_PARAMETERS, pageOf } from '../http/contract/page.js'
import { REGION_PATTERN } from '../residency/residency.js'
import { exampleId, idInPath, idOf, timeText } from '../text/answer-fields.js'
import { instant } from '../text/plain-text.js'
import { ATTEMPT_OUTCOMES, ATTEMPT_REASONS } from './attempt-outcomes.js'
import { WEBHOOK_STATUSES } from './endpoint.js'

/** What the routes of webhook endpoints take and promise (spec 2.7, 6.2; design section 9). */

const eventTypes = () => z.array(z.enum(EVENT_TYPES)).min(1).max(EVENT_TYPES.length)
/** Whatever is wrong with an address has a code of its own (`WEBHOOK_URL_REJECTED`), so that any text passes here. */
const url = () => z.string().min(1).max(8_192)

export const createBody = z
  .object({
    url: url().meta({ description: 'https, on an allowed port, of a host that has public addresses only.' }),
    events: eventTypes(),
    residency_region: z
      .string()
      .regex(REGION_PATTERN, 'must be a region in lower case, such as eu-central-1')
      .nullish()
      .meta({
        description: "Where what is sent goes. The tenant's own region when absent; null: nobody knows.",
      }),
  })
  .meta({ id: 'NewWebhook' })
export type CreateBody = z.infer<typeof createBody>

export const changeBody = z.strictObject({ events: eventTypes() }).meta({ id: 'WebhookChanges' })
export type ChangeBody = z.infer<typeof changeBody>

export const verifyBody = z
  .strictObject({
    challenge: z.string().min(1).max(256).nullish().meta({
      description: 'What the receiver was sent. Without it a new challenge is sent.',
    }),
  })
  .meta({ id: 'WebhookVerification' })
export type VerifyBody = z.infer<typeof verifyBody>

export const replayBody = z
  .strictObject({
    event_id: idOf('evt').max(64).optional(),
    from_sequence: z.int().min(1).optional(),
    to_sequence: z.int().min(1).optional().meta({ description: 'The last one; without it the newest of now.' }),
    from: instant().optional(),
    to: instant().optional().meta({ description: 'Before; without it until now.' }),
    dead_letters: z.literal(true).optional(),
  })
  .meta({
    id: 'WebhookReplay',
    description: 'One of: an event, a range of sequences, a range of time, the dead letters.',
  })
export type ReplayBody = z.infer<typeof replayBody>

export const HEALTH_STATUSES = ['unknown', 'healthy', 'failing'] as const

export const webhookHealth = z
  .object({
    status: z.enum(HEALTH_STATUSES).meta({ description: '`failing`: the last attempt was not acknowledged.' }),
    consecutive_failures: z.int().min(0),
    last_success_at: timeText().nullable(),
    last_failure_at: timeText().nullable(),
    last_failure: z.object({ reason: z.enum(ATTEMPT_REASONS), response_status: z.int().nullable() }).nullable(),
  })
  .meta({ id: 'WebhookHealth', description: 'How deliveries went last; to within some seconds.' })
export type ShownHealth = z.infer<typeof webhookHealth>

const webhook = z
  .object({
    id: idOf('whk'),
    url: z.string(),
    events: z.array(z.enum(EVENT_TYPES)),
    status: z.enum(WEBHOOK_STATUSES),
    residency_region: z.string().nullable(),
    created_at: timeText(),
    verified_at: timeText().nullable(),
    secret_rotated_at: timeText().meta({ description: 'When the newest secret was made.' }),
    previous_secret_expires_at: timeText().nullable().meta({
      description: 'Until then deliveries are signed with the secret before it, too.',
    }),
    health: webhookHealth,
  })
  .meta({ id: 'Webhook' })
export type ShownWebhook = z.infer<typeof webhook>

const withSecret = webhook
  .extend({
    signing_secret: z
      .string()
      .meta({ description: 'Keys the signature of deliveries, as it stands. Shown this once.' }),
  })
  .meta({ id: 'WebhookWithSecret' })

const replayed = z
  .object({ webhook_id: idOf('whk'), status: z.literal('queued'), selection: z.object(replayBody.shape) })
  .meta({ id: 'QueuedReplay' })

const attempt = z
  .object({
    delivery_id: idOf('dlv').meta({ description: 'One an event and endpoint, and one a replay.' }),
    event_id: idOf('evt'),
    event_type: z.enum(EVENT_TYPES),
    sequence: z.int().min(0),
    attempt: z.int().min(1),
    attempted_at: timeText(),
    response_status: z.int().nullable().meta({ description: 'Null: there was no answer.' }),
    latency_ms: z.int().min(0),
    outcome: z.enum(ATTEMPT_OUTCOMES).meta({
      description: '`retried`: another attempt follows. `dead_lettered`: it was the last.',
    }),
    reason: z.enum(ATTEMPT_REASONS).nullable().meta({ description: 'Why it was not acknowledged.' }),
    next_attempt_at: timeText().nullable(),
    replayed: z.boolean(),
  })
  .meta({ id: 'DeliveryAttempt' })
export type ShownAttempt = z.infer<typeof attempt>

export const EXAMPLE_NEW: CreateBody = {
  url: 'https://hooks.example.com/attribution',
  events: ['budget.threshold.crossed', 'export.completed'],
}
export const EXAMPLE_CHANGES: ChangeBody = { events: ['budget.threshold.crossed'] }
export const EXAMPLE_VERIFICATION: VerifyBody = {}
export const EXAMPLE_REPLAY: ReplayBody = { from_sequence: 1, to_sequence: 500 }

const EXAMPLE_WEBHOOK: ShownWebhook = {
  id: exampleId('whk'),
  url: 'https://hooks.example.com/attribution',
  events: ['budget.threshold.crossed', 'export.completed'],
  status: 'verified',
  residency_region: null,
  created_at: '2026-11-20T09:30:00.000Z',
  verified_at: '2026-11-20T09:30:04.120Z',
  secret_rotated_at: '2026-11-20T09:30:00.000Z',
  previous_secret_expires_at: null,
  health: {
    status: 'healthy',
    consecutive_failures: 0,
    last_success_at: '2026-11-21T09:30:00.000Z',
    last_failure_at: null,
    last_failure: null,
  },
}
const EXAMPLE_PENDING: ShownWebhook = {
  ...EXAMPLE_WEBHOOK,
  status: 'pending',
  verified_at: null,
  health: { ...EXAMPLE_WEBHOOK.health, status: 'unknown', last_success_at: null },
}
const SECRET = { signing_secret: 'whsec_...' }

const EXAMPLE_ATTEMPT: ShownAttempt = {
  delivery_id: exampleId('dlv'),
  event_id: exampleId('evt'),
  event_type: 'budget.threshold.crossed',
  sequence: 4711,
  attempt: 1,
  attempted_at: '2026-11-21T09:30:00.000Z',
  response_status: 503,
  latency_ms: 84,
  outcome: 'retried',
  reason: 'status',
  next_attempt_at: '2026-11-21T09:30:07.310Z',
  replayed: false,
}

export const PATH = '/api/v1/webhooks'

const tag = 'Webhooks'
const parameters = { id: idInPath('whk', 'id of the endpoint.') }

export const LIST_WEBHOOKS: Operation = {
  id: 'listWebhooks',
  tag,
  summary: 'The webhook endpoints of the tenant, the newest first',
  query: PAGE_PARAMETERS,
  replies: {
    200: {
      description: 'A page.',
      contents: json(pageOf(webhook), { data: [EXAMPLE_WEBHOOK], page: { limit: 50, has_more: false } }),
    },
  },
}

export const GET_WEBHOOK: Operation = {
  id: 'getWebhook',
  tag,
  summary: 'One webhook endpoint, and how its deliveries went last',
  parameters,
  replies: { 200: { description: 'The endpoint.', contents: json(webhook, EXAMPLE_WEBHOOK) } },
}

export const CREATE_WEBHOOK: Operation = {
  id: 'createWebhook',
  tag,
  summary: 'Register a webhook endpoint',
  description:
    'The endpoint is pending and gets one event, `webhook.verification`, whatever it subscribes to. Once it answers that ' +
    'with a 2xx and a JSON object that holds the `challenge`, it is verified and gets the events of its types from then on.',
  problems: ['WEBHOOK_URL_REJECTED', 'RESIDENCY_BLOCKED', 'CONFLICT'],
  replies: {
    201: {
      description: 'The endpoint, with its secret.',
      contents: json(withSecret, { ...EXAMPLE_PENDING, ...SECRET }),
    },
  },
}

export const CHANGE_WEBHOOK: Operation = {
  id: 'updateWebhook',
  tag,
  summary: "Change an endpoint's event types",
  description:
    'Its address stays; another address is another endpoint. What waits for another attempt still arrives, whatever its type.',
  parameters,
  replies: { 200: { description: 'As it is now.', contents: json(webhook, EXAMPLE_WEBHOOK) } },
}

export const DELETE_WEBHOOK: Operation = {
  id: 'deleteWebhook',
  tag,
  summary: 'Remove a webhook endpoint',
  description: 'Nothing is sent to it any more, and what waited for it is dropped. Its delivery log stays.',
  parameters,
  replies: { 204: { description: 'It is gone.' } },
}

export const VERIFY_WEBHOOK: Operation = {
  id: 'verifyWebhook',
  tag,
  summary: 'Send a new challenge, or confirm one',
  description:
    'Without `challenge` a new one is sent and the one before is good no more. With it the endpoint is verified, as if it ' +
    'had answered: for a receiver that logs what it gets and answers nothing.',
  parameters,
  problems: ['CONFLICT', 'VALIDATION_FAILED', 'RESIDENCY_BLOCKED'],
  replies: {
    200: { description: 'It is verified.', contents: json(webhook, EXAMPLE_WEBHOOK) },
    202: { description: 'A new challenge is on its way.', contents: json(webhook, EXAMPLE_PENDING) },
  },
}

export const ROTATE_WEBHOOK_SECRET: Operation = {
  id: 'rotateWebhookSecret',
  tag,
  summary: "Replace an endpoint's signing secret",
  description: 'For 24 hours deliveries are signed with both: `Service-Signature` then has a `v1` of each.',
  parameters,
  problems: ['CONFLICT'],
  replies: {
    200: {
      description: 'The endpoint, with the new secret.',
      contents: json(withSecret, { ...EXAMPLE_WEBHOOK, ...SECRET }),
    },
  },
}

export const REPLAY_WEBHOOK: Operation = {
  id: 'replayWebhook',
  tag,
  summary: 'Deliver events once more',
  description:
    'An event by its id, of whatever type; those of a range that the endpoint subscribes to; or its dead letters, which ' +
    'are then no dead letters any more. They keep their `id`, `sequence` and `created_at`, say `"replayed": true`, carry ' +
    '`Service-Replayed: true` and are signed anew. Events are kept for 30 days, or for as long as the log of the instance lasts; ' +
    '`attribution.materialized` goes there only while some verified endpoint of the tenant subscribes to it.',
  parameters,
  problems: ['CONFLICT', 'RESIDENCY_BLOCKED'],
  replies: {
    202: {
      description: 'They are on their way.',
      contents: json(replayed, { webhook_id: exampleId('whk'), status: 'queued', selection: EXAMPLE_REPLAY }),
    },
  },
}

export const LIST_DELIVERIES: Operation = {
  id: 'listDeliveries',
  tag,
  summary: 'The attempts to deliver to an endpoint, the newest first',
  description: 'Kept for 400 days, also where the endpoint was removed.',
  parameters,
  query: {
    ...PAGE_PARAMETERS,
    event_id: idOf('evt').optional().meta({ description: 'Only of this event.' }),
    event_type: z.enum(EVENT_TYPES).optional().meta({ description: 'Only of this type.' }),
    outcome: z.enum(ATTEMPT_OUTCOMES).optional().meta({ description: 'Only with this outcome.' }),
    from: timeText().optional().meta({ description: 'Attempted at or after.' }),
    to: timeText().optional().meta({ description: 'Attempted before.' }),
  },
  replies: {
    200: {
      description: 'A page of attempts.',
      contents: json(pageOf(attempt), { data: [EXAMPLE_ATTEMPT], page: { limit: 50, has_more: false } }),
    },
  },
}
