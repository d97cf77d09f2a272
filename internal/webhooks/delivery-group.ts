import type { EventType } from '../events/event-contract.js'
import { type Delivery, decodeDelivery, newDelivery } from './delivery.js'

/**
 * The head of an event with its first deliveries to the endpoints of one partition. The bodies follow all heads, in the
 * same order.
 */
type PackedEvent = readonly [
  tenantId: string,
  eventId: string,
  type: EventType,
  sequence: number,
  bodyBytes: number,
  /** Delivery id and endpoint id, alternating. */
  ids: readonly string[],
]

/** Maximum deliveries per message. */
export const GROUP_DELIVERIES_MAX = 100
/** Maximum bytes per message; a single delivery may be larger. */
const GROUP_BYTES_MAX = 60 * 1024
/** Approximate size of a head without the ids, and of a pair of ids. */
const HEAD_BYTES = 120
const IDS_BYTES = 68

/**
 * Groups deliveries into messages and keeps their order: a group costs the broker and the courier one message instead
 * of one per delivery.
 *
 * @param deliveries grouped by event
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
    // A new group repeats the event's head and body.
    bytes += group.length > 0 ? more : IDS_BYTES + HEAD_BYTES + delivery.body.length
    group.push(delivery)
  }
  if (group.length > 0) groups.push(group)
  return groups
}

/**
 * Encodes a group as a line with a JSON array followed by the raw bodies.
 *
 * @param deliveries without attempts, none replayed
 */
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
 * Decodes a message that holds a group or a single delivery.
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
        newDelivery({
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
