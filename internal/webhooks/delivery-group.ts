import type { EventType } from '../events/contract.js'
import { type Delivery, decodeDelivery, untried } from './delivery.js'

/** An event on its first way to endpoints of one part; the bodies stand behind all heads, in their order. */
type PackedEvent = readonly [
  tenantId: string,
  eventId: string,
  type: EventType,
  sequence: number,
  bodyBytes: number,
  /** Delivery and endpoint in turn. */
  ids: readonly string[],
]

/** Deliveries of a message at most. */
export const GROUP_DELIVERIES_MAX = 100
/** A message is not begun anew below this; one delivery may be larger. */
const GROUP_BYTES_MAX = 60 * 1024
/** Of a head, about, besides the ids. */
const HEAD_BYTES = 120
const IDS_BYTES = 68

/**
 * Parts deliveries, in their order, into messages: what is published together costs the broker and the courier a message
 * and not one each.
 *
 * @param deliveries those of an event one behind the other
 */
export function groupsOf(deliveries: readonly Delivery[]): readonly (readonly Delivery[])[] {
  const groups: Delivery[][] = []
  let group: Delivery[] = []
  let bytes = 0
  for (const delivery of deliveries) {
    const sameEvent = group.at(-1)?.eventId === delivery.eventId
    const more = IDS_BYTES + (sameEvent ? 0 : HEAD_BYTES + delivery.body.length)
    if (group.length > 0 && (group.length === GROUP_DELIVERIES_MAX || bytes + more > GROUP_BYTES_MAX)) {
      groups.push(group)
      group = []
      bytes = 0
    }
    // In a new group the body comes with it.
    bytes += group.length > 0 ? more : IDS_BYTES + HEAD_BYTES + delivery.body.length
    group.push(delivery)
  }
  if (group.length > 0) groups.push(group)
  return groups
}

/** A line of JSON, an array, then the bodies as they are. @param deliveries first attempts, none of them replayed */
export function encodeGroup(deliveries: readonly Delivery[]): Buffer {
  const heads: PackedEvent[] = []
  const parts: Uint8Array[] = [EMPTY]
  let last: { readonly eventId: string; readonly ids: string[] } | undefined
  for (const { id, tenantId, endpointId, eventId, type, sequence, body } of deliveries) {
    if (last?.eventId !== eventId) {
      last = { eventId, ids: [] }
      heads.push([tenantId, eventId, type, sequence, body.length, last.ids])
      parts.push(body)
    }
    last.ids.push(id, endpointId)
  }
  parts[0] = Buffer.from(`${JSON.stringify(heads)}\n`)
  return Buffer.concat(parts)
}

const EMPTY = new Uint8Array()
const ARRAY = '['.charCodeAt(0)

/**
 * The deliveries of a message, be they a group or one alone.
 *
 * @throws Error when the bytes are neither
 */
export function decodeDeliveries(bytes: Uint8Array): readonly Delivery[] {
  if (bytes[0] !== ARRAY) return [decodeDelivery(bytes)]
  const end = bytes.indexOf(0x0a)
  if (end < 0) throw new Error('a group of deliveries has no head')
  const heads = JSON.parse(Buffer.from(bytes.buffer, bytes.byteOffset, end).toString()) as PackedEvent[]
  const deliveries: Delivery[] = []
  let from = end + 1
  for (const [tenantId, eventId, type, sequence, bodyBytes, ids] of heads) {
    const body = bytes.subarray(from, from + bodyBytes)
    if (body.length !== bodyBytes) throw new Error('a group of deliveries ends within a body')
    from += bodyBytes
    for (let i = 0; i + 1 < ids.length; i += 2) {
      deliveries.push(
        untried({
          id: ids[i] as string,
          tenantId,
          endpointId: ids[i + 1] as string,
          eventId,
          type,
          sequence,
          isReplayed: false,
          body,
        }),
      )
    }
  }
  return deliveries
}
