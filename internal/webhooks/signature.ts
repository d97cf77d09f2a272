import { createHmac, type KeyObject } from 'node:crypto'

/**
 * `Service-Signature`: `t=<unix seconds>,v1=<hex>`, HMAC-SHA256 over `<t>.<body>` keyed by the endpoint's
 * signing secret, as text, with its prefix. During a rotation overlap there is one `v1` per secret, newest first.
 *
 * @param body the exact bytes that are sent
 */
export function signatureOf(secrets: readonly KeyObject[], body: Uint8Array, nowMs: number): string {
  const t = Math.floor(nowMs / 1_000)
  const v1 = secrets.map((secret) => `v1=${createHmac('sha256', secret).update(`${t}.`).update(body).digest('hex')}`)
  return `t=${t},${v1.join(',')}`
}
