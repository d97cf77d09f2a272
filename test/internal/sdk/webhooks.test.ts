import { expect, test } from 'vitest'
import { isSigned } from '../../../internal/sdk/webhooks.js'
import { signaturesOf } from '../../../internal/webhooks/courier/signatures.js'
import { signingKeyOf } from '../../../internal/webhooks/endpoint.js'

const NOW_MS = Date.UTC(2026, 10, 24)
const keyOf = (secret: string) => signingKeyOf(Buffer.from(secret))
const BODY = Buffer.from('{"id":"evt_1","amount":"0.10"}')
const { 'service-signature': header } = signaturesOf([keyOf('whsec_new'), keyOf('whsec_old')], 'evt_1', BODY, NOW_MS)
const isNow = (body: Uint8Array, signed: string | undefined, secrets: readonly string[], laterS = 0) =>
  isSigned(body, signed, secrets, NOW_MS / 1_000 + laterS)

test('a delivery that the service signed is recognised by either secret of a rotation', () => {
  expect(isNow(BODY, header, ['whsec_new'])).toBe(true)
  expect(isNow(BODY, header, ['whsec_old'])).toBe(true)
  expect(isNow(BODY, header, ['whsec_other', 'whsec_old'], 299)).toBe(true)
})

test('other bytes, other secrets, old deliveries and malformed headers are not', () => {
  expect(isNow(Buffer.from(`${BODY} `), header, ['whsec_new'])).toBe(false)
  expect(isNow(BODY, header, ['whsec_other'])).toBe(false)
  expect(isNow(BODY, header, [])).toBe(false)
  expect(isNow(BODY, header, ['whsec_new'], 302)).toBe(false)
  expect(isNow(BODY, undefined, ['whsec_new'])).toBe(false)
  for (const malformed of ['', 't=', 't=1,t=1', `${header},t=1`, 'v1=00', 't=x,v1=00', header.replace('v1', 'v0')]) {
    expect([malformed, isNow(BODY, malformed, ['whsec_x'])]).toEqual([malformed, false])
  }
})
