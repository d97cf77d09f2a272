import { formatId, ID_BYTES, type TenantIds } from '../ids/ids.js'
import { sipHash128 } from '../ids/siphash.js'
import type { EventData, EventInterpretation, EventType } from './event-contract.js'
import { exactJson } from './exact-json.js'

/** An event to publish. */
export interface NewEvent<T extends EventType = EventType> {
  readonly tenantId: string
  readonly type: T
  /** Identifies the event among those of its type: the same cause always gives the same event. */
  readonly cause: string
  readonly data: EventData[T]
  /** Present when `data` is an attribution result. */
  readonly interpretation?: EventInterpretation
}

/** @returns an unpredictable id, the same for every repeat of the cause */
export function eventId({ tag, sip }: TenantIds, type: EventType, cause: string): string {
  const hash = new Uint8Array(ID_BYTES)
  sipHash128(sip, Buffer.from(`${type} ${cause}`), hash)
  return formatId('evt', Buffer.concat([tag, hash]).subarray(0, ID_BYTES))
}

/**
 * The body of a message of EVENTS: the JSON of an envelope without `created_at` and `sequence`, which come from the
 * stream. `envelopeText` inserts them.
 */
export const storedText = (id: string, { tenantId, type, data, interpretation }: NewEvent): string =>
  exactJson({ id, type, tenant_id: tenantId, data, interpretation })

/** The envelope fields that are not stored with an event. */
export interface Occasion {
  /** The stream sequence, which increases with `createdAt`. */
  readonly sequence: number
  /** When the stream stored it, RFC 3339 in UTC. */
  readonly createdAt: string
  /** Whether it is delivered by a replay. */
  readonly isReplayed: boolean
}

/**
 * The envelope of an event: always the same text, except for `replayed`.
 *
 * The stored text is not parsed, so that no number in it becomes a float.
 *
 * @returns undefined when the text is not a stored event
 */
export function envelopeText(stored: string, { sequence, createdAt, isReplayed }: Occasion): string | undefined {
  const at = stored.indexOf(BEHIND_TYPE)
  if (!stored.startsWith('{"id":"evt_') || at < 0) return undefined
  const replayed = isReplayed ? REPLAYED : ''
  return `${stored.slice(0, at)},"created_at":"${createdAt}","sequence":${sequence}${replayed}${stored.slice(at)}`
}

/** The text of an envelope with the `replayed` flag. */
export function replayedText(text: string): string {
  const at = text.indexOf(BEHIND_TYPE)
  return at < 0 || text.slice(0, at).endsWith(REPLAYED) ? text : `${text.slice(0, at)}${REPLAYED}${text.slice(at)}`
}

const REPLAYED = ',"replayed":true'
/** Ids and types contain no quote, so that the first match is the member itself and not a part of a string. */
const BEHIND_TYPE = ',"tenant_id":"'
