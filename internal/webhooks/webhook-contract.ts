import { z } from 'zod'
import { EVENT_TYPES } from '../events/event-contract.js'
import { json, type Operation } from '../http/contract/operation.js'
import { PAGE_PARAMETERS, pageOf } from '../http/contract/page.js'
import { REGION_PATTERN } from '../residency/residency.js'
import { exampleId, idInPath, idOf, timeText } from '../text/answer-fields.js'
import { instant } from '../text/plain-text.js'
import { rangeParameters } from '../text/time-range.js'
import { ATTEMPT_OUTCOMES, ATTEMPT_REASONS } from './attempt-outcomes.js'
import { WEBHOOK_STATUSES } from './endpoint.js'

/** Requests and responses of the webhook routes. */

const eventTypes = () => z.array(z.enum(EVENT_TYPES)).min(1).max(EVENT_TYPES.length)
/** Any text passes here: an invalid URL has an error code of its own (`WEBHOOK_URL_REJECTED`). */
const url = () => z.string().min(1).max(8_192)

export const createBody = z
  .strictObject({
    url: url().meta({ description: 'https, on an allowed port, of a host with public addresses only.' }),
    events: eventTypes(),
    residency_region: z
      .string()
      .regex(REGION_PATTERN, 'must be a region in lower case, such as eu-central-1')
      .nullish()
      .meta({
        description: "Region of the receiver. Default: the tenant's region; null: unknown.",
      }),
  })
  .meta({ id: 'NewWebhook' })
export type CreateBody = z.infer<typeof createBody>

export const changeBody = z.strictObject({ events: eventTypes() }).meta({ id: 'WebhookChanges' })
export type ChangeBody = z.infer<typeof changeBody>

export const verifyBody = z
  .strictObject({
    challenge: z.string().min(1).max(256).nullish().meta({
      description: 'The challenge that the receiver got. Without it, a new challenge is sent.',
    }),
  })
  .meta({ id: 'WebhookVerification' })
export type VerifyBody = z.infer<typeof verifyBody>

export const replayBody = z
  .strictObject({
    event_id: idOf('evt').max(64).optional(),
    from_sequence: z.int().min(1).optional(),
    to_sequence: z.int().min(1).optional().meta({ description: 'Inclusive. Default: the newest event.' }),
    from: instant().optional(),
    to: instant().optional().meta({ description: 'Exclusive. Default: now.' }),
    dead_letters: z.literal(true).optional(),
  })
  .meta({
    id: 'WebhookReplay',
    description: 'Exactly one of: an event, a range of sequences, a time range, or the dead letters.',
  })
export type ReplayBody = z.infer<typeof replayBody>

const HEALTH_STATUSES = ['unknown', 'healthy', 'failing'] as const

const webhookHealth = z
  .object({
    status: z.enum(HEALTH_STATUSES).meta({ description: '`failing`: the last attempt was not acknowledged.' }),
    consecutive_failures: z.int().min(0),
    last_success_at: timeText().nullable(),
    last_failure_at: timeText().nullable(),
    last_failure: z.object({ reason: z.enum(ATTEMPT_REASONS), response_status: z.int().nullable() }).nullable(),
  })
  .meta({ id: 'WebhookHealth', description: 'State of the latest deliveries, up to a few seconds old.' })
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
    secret_rotated_at: timeText().meta({ description: 'When the newest secret was created.' }),
    previous_secret_expires_at: timeText().nullable().meta({
      description: 'Until then, deliveries are also signed with the previous secret.',
    }),
    health: webhookHealth,
  })
  .meta({ id: 'Webhook' })
export type ShownWebhook = z.infer<typeof webhook>

const withSecret = webhook
  .extend({
    signing_secret: z.string().meta({
      description:
        'Key of the signatures of deliveries, to be given to a library as it is, including its prefix. Shown only once.',
    }),
  })
  .meta({ id: 'WebhookWithSecret' })

const replayed = z
  .object({ webhook_id: idOf('whk'), status: z.literal('queued'), selection: z.object(replayBody.shape) })
  .meta({ id: 'QueuedReplay' })

