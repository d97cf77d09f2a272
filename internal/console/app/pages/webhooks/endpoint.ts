import type { DeliveryAttempt, Webhook, WebhookWithSecret } from 'attribution-service/sdk/api'

/** Webhook endpoints and deliveries. */
export type Endpoint = Webhook

export type WithSecret = WebhookWithSecret

export type Delivery = DeliveryAttempt

export const WEBHOOKS_PATH = '/api/v1/webhooks'
