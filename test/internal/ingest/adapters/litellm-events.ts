import { expect } from 'vitest'
import { litellm } from '../../../../internal/ingest/adapters/litellm.js'
import { payloadOfSpendLog } from '../../../../internal/ingest/adapters/litellm-spend-logs.js'
import type { Mapped } from '../../../../internal/ingest/intake/json-source.js'
import { JsonSelector } from '../../../../internal/text/select-json.js'
import { CANARY } from './litellm-payload.js'

const selector = new JsonSelector(litellm.wanted)

/** What becomes of a payload of LiteLLM that is sent as JSON. */
export function mapped(payload: Readonly<Record<string, unknown>>, isGateway = true): Mapped {
  const selection = selector.select(Buffer.from(JSON.stringify(payload)))
  if (selection === undefined) throw new Error('the payload is not JSON')
  expect(JSON.stringify(selection.value)).not.toContain(CANARY)
  return litellm.map(selection.value, {
    contentType: 'application/json',
    caller: { tenantId: 'tnt_one', isGateway },
    receivedAtMs: Date.UTC(2026, 10, 21),
    header: () => '',
  })
}

/** The event of a payload, without its absent fields. */
export function eventOf(payload: Readonly<Record<string, unknown>>, isGateway = true): Record<string, unknown> {
  const result = mapped(payload, isGateway)
  if (result.kind !== 'event') throw new Error(`${result.kind} and no event`)
  return JSON.parse(JSON.stringify(result.event)) as Record<string, unknown>
}

export const eventOfRow = (row: Parameters<typeof payloadOfSpendLog>[0]): Record<string, unknown> =>
  eventOf(payloadOfSpendLog(row))
