/** Events in wire format and as the pipeline holds them. A test states only the members of its case. */

import type { Invocation } from '../../internal/invocations/invocation.js'
import type { AdmittedInvocation } from '../../internal/invocations/invocation-group.js'
import type { InvocationEvent } from '../../internal/invocations/invocation-schema.js'
import { call } from './attribution-events.js'

export const NOW_MS = Date.UTC(2026, 10, 3, 12)

/** An event as a producer sends it, with the required fields and those that the test states. */
export const wireEvent = (stated: Readonly<Record<string, unknown>> = {}): Record<string, unknown> => ({
  event_id: '01890a5d-ac96-774b-bcce-b302099a8057',
  ingestion_layer: 'gateway',
  ingestion_timestamp: '2026-11-03T12:00:00Z',
  provider: 'openai',
  requested_model: 'gpt-4o',
  ...stated,
})

/** The same event after validation. */
export const validEvent = (stated: Partial<InvocationEvent> = {}): InvocationEvent =>
  wireEvent(stated) as InvocationEvent

export interface Stated extends Partial<Omit<AdmittedInvocation, 'invocation' | 'event'>> {
  readonly invocation?: Partial<Invocation>
}

export const admitted = ({ invocation, ...stated }: Stated = {}): AdmittedInvocation => ({
  tenantId: 'tnt_one',
  principal: 'key_one',
  id: idOf(1),
  receivedAtMs: NOW_MS,
  position: { sequence: 1, index: 0 },
  key: undefined,
  event: validEvent(),
  ...stated,
  invocation: call(invocation),
})

/** 16 bytes that contain their number. */
export function idOf(number: number): Uint8Array {
  const bytes = Buffer.alloc(16)
  bytes.writeUInt32BE(number, 4)
  bytes.writeUInt32BE(number, 12)
  return bytes
}
