import { type StoredWebhook, secretsAt } from './endpoint.js'
import { type StoredHealth, shownHealth } from './endpoint-health.js'
import type { ShownWebhook } from './webhook-contract.js'

/** An endpoint as the API returns it. */
export function shownWebhook(webhook: StoredWebhook, health: StoredHealth | undefined, nowMs: number): ShownWebhook {
  const [newest, previous] = secretsAt(webhook, nowMs)
  return {
    id: webhook.id,
    url: webhook.url,
    events: [...webhook.events],
    status: webhook.status,
    residency_region: webhook.residency_region,
    created_at: webhook.created_at,
    verified_at: webhook.verified_at,
    secret_rotated_at: newest?.created_at ?? webhook.created_at,
    previous_secret_expires_at: previous?.expires_at ?? null,
    health: shownHealth(health),
  }
}

/**
 * An endpoint as the audit log keeps it: only the URL's origin, since paths and queries of receivers often contain
 * secrets.
 */
export const audited = ({ id, url, events, status, residency_region, secrets }: StoredWebhook) => ({
  id,
  origin: new URL(url).origin,
  events,
  status,
  residency_region,
  secrets: secrets.map(({ created_at, expires_at }) => ({ created_at, expires_at })),
})
