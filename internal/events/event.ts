import { formatId, ID_BYTES, type TenantIds } from '../ids/ids.js'
import { sipHash128 } from '../ids/siphash.js'
import type { EventData, EventInterpretation, EventType } from './contract.js'
import { exactJson } from './exact-json.js'

/** Something that happened. */
export interface NewEvent<T extends EventType = EventType> {
  readonly tenantId: string
  readonly type: T
  /** What made it happen, unlike that of any other event of its type: the same cause is the same event. */
  readonly cause: string
  readonly data: EventData[T]
  /** Where `data` is an attribution result. */
  readonly interpretation?: EventInterpretation
}

/** @returns an id that nobody can foresee, and the same whenever the cause is told again */
export function eventId({ tag, sip }: TenantIds, type: EventType, cause: string): string {
  const hash = new Uint8Array(ID_BYTES)
  sipHash128(sip, Buffer.from(`${type} ${cause}`), hash)
  return formatId('evt', Buffer.concat([tag, hash]).subarray(0, ID_BYTES))
}

/**
 * What a message of EVENTS holds: the JSON of an envelope without what the stream gives to it (`created_at`,
 * `sequence`). `envelopeText` puts that in.
 */
export const storedText = (id: string, { tenantId, type, data, interpretation }: NewEvent): string =>
  exactJson({ id, type, tenant_id: tenantId, data, interpretation })

/** What the stream and the occasion add to a stored event. */
export interface Occasion {
  /** The stream's, and so rising with `createdAt`. */
  readonly sequence: number
  /** When the stream took it, RFC 3339 in UTC. */
  readonly createdAt: string
  /** Whether somebody has asked for it once more. */
  readonly isReplayed: boolean
}

/**
 * An event as its receivers see it (spec 2.9): the same text whenever it is made, but for `replayed`.
 *
 * The stored text is not parsed, so that no number in it becomes a float.
 *
 * @returns undefined when the text is none of ours
 */
export function envelopeText(stored: string, { sequence, createdAt, isReplayed }: Occasion): string | undefined {
  const at = stored.indexOf(BEHIND_TYPE)
  if (!stored.startsWith('{"id":"evt_') || at < 0) return undefined
  const replayed = isReplayed ? REPLAYED : ''
  return `${stored.slice(0, at)},"created_at":"${createdAt}","sequence":${sequence}${replayed}${stored.slice(at)}`
}

/** The text of an envelope that is delivered once more. */
export function replayedText(text: string): string {
  const at = text.indexOf(BEHIND_TYPE)
  return at < 0 || text.slice(0, at).endsWith(REPLAYED) ? text : `${text.slice(0, at)}${REPLAYED}${text.slice(at)}`
}

const REPLAYED = ',"replayed":true'
/** Ids and types hold no quote, so that this is the member and no part of a text. */
const BEHIND_TYPE = ',"tenant_id":"'
