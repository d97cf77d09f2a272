import { createHmac, timingSafeEqual } from 'node:crypto'

const SIGNATURE_TOLERANCE_SECONDS = 300

/**
 * Whether the service has signed a webhook delivery within the last five minutes.
 *
 * @param body the exact bytes that arrived, before anything has parsed them
 * @param header `Service-Signature`: `t=<unix seconds>,v1=<hex>`, with a further `v1` while a secret is being rotated
 * @param secrets the valid ones, each with its prefix `whsec_`: one, or two during a rotation
 */
export function isSigned(
  body: Uint8Array | string,
  header: string | null | undefined,
  secrets: readonly string[],
  nowSeconds = Date.now() / 1_000,
): boolean {
  const values = (name: string): string[] =>
    (header ?? '')
      .split(',')
      .filter((part) => part.startsWith(`${name}=`))
      .map((part) => part.slice(name.length + 1))
  const times = values('t')
  const [t = ''] = times
  if (times.length !== 1 || !/^\d{1,12}$/.test(t)) return false
  if (Math.abs(nowSeconds - Number(t)) > SIGNATURE_TOLERANCE_SECONDS) return false
  const signatures = values('v1').filter((hex) => /^[0-9a-f]{64}$/.test(hex))
  return secrets.some((secret) => {
    const expected = createHmac('sha256', secret).update(`${t}.`).update(body).digest()
    return signatures.some((hex) => timingSafeEqual(expected, Buffer.from(hex, 'hex')))
  })
}
