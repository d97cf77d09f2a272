/**
 * Verifies the signature of deliveries of the Attribution Service. No dependency; Node 18 or newer.
 *
 * The header `Service-Signature` is `t=<unix seconds>,v1=<hex>`, where `v1` is the HMAC-SHA256 of `<t>.<body>` keyed by
 * the endpoint's signing secret, the whole text with `whsec_`. While a secret is being rotated there are two `v1`, one
 * a secret; one that matches is enough, so that a receiver may know the old secret, the new one, or both.
 */
import { createHmac, timingSafeEqual } from 'node:crypto'

export const TOLERANCE_SECONDS = 300

/**
 * @param {Uint8Array} body the exact bytes that came, before anything has parsed them
 * @param {string | undefined} header `Service-Signature`
 * @param {readonly string[]} secrets the valid ones: one, or two during a rotation
 * @param {number} nowSeconds unix time
 * @returns {boolean} whether the service has signed these bytes, a short while ago
 */
export function isSigned(body, header, secrets, nowSeconds = Date.now() / 1000) {
  const parts = (header ?? '').split(',').map((part) => part.split('='))
  const times = parts.filter(([name]) => name === 't').map(([, value]) => value ?? '')
  const signatures = parts.filter(([name]) => name === 'v1').map(([, value]) => value ?? '')
  const [t] = times
  if (times.length !== 1 || t === undefined || !/^\d{1,12}$/.test(t)) return false
  if (Math.abs(nowSeconds - Number(t)) > TOLERANCE_SECONDS) return false
  let isFound = false
  for (const secret of secrets) {
    const expected = createHmac('sha256', secret).update(`${t}.`).update(body).digest()
    for (const signature of signatures) {
      if (!/^[0-9a-f]{64}$/.test(signature)) continue
      // Every pair is compared, each in constant time.
      if (timingSafeEqual(expected, Buffer.from(signature, 'hex'))) isFound = true
    }
  }
  return isFound
}
