import { DELIVERY_PARTITIONS } from '../../streams/deliveries.js'
import type { EventType } from '../events/contract.js'

/** One event on its way to one endpoint. */
export interface Delivery {
  readonly id: string
  readonly tenantId: string
  readonly endpointId: string
  readonly eventId: string
  readonly type: EventType
  readonly sequence: number
  readonly isReplayed: boolean
  /** Attempts that were made. */
  readonly attempts: number
  /** How often it was put off since its endpoint had more than it could take. */
  readonly parks: number
  /** When it was first tried, milliseconds since the epoch; undefined before. Its time runs from then. */
  readonly startedAtMs: number | undefined
  /** When it was first put off, of one that was not tried yet. */
  readonly parkedAtMs: number | undefined
  /** The exact bytes that are sent, at every attempt; empty for `webhook.verification`, whose challenge is sealed. */
  readonly body: Uint8Array
}

/** A delivery that was not tried yet. Written out: each that is made or read takes this way, and a copy by spreading costs more. */
export const untried = ({
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

/** Short names: a message an event and endpoint. */
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
  /** When it was first tried; until then, when it was first put off. */
  readonly b?: number
}

/** A line of JSON, then the body as it is. */
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

/** @throws Error when the bytes are no delivery */
export function decodeDelivery(bytes: Uint8Array): Delivery {
  const end = bytes.indexOf(0x0a)
  if (end < 0) throw new Error('a delivery has no head')
  const head = JSON.parse(Buffer.from(bytes.buffer, bytes.byteOffset, end).toString()) as Head
  if (typeof head.d !== 'string' || typeof head.w !== 'string') throw new Error('a delivery names no endpoint')
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

/** The part of an endpoint's deliveries. FNV-1a: endpoint ids are random, any hash parts them evenly. */
export function partitionOf(endpointId: string): number {
  let hash = 0x811c9dc5
  for (let i = 0; i < endpointId.length; i++) hash = Math.imul(hash ^ endpointId.charCodeAt(i), 0x01000193)
  return (hash >>> 0) % DELIVERY_PARTITIONS
}
