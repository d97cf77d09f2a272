import { createHmac } from 'node:crypto'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { signaturesOf } from '../../../../internal/webhooks/courier/signatures.js'
import { formatSecret, signingKeyOf } from '../../../../internal/webhooks/endpoint.js'

const NOW_MS = Date.UTC(2026, 10, 3, 12)
const secretBytes = fc.uint8Array({ minLength: 24, maxLength: 64 })

test('a delivery is signed once per secret, in the form of Stripe and in that of Standard Webhooks', () => {
  fc.assert(
    fc.property(
      fc.uint8Array(),
      fc.array(secretBytes, { minLength: 1, maxLength: 4 }),
      fc.integer({ min: 0, max: 999 }),
      (body, secrets, ms) => {
        const texts = secrets.map(formatSecret)
        const keys = texts.map((text) => signingKeyOf(Buffer.from(text)))

        const t = NOW_MS / 1_000
        const ours = texts.map((text) => `v1=${createHmac('sha256', text).update(`${t}.`).update(body).digest('hex')}`)
        const standard = secrets.map(
          (bytes) => `v1,${createHmac('sha256', bytes).update(`evt_1.${t}.`).update(body).digest('base64')}`,
        )
        expect(signaturesOf(keys, 'evt_1', body, NOW_MS + ms)).toEqual({
          'service-signature': `t=${t},${ours.join(',')}`,
          'webhook-id': 'evt_1',
          'webhook-timestamp': String(t),
          'webhook-signature': standard.join(' '),
        })
      },
    ),
  )
})
