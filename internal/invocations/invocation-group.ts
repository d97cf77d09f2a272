import { GROUP_BYTES_MAX } from '../../streams/invocations.js'
import { ID_BYTES, idHex } from '../ids/ids.js'
import { camelCase, objectText, straightLine } from '../text/straight-line.js'
import { parseInstant } from '../units/instant.js'
import type { Invocation } from './invocation.js'
import { type InvocationEvent, invocationEvent } from './invocation-schema.js'

/**
 * The form of one INVOCATIONS message: a JSON array of admitted events. Only the fields of the schema are written,
 * each once: other fields that a producer sent are not kept anywhere.
 */

/** An admitted event with what admission knows about it. */
export interface AdmittedInvocation {
  readonly tenantId: string
  /** Id of the credential that brought it. */
  readonly principal: string
  /** Whether that credential is not trusted to state costs. */
  readonly isCostUntrusted?: boolean
  /** Whether that credential is a gateway's, whose word on who called counts. */
  readonly isFromGateway?: boolean
  /** The kind of the intake that took it, such as `otlp`; absent for the API. */
  readonly intake?: string | undefined
  /** The 16 bytes that `inv_` and `attr_` share. */
  readonly id: Uint8Array
  readonly receivedAtMs: number
  /** Where the event first entered the pipeline: sequence of its stage A message, and its place in it. */
  readonly position: Position
  /** W3C Trace Context of the request that brought it, if that was sampled: the spans of its batches link to it. */
  readonly traceparent?: string | undefined
  /** The services that other calls of its trace belong to, when stage T found several; only behind it. */
  readonly traceServices?: readonly string[]
  /** The Idempotency-Key it was admitted with, where there was one. Stage A records it; later ones do not see it. */
  readonly key: AdmissionKey | undefined
  readonly invocation: Invocation
  /** The stored form of the identity that the event stated, if the event itself is no longer available. */
  readonly identityHash?: Uint8Array
  /** The same event in its wire form, as it is passed to the next stage. */
  readonly event: InvocationEvent
}

export interface Position {
  readonly sequence: number
  readonly index: number
}

/** An Idempotency-Key and the body that came with it, as the admission index knows them. */
export interface AdmissionKey {
  /** 16 bytes: keyed hash of tenant, route and key. */
  readonly hash: Uint8Array
  /** 8 bytes: keyed hash of the request's body. */
  readonly fingerprint: Uint8Array
  /** 0 to 255: facts that a replay's answer needs besides the body. */
  readonly flags: number
}

/** Flag of a key whose event this gateway had admitted before: its answer said `duplicate`. */
export const WAS_DUPLICATE = 1

export const KEY_HASH_BYTES = 16
export const KEY_FINGERPRINT_BYTES = 8

/** Wire form of an entry, with short names since there is one a call. */
interface Entry {
  /** tenant, principal, id (hex), received at (ms since the epoch) */
  readonly t: string
  readonly p: string
  /** 1: the principal is not trusted to state costs. */
  readonly u?: 1
  /** 1: the principal is a gateway. */
  readonly g?: 1
  /** Intake. */
  readonly o?: string
  readonly i: string
  readonly r: number
  /** Position in stage A's log; absent there, where the message itself says it. */
  readonly s?: readonly [sequence: number, index: number]
  /** Base64 of the key's hash and fingerprint, 32 characters, if there was a key; only before stage A has recorded it. */
  readonly k?: string
  /** The key's flags, unless they are 0. */
  readonly f?: number
  /** The `traceparent` of a sampled request. */
  readonly w?: string
  /** The services of its trace, if there are several; only behind stage T. */
  readonly c?: readonly string[]
  readonly e: InvocationEvent
}

const EVENT_FIELD_NAMES = new Set(Object.keys(invocationEvent.shape))

export interface Admission {
  readonly tenantId: string
  readonly principal: string
  readonly isCostUntrusted?: boolean
  readonly isFromGateway?: boolean
  readonly intake?: string | undefined
  readonly id: Uint8Array
  readonly receivedAtMs: number
  readonly traceparent?: string | undefined
  readonly traceServices?: readonly string[]
  readonly key?: AdmissionKey | undefined
}

/**
 * One entry as text; `encodeGroup` puts entries together.
 *
 * @param event as `JSON.parse` made it: its text then names each field once, however often the producer's did
 * @param position where the event first entered the pipeline, when it is passed on
 * @param keepsKey whether it goes to stage A, which records the key; behind it the key is omitted
 */
export function encodeEntry(
  admission: Admission,
  event: InvocationEvent,
  position?: Position,
  keepsKey = position === undefined,
): string {
  const first =
    position === undefined
      ? ''
      : `,"s":[${position.sequence},${position.index}]${servicesMember(admission.traceServices)}`
  const where = `${first}${keepsKey ? keyMember(admission.key) : ''}`
  // Ids, numbers and base64 need no escaping; other texts have had it.
  const kept = JSON.stringify(hasOnlyKept(event) ? event : keptOf(event))
  const received = `${headOf(admission)}${idHex(admission.id)}","r":${admission.receivedAtMs}`
  return `${received}${traceMember(admission)}${where},"e":${kept}}`
}

