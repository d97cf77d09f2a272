import { formatId, ID_BYTES, type TenantIds } from '../ids/ids.js'
import { sipHash128 } from '../ids/siphash.js'
import type { EventData, EventEnvelope, EventType } from './contract.js'

/** What a message of EVENTS holds, as JSON: an envelope without what the stream gives to it. */
export type StoredEvent = Omit<EventEnvelope, 'sequence' | 'created_at'>

/** Something that happened. */
export interface NewEvent<T extends keyof EventData = keyof EventData> {
  readonly tenantId: string
  readonly type: T
  /** What made it happen, unlike that of any other event of its type: the same cause is the same event. */
  readonly cause: string
  readonly data: EventData[T]
}

/** @returns an id that nobody can foresee, and the same whenever the cause is told again */
export function eventId({ tag, sip }: TenantIds, type: EventType, cause: string): string {
  const hash = new Uint8Array(ID_BYTES)
  sipHash128(sip, Buffer.from(`${type} ${cause}`), hash)
  return formatId('evt', Buffer.concat([tag, hash]).subarray(0, ID_BYTES))
}

export const storedEvent = ({ tenantId, type, cause, data }: NewEvent, ids: TenantIds): StoredEvent => ({
  id: eventId(ids, type, cause),
  type,
  tenant_id: tenantId,
  data,
})

/**
 * An event as its receivers see it (spec 2.9).
 *
 * @param sequence the stream's, and so rising with `storedAtMs`
 * @param storedAtMs when the stream took it, milliseconds since the epoch
 */
export const envelopeOf = (
  { id, type, tenant_id, ...rest }: StoredEvent,
  sequence: number,
  storedAtMs: number,
): EventEnvelope => ({
  id,
  type,
  created_at: new Date(storedAtMs).toISOString(),
  tenant_id,
  sequence,
  ...rest,
})
