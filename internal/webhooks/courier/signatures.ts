import { createHmac } from 'node:crypto'
import type { SigningKey } from '../endpoint.js'

/**
 * The headers that sign a delivery, in two forms, since libraries verify either. During a rotation overlap there is one
 * signature per secret, newest first.
 *
 * - `Service-Signature`, Stripe's form: `t=<unix seconds>,v1=<hex>`, HMAC-SHA256 over `<t>.<body>` keyed by the secret
 *   as text, with its prefix.
 * - `webhook-id`, `webhook-timestamp`, `webhook-signature`, those of Standard Webhooks: `v1,<base64>`, HMAC-SHA256 over
 *   `<id>.<t>.<body>` keyed by the bytes that the secret encodes.
 *
 * @param id of the event, which its retries and replays share
 * @param body the exact bytes that are sent
 */
export function signaturesOf(keys: readonly SigningKey[], id: string, body: Uint8Array, nowMs: number) {
  const t = String(Math.floor(nowMs / 1_000))
  const ours = keys.map(({ text }) => `v1=${createHmac('sha256', text).update(`${t}.`).update(body).digest('hex')}`)
  const standard = keys.map(
    ({ bytes }) => `v1,${createHmac('sha256', bytes).update(`${id}.${t}.`).update(body).digest('base64')}`,
  )
  return {
    'service-signature': `t=${t},${ours.join(',')}`,
    'webhook-id': id,
    'webhook-timestamp': t,
    'webhook-signature': standard.join(' '),
  }
}