/** Whether every field is one of the schema's and has a value: nearly all events, which then need no copy. */
function hasOnlyKept(event: InvocationEvent): boolean {
  for (const field in event) {
    if (!EVENT_FIELD_NAMES.has(field) || event[field as keyof InvocationEvent] === null) return false
  }
  return true
}

function keptOf(event: InvocationEvent): Record<string, unknown> {
  const kept: Record<string, unknown> = {}
  for (const field in event) {
    const value = event[field as keyof InvocationEvent]
    if (value !== null && EVENT_FIELD_NAMES.has(field)) kept[field] = value
  }
  return kept
}

/** How an entry of a tenant and principal begins: up to the digits of its id. */
export function headOf({
  tenantId,
  principal,
  isCostUntrusted = false,
  isFromGateway = false,
  intake,
}: Admission): string {
  const known = heads.get(principal)
  if (
    known !== undefined &&
    known.tenantId === tenantId &&
    known.isCostUntrusted === isCostUntrusted &&
    known.isFromGateway === isFromGateway &&
    known.intake === intake
  ) {
    return known.text
  }
  if (heads.size >= HEADS_MAX) heads.clear()
  const flags = `${isCostUntrusted ? '"u":1,' : ''}${isFromGateway ? '"g":1,' : ''}`
  const origin = intake === undefined ? '' : `"o":${JSON.stringify(intake)},`
  const text = `{"t":${JSON.stringify(tenantId)},"p":${JSON.stringify(principal)},${flags}${origin}"i":"`
  heads.set(principal, { tenantId, isCostUntrusted, isFromGateway, intake, text })
  return text
}

interface KnownHead {
  readonly tenantId: string
  readonly isCostUntrusted: boolean
  readonly isFromGateway: boolean
  readonly intake: string | undefined
  readonly text: string
}

const HEADS_MAX = 1024
const heads = new Map<string, KnownHead>()

/** Of hexadecimal digits. */
export const traceMember = ({ traceparent }: Pick<Admission, 'traceparent'>): string =>
  traceparent === undefined ? '' : `,"w":"${traceparent}"`

const servicesMember = (services: readonly string[] | undefined): string =>
  services === undefined ? '' : `,"c":${JSON.stringify(services)}`

function keyMember(key: AdmissionKey | undefined): string {
  if (key === undefined) return ''
  keyBytes.set(key.hash, 0)
  keyBytes.set(key.fingerprint, KEY_HASH_BYTES)
  return `,"k":"${keyBytes.toString('base64')}"${key.flags === 0 ? '' : `,"f":${key.flags}`}`
}

const keyBytes = Buffer.alloc(KEY_HASH_BYTES + KEY_FINGERPRINT_BYTES)

export const encodeGroup = (entries: readonly string[]): Uint8Array => Buffer.from(`[${entries.join(',')}]`)

/**
 * Parts entries into groups of at most `GROUP_BYTES_MAX` bytes, in order.
 *
 * @param enclosingBytes that a message has around its entries: a group has two brackets
 */
export function splitIntoGroups(entries: readonly string[], enclosingBytes = 2): string[][] {
  const groups: string[][] = []
  let current: string[] = []
  // Each entry counts a comma, and the last has none.
  const emptyBytes = enclosingBytes - 1
  let bytes = emptyBytes
  for (const entry of entries) {
    const size = Buffer.byteLength(entry) + 1
    if (bytes + size > GROUP_BYTES_MAX && current.length > 0) {
      groups.push(current)
      current = []
      bytes = emptyBytes
    }
    current.push(entry)
    bytes += size
  }
  if (current.length > 0) groups.push(current)
  return groups
}

/**
 * Reads a group back.
 *
 * @param sequence of the message, the position of entries that carry none
 * @throws Error when the bytes are not a group; the message is then poison
 */
export function decodeGroup(data: Uint8Array, sequence: number): AdmittedInvocation[] {
  const entries = JSON.parse(Buffer.from(data.buffer, data.byteOffset, data.length).toString('utf8')) as Entry[]
  return entries.map((entry, index) => {
    if (!isEntry(entry)) throw new Error(`entry ${index} of the group has not the form of one`)
    const { t, p, u, g, o, i, r, w, s, k, f, c, e } = entry
    return {
      tenantId: t,
      principal: p,
      ...(u === 1 && { isCostUntrusted: true }),
      ...(g === 1 && { isFromGateway: true }),
      ...(o !== undefined && { intake: o }),
      id: Buffer.from(i, 'hex'),
      receivedAtMs: r,
      position: s === undefined ? { sequence, index } : { sequence: s[0], index: s[1] },
      ...(w !== undefined && { traceparent: w }),
      ...(c !== undefined && { traceServices: c }),
      key: k === undefined ? undefined : parseKey(k, f ?? 0),
      invocation: fromWire(e),
      event: e,
    }
  })
}

