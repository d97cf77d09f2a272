/** What an adapter makes of a payload. */
import { expect } from 'vitest'
import type { JsonSource, Mapped } from '../../../../internal/ingest/intake/json-source.js'
import { validateInvocation } from '../../../../internal/invocations/validate-invocation.js'
import { JsonSelector } from '../../../../internal/text/select-json.js'
import { CANARY } from './litellm-payload.js'

export type Payload = Record<string, unknown>

export function mapped(
  source: JsonSource,
  payload: Payload,
  isGateway = true,
  trustedFields?: readonly string[],
): Mapped {
  const selection = new JsonSelector(source.wanted).select(Buffer.from(JSON.stringify(payload)))
  if (selection === undefined) throw new Error('the payload is not JSON')
  expect(JSON.stringify(selection.value)).not.toContain(CANARY)
  return source.map(selection.value, {
    contentType: 'application/json',
    caller: { tenantId: 'tnt_one', isGateway, trustedFields },
    receivedAtMs: Date.UTC(2026, 10, 21, 10),
    header: () => '',
  })
}

/** As it is sent to admission, unchecked. */
export function sentOf(
  source: JsonSource,
  payload: Payload,
  isGateway = true,
  trustedFields?: readonly string[],
): Payload {
  const result = mapped(source, payload, isGateway, trustedFields)
  if (result.kind !== 'event') throw new Error(`${JSON.stringify(result)} is no event`)
  return JSON.parse(JSON.stringify(result.event)) as Payload
}

export function eventOf(
  source: JsonSource,
  payload: Payload,
  isGateway = true,
  trustedFields?: readonly string[],
): Payload {
  const event = sentOf(source, payload, isGateway, trustedFields)
  expect(validateInvocation(event, Date.UTC(2026, 10, 21, 10))).toMatchObject({ ok: true, unknownFields: 0 })
  return event
}
