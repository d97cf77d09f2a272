import { DELIVERY_PARTITIONS } from '../../streams/deliveries.js'
import type { EventType } from '../events/event-contract.js'

/** One event on its way to one endpoint. */
export interface Delivery {
  readonly id: string
  readonly tenantId: string
  readonly endpointId: string
  readonly eventId: string
  readonly type: EventType
  readonly sequence: number
  readonly isReplayed: boolean
  /** Number of attempts made. */
  readonly attempts: number
  /**
   * How often it was parked (rescheduled without an attempt) since the last attempt, because its endpoint had no
   * capacity.
   */
  readonly parks: number
  /** When the first attempt was made, milliseconds since the epoch; undefined before. The retry period starts then. */
  readonly startedAtMs: number | undefined
  /** When it was first parked; only before the first attempt. */
  readonly parkedAtMs: number | undefined
  /** The exact bytes that every attempt sends; empty for `webhook.verification`, whose challenge is sealed. */
  readonly body: Uint8Array
}

/**
 * A delivery without attempts. The fields are written out, since spreading is slower and every delivery passes here.
 */
export const newDelivery = ({
  id,
  tenantId,
  endpointId,
  eventId,
  type,
  sequence,
  isReplayed,
  body,
}: Omit<Delivery, 'attempts' | 'parks' | 'startedAtMs' | 'parkedAtMs'>): Delivery => ({
  id,
  tenantId,
  endpointId,
  eventId,
  type,
  sequence,
  isReplayed,
  attempts: 0,
  parks: 0,
  startedAtMs: undefined,
  parkedAtMs: undefined,
  body,
})

/** The head of an encoded delivery. Short names, since there is one message per event and endpoint. */
interface Head {
  readonly d: string
  readonly t: string
  readonly w: string
  readonly e: string
  readonly y: EventType
  readonly s: number
  readonly r?: 1
  readonly n?: number
  readonly p?: number
  /** When the first attempt was made; before that, when it was first parked. */
  readonly b?: number
}

/** Encodes a delivery as a line of JSON followed by the raw body. */
export function encodeDelivery(delivery: Delivery): Buffer {
  const { id, tenantId, endpointId, eventId, type, sequence, isReplayed, attempts, parks, body } = delivery
  const sinceMs = attempts > 0 ? delivery.startedAtMs : delivery.parkedAtMs
  const head: Head = {
    d: id,
    t: tenantId,
    w: endpointId,
    e: eventId,
    y: type,
    s: sequence,
    ...(isReplayed && { r: 1 }),
    ...(attempts > 0 && { n: attempts }),
    ...(parks > 0 && { p: parks }),
    ...(sinceMs !== undefined && { b: sinceMs }),
  }
  return Buffer.concat([Buffer.from(`${JSON.stringify(head)}\n`), body])
}

/** @throws Error when the bytes are not an encoded delivery */
export function decodeDelivery(bytes: Uint8Array): Delivery {
  const end = bytes.indexOf(0x0a)
  if (end < 0) throw new Error('the delivery has no head')
  const head = JSON.parse(Buffer.from(bytes.buffer, bytes.byteOffset, end).toString()) as Head
  if (typeof head.d !== 'string' || typeof head.w !== 'string') throw new Error('the delivery has no endpoint')
  const isTried = head.n !== undefined
  return {
    id: head.d,
    tenantId: head.t,
    endpointId: head.w,
    eventId: head.e,
    type: head.y,
    sequence: head.s,
    isReplayed: head.r === 1,
    attempts: head.n ?? 0,
    parks: head.p ?? 0,
    startedAtMs: isTried ? head.b : undefined,
    parkedAtMs: isTried ? undefined : head.b,
    body: bytes.subarray(end + 1),
  }
}

/**
 * The partition of an endpoint's deliveries. FNV-1a suffices: endpoint ids are random, so any hash spreads them evenly.
 */
export function partitionOf(endpointId: string): number {
  let hash = 0x811c9dc5
  for (let i = 0; i < endpointId.length; i++) hash = Math.imul(hash ^ endpointId.charCodeAt(i), 0x01000193)
  return (hash >>> 0) % DELIVERY_PARTITIONS
}