/** Which event something is about. */
export type EventName = Pick<AdmittedInvocation, 'tenantId' | 'id'>

/** The events of a message that `decodeGroup` cannot read, as far as they can be identified. */
export function identifyEntries(data: Uint8Array): EventName[] {
  return entriesOf(data).flatMap((entry) => {
    const { t, i } = entry ?? {}
    return typeof t === 'string' && typeof i === 'string' && ID_HEX.test(i)
      ? [{ tenantId: t, id: Buffer.from(i, 'hex') }]
      : []
  })
}

/** The keys of a message that stage A has yet to record, or had: of one that `decodeGroup` cannot read, none. */
export function keysOfGroup(data: Uint8Array): AdmissionKey[] {
  return entriesOf(data).flatMap((entry) => {
    const { k, f } = entry ?? {}
    return typeof k === 'string' && KEY_BASE64.test(k) ? [parseKey(k, f ?? 0)] : []
  })
}

function entriesOf(data: Uint8Array): readonly (Partial<Entry> | null)[] {
  try {
    const entries: unknown = JSON.parse(Buffer.from(data.buffer, data.byteOffset, data.length).toString('utf8'))
    return Array.isArray(entries) ? entries : []
  } catch {
    return []
  }
}

/**
 * Whether a message may hold an event with a wanted id, without decoding it, which takes ten times as long. It overlooks
 * none.
 *
 * @param isWanted of an id in hexadecimal
 */
export function namesAny(data: Uint8Array, isWanted: (id: string) => boolean): boolean {
  const bytes = Buffer.from(data.buffer, data.byteOffset, data.length)
  for (let at = bytes.indexOf(ID_MEMBER); at >= 0; at = bytes.indexOf(ID_MEMBER, at)) {
    at += ID_MEMBER.length
    if (isWanted(bytes.toString('latin1', at, at + 2 * ID_BYTES))) return true
  }
  return false
}

/** What each id follows, and perhaps other texts. Without its first quotation mark it is found four times as fast. */
const ID_MEMBER = Buffer.from('i":"')

/** What goes wrong here is one poison message; later it would fail the insert of a whole batch, again and again. */
const isEntry = ({ t, p, o, i, r, w, s, k, f, c }: Entry): boolean =>
  typeof t === 'string' &&
  typeof p === 'string' &&
  (o === undefined || typeof o === 'string') &&
  typeof i === 'string' &&
  ID_HEX.test(i) &&
  isCount(r) &&
  (w === undefined || typeof w === 'string') &&
  (s === undefined || (isCount(s[0]) && isCount(s[1]))) &&
  (k === undefined || (typeof k === 'string' && KEY_BASE64.test(k))) &&
  (f === undefined || (isCount(f) && f <= 255)) &&
  (c === undefined || (Array.isArray(c) && c.every((service) => typeof service === 'string')))

const isCount = (value: number): boolean => Number.isSafeInteger(value) && value >= 0

const ID_HEX = /^[0-9a-f]{32}$/
const KEY_BASE64 = /^[0-9A-Za-z+/]{32}$/

function parseKey(text: string, flags: number): AdmissionKey {
  const bytes = Buffer.from(text, 'base64')
  return { hash: bytes.subarray(0, KEY_HASH_BYTES), fingerprint: bytes.subarray(KEY_HASH_BYTES), flags }
}

function fromWire(event: InvocationEvent): Invocation {
  const eventTimeMs = parseInstant(event.ingestion_timestamp)
  if (eventTimeMs === undefined) throw new Error('an admitted event has no valid ingestion_timestamp')
  return membersOf(event, eventTimeMs)
}

const SUM_OF_WRITES =
  '(event.cache_write_5m_tokens != null || event.cache_write_1h_tokens != null ' +
  '? (event.cache_write_5m_tokens ?? 0) + (event.cache_write_1h_tokens ?? 0) : undefined)'

/** The members of an invocation, in the order of the event's schema. */
const membersOf: (event: InvocationEvent, eventTimeMs: number) => Invocation = straightLine(
  ['event', 'eventTimeMs'],
  `return ${objectText(
    [...EVENT_FIELD_NAMES].map((field) => {
      if (field === 'ingestion_timestamp') return ['eventTimeMs', 'eventTimeMs']
      if (field === 'event_id') return ['eventId', 'event.event_id.toLowerCase()']
      // The counters by lifetime are parts of this one: a total that is not stated is their sum.
      if (field === 'cache_write_tokens') return ['cacheWriteTokens', `event.${field} ?? ${SUM_OF_WRITES}`]
      return [camelCase(field), `event.${field} ?? undefined`]
    }),
  )}`,
)