const attempt = z
  .object({
    delivery_id: idOf('dlv').meta({ description: 'One per event and endpoint, and one more per replay.' }),
    event_id: idOf('evt'),
    event_type: z.enum(EVENT_TYPES),
    sequence: z.int().min(0),
    attempt: z.int().min(1),
    attempted_at: timeText(),
    response_status: z.int().nullable().meta({ description: 'Null: no response.' }),
    latency_ms: z.int().min(0),
    outcome: z.enum(ATTEMPT_OUTCOMES).meta({
      description: '`retried`: another attempt follows. `dead_lettered`: this was the last attempt.',
    }),
    reason: z.enum(ATTEMPT_REASONS).nullable().meta({ description: 'Why the attempt was not acknowledged.' }),
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
const parameters = { id: idInPath('whk', 'Id of the endpoint.') }

export const LIST_WEBHOOKS: Operation = {
  id: 'listWebhooks',
  tag,
  summary: "List the tenant's webhook endpoints, newest first",
  query: PAGE_PARAMETERS,
  replies: {
    200: {
      description: 'A page of endpoints.',
      contents: json(pageOf(webhook), { data: [EXAMPLE_WEBHOOK], page: { limit: 50, has_more: false } }),
    },
  },
}

export const GET_WEBHOOK: Operation = {
  id: 'getWebhook',
  tag,
  summary: 'Get a webhook endpoint and its delivery health',
  parameters,
  replies: { 200: { description: 'The endpoint.', contents: json(webhook, EXAMPLE_WEBHOOK) } },
}

export const CREATE_WEBHOOK: Operation = {
  id: 'createWebhook',
  tag,
  summary: 'Register a webhook endpoint',
  description:
    'A new endpoint is pending and gets one event, `webhook.verification`, regardless of its event types. When ' +
    'it responds with a 2xx and a JSON object that contains the `challenge`, it is verified and gets later ' +
    'events of its types. The credential also needs the scope of each event type, as to read it: ' +
    '`read:attribution` for records, `read:reporting` for budgets, `admin:config` for keys and settings.',
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
    'The URL cannot be changed; register another endpoint instead. To add an event type needs its scope. Deliveries that wait for a retry are still ' +
    'sent, regardless of their type.',
  parameters,
  replies: { 200: { description: 'The changed endpoint.', contents: json(webhook, EXAMPLE_WEBHOOK) } },
}

export const DELETE_WEBHOOK: Operation = {
  id: 'deleteWebhook',
  tag,
  summary: 'Delete a webhook endpoint',
  description: 'Nothing more is sent to it, and its queued deliveries are dropped. Its delivery log is kept.',
  parameters,
  replies: { 204: { description: 'Deleted.' } },
}

export const VERIFY_WEBHOOK: Operation = {
  id: 'verifyWebhook',
  tag,
  summary: 'Send a new challenge, or confirm one',
  description:
    'Without `challenge`, a new challenge is sent and the previous one becomes invalid. With `challenge`, the ' +
    'endpoint is verified as if it had responded: for receivers that log requests and return no body.',
  parameters,
  problems: ['CONFLICT', 'VALIDATION_FAILED', 'RESIDENCY_BLOCKED'],
  replies: {
    200: { description: 'The verified endpoint.', contents: json(webhook, EXAMPLE_WEBHOOK) },
    202: { description: 'A new challenge was queued.', contents: json(webhook, EXAMPLE_PENDING) },
  },
}

export const ROTATE_WEBHOOK_SECRET: Operation = {
  id: 'rotateWebhookSecret',
  tag,
  summary: "Replace an endpoint's signing secret",
  description: 'For 24 hours, deliveries are signed with both secrets: each header then has one `v1` per secret.',
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
  summary: 'Replay events',
  description:
    'Replays an event by id, of a type that the endpoint subscribes to or the credential may subscribe it to; the ' +
    'events of a range that the endpoint subscribes to; or its dead letters, which are removed from the dead letters. Replayed events keep their `id`, `sequence` and ' +
    '`created_at`, have `"replayed": true` and the header `Service-Replayed: true`, and are signed again. Events ' +
    'are kept for 30 days, or less when the event log of the instance is full; `attribution.materialized` is ' +
    'stored only while a verified endpoint of the tenant subscribes to it.',
  parameters,
  problems: ['CONFLICT', 'RESIDENCY_BLOCKED'],
  replies: {
    202: {
      description: 'The replay was queued.',
      contents: json(replayed, { webhook_id: exampleId('whk'), status: 'queued', selection: EXAMPLE_REPLAY }),
    },
  },
}

export const LIST_DELIVERIES: Operation = {
  id: 'listDeliveries',
  tag,
  summary: "List an endpoint's delivery attempts, newest first",
  description: 'Attempts are kept for 400 days, also after the endpoint is deleted.',
  parameters,
  query: {
    ...PAGE_PARAMETERS,
    event_id: idOf('evt').optional().meta({ description: 'Only attempts of this event.' }),
    event_type: z.enum(EVENT_TYPES).optional().meta({ description: 'Only attempts of events of this type.' }),
    outcome: z.enum(ATTEMPT_OUTCOMES).optional().meta({ description: 'Only attempts with this outcome.' }),
    ...rangeParameters('attempts'),
  },
  replies: {
    200: {
      description: 'A page of attempts.',
      contents: json(pageOf(attempt), { data: [EXAMPLE_ATTEMPT], page: { limit: 50, has_more: false } }),
    },
  },
}
