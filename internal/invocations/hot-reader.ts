import { OUTCOMES, SERVICE_TIERS, SPEEDS, USAGE_BASES } from '../text/call-words.js'
import { isContentKey } from '../text/content-keys.js'
import { readEventTime } from '../text/event-time.js'
import { IS_MODEL_ASCII, isAmount } from '../text/plain-text.js'
import {
  EVENT_FIELDS,
  type InvocationEvent,
  MODEL_NAME,
  NAME,
  OPTIONAL_AMOUNT,
  OPTIONAL_COUNT,
  OPTIONAL_FLAG,
  OPTIONAL_MODEL_NAME,
  OPTIONAL_NAME,
  TAGS_MAX,
} from './invocation-schema.js'

/** The fields read from an event in the common form; overwritten by each call. */
export interface UsualEvent {
  /** The bytes of its UUID. */
  readonly uuid: Uint8Array
  ingestionLayer: string
}

/** Reads a value. @returns where it ends; `UNUSUAL` when it is not surely a valid one */
type Form = (bytes: Buffer, start: number, end: number) => number

const UNUSUAL = -1

/**
 * Reads an event in the common form from its bytes, without making objects of it, at a fraction of what it costs to
 * parse and to check it: ASCII without escapes, the schema's fields alone, each once, without nulls and line breaks
 * within. `validateInvocation` certainly accepts such a text, and it holds only fields that are kept. Of any other text
 * it says only that it is not usual: whether it is valid is then to be seen.
 *
 * @param nowMs against which the event's time is checked
 * @returns the fields, valid until the next call; undefined if the text is not in the common form
 */
export function readUsualText(
  bytes: Buffer,
  start: number,
  end: number,
  nowMs: number,
  retainedFromMs = 0,
): UsualEvent | undefined {
  begin(nowMs, retainedFromMs)
  let seen = 0
  let seenBeyond = 0
  let previous = FORMS.length
  let at = skipSpaces(bytes, start, end)
  if (bytes[at] !== OPEN_OBJECT) return undefined
  do {
    at = skipSpaces(bytes, at + 1, end)
    const place = fieldAt(bytes, at, end, previous)
    const form = FORMS[place]
    const bit = 1 << place // of its word: shifts count modulo 32
    if (form === undefined || ((place < WORD_BITS ? seen : seenBeyond) & bit) !== 0) return undefined
    if (place < WORD_BITS) seen |= bit
    else seenBeyond |= bit
    previous = place
    at = skipSpaces(bytes, at + keyLength(place), end)
    if (at >= end || bytes[at] !== COLON) return undefined
    at = form(bytes, skipSpaces(bytes, at + 1, end), end)
    if (at === UNUSUAL) return undefined
    at = skipSpaces(bytes, at, end)
  } while (at < end && bytes[at] === COMMA)
  if (at >= end || bytes[at] !== CLOSE_OBJECT || (seen & REQUIRED) !== REQUIRED) return undefined
  return isBlank(bytes, at + 1, end) ? found : undefined
}

/** A member of an object that was written here: its value stands between two offsets, and its key once. */
export interface WrittenMember {
  /** By `placeOf`. */
  readonly place: number
  readonly start: number
  readonly end: number
  /** Whether this very value has been read before, with nothing to be seen in it but that it is a valid one. */
  isUsual: boolean
}

/** The place of a field among the schema's; -1 if it is not in it. */
export const placeOf = (field: string): number => (NAMES as readonly string[]).indexOf(field)

/**
 * What `readUsualText` says of a text of these members, which were written one after the other without anything
 * between.
 */
export function readUsualMembers(
  bytes: Buffer,
  members: readonly WrittenMember[],
  count: number,
  nowMs: number,
  retainedFromMs = 0,
): UsualEvent | undefined {
  begin(nowMs, retainedFromMs)
  let seen = 0
  for (let i = 0; i < count; i++) {
    const member = members[i] as WrittenMember
    const { place, end } = member
    if (place < WORD_BITS) seen |= 1 << place
    if (member.isUsual) continue
    const form = FORMS[place]
    if (form === undefined || form(bytes, member.start, end) !== end) return undefined
    member.isUsual = IS_LASTING[place] === 1
  }
  return (seen & REQUIRED) === REQUIRED ? found : undefined
}

function begin(nowMs: number, retainedFromMs: number): void {
  clockMs = nowMs
  earliestMs = retainedFromMs
}

const found: UsualEvent = { uuid: new Uint8Array(16), ingestionLayer: '' }
let clockMs = 0
let earliestMs = 0

/** @returns the index of the field with the key at this offset; -1 if it is not in the schema */
function fieldAt(bytes: Buffer, at: number, end: number, previous: number): number {
  const likely = following[previous] as number
  if (isKeyAt(bytes, at, end, likely)) return likely
  for (let place = 0; place < FORMS.length; place++) {
    if (isKeyAt(bytes, at, end, place)) {
      following[previous] = place
      return place
    }
  }
  return -1
}

function isKeyAt(bytes: Buffer, at: number, end: number, place: number): boolean {
  const length = keyLength(place)
  if (at + length > end) return false
  const key = KEY_STARTS[place] as number
  for (let i = 0; i < length; i++) if (bytes[at + i] !== KEYS[key + i]) return false
  return true
}

const keyLength = (place: number): number => (KEY_STARTS[place + 1] as number) - (KEY_STARTS[place] as number)

function skipSpaces(bytes: Buffer, from: number, end: number): number {
  let at = from
  while (at < end && bytes[at] === SPACE) at++
  return at
}

function isBlank(bytes: Buffer, from: number, end: number): boolean {
  for (let at = from; at < end; at++) {
    const byte = bytes[at]
    if (byte !== SPACE && byte !== LINE_FEED && byte !== CARRIAGE_RETURN) return false
  }
  return true
}

/** A string of 1 to 256 characters. @param isAllowed by the byte */
function textIn(isAllowed: Uint8Array, bytes: Buffer, start: number, end: number): number {
  if (start >= end || bytes[start] !== QUOTE) return UNUSUAL
  let at = start + 1
  while (at < end && isAllowed[bytes[at] as number] === 1) at++
  const length = at - start - 1
  return at < end && bytes[at] === QUOTE && length >= 1 && length <= NAME_MAX ? at + 1 : UNUSUAL
}

const name: Form = (bytes, start, end) => textIn(IS_PLAIN, bytes, start, end)
const modelName: Form = (bytes, start, end) => textIn(IS_MODEL, bytes, start, end)

function eventId(bytes: Buffer, start: number, end: number): number {
  if (start + UUID_CHARACTERS + 2 > end || bytes[start] !== QUOTE) return UNUSUAL
  const { uuid } = found
  let at = start + 1
  for (let i = 0; i < 16; i++) {
    if ((i === 4 || i === 6 || i === 8 || i === 10) && bytes[at++] !== HYPHEN) return UNUSUAL
    const byte = ((HEX[bytes[at] as number] as number) << 4) | (HEX[bytes[at + 1] as number] as number)
    if (byte > 0xff) return UNUSUAL
    uuid[i] = byte
    at += 2
  }
  return bytes[at] === QUOTE ? at + 1 : UNUSUAL
}

/** Nearly always the one of the last event, of which no string has to be made. */
function layer(bytes: Buffer, start: number, end: number): number {
  const after = name(bytes, start, end)
  if (after === UNUSUAL) return UNUSUAL
  const { ingestionLayer: last } = found
  let isLast = after - start - 2 === last.length
  for (let i = 0; isLast && i < last.length; i++) isLast = bytes[start + 1 + i] === last.charCodeAt(i)
  if (!isLast) found.ingestionLayer = bytes.toString('latin1', start + 1, after - 1)
  return after
}

/** One to sixteen tags: their keys are looked for among those that were seen before, and are no content keys. */
function tags(bytes: Buffer, start: number, end: number): number {
  if (start >= end || bytes[start] !== OPEN_OBJECT) return UNUSUAL
  tagsRead++
  let at = start
  let members = 0
  do {
    const keyStart = skipSpaces(bytes, at + 1, end)
    const keyEnd = name(bytes, keyStart, end)
    if (keyEnd === UNUSUAL || ++members > TAGS_MAX || !isNewTagKey(bytes, keyStart + 1, keyEnd - 1)) return UNUSUAL
    at = skipSpaces(bytes, keyEnd, end)
    if (at >= end || bytes[at] !== COLON) return UNUSUAL
    at = name(bytes, skipSpaces(bytes, at + 1, end), end)
    if (at === UNUSUAL) return UNUSUAL
    at = skipSpaces(bytes, at, end)
  } while (at < end && bytes[at] === COMMA)
  return at < end && bytes[at] === CLOSE_OBJECT ? at + 1 : UNUSUAL
}

/** How many events' tags were read: marks the keys of the current one. */
let tagsRead = 0
const TAG_KEY_BYTES_MAX = 64
const TAG_SLOTS = 1_024
const TAG_SLOT_BYTES = TAG_KEY_BYTES_MAX + 1
/** The last key of each slot that may be one of a tag: its length and its bytes. */
const tagKeys = new Uint8Array(TAG_SLOTS * TAG_SLOT_BYTES)
const tagKeysReadIn = new Float64Array(TAG_SLOTS)

/**
 * Whether a key may be that of a tag, and no other tag of the event has it. Keys are the same few in most events: no
 * string is made of one that was seen before. Of two keys with one slot, the second is refused, as a key that comes
 * twice is.
 */
function isNewTagKey(bytes: Buffer, start: number, end: number): boolean {
  const length = end - start
  if (length > TAG_KEY_BYTES_MAX) return false
  let hash = length
  for (let i = start; i < end; i++) hash = (Math.imul(hash, 31) + (bytes[i] as number)) | 0
  const slot = (hash ^ (hash >>> 15)) & (TAG_SLOTS - 1)
  if (tagKeysReadIn[slot] === tagsRead) return false
  tagKeysReadIn[slot] = tagsRead
  const known = slot * TAG_SLOT_BYTES
  let isKnown = tagKeys[known] === length
  for (let i = 0; isKnown && i < length; i++) isKnown = tagKeys[known + 1 + i] === bytes[start + i]
  if (isKnown) return true
  const key = bytes.toString('latin1', start, end)
  if (isContentKey(key) || key === '__proto__') return false
  tagKeys[known] = length
  for (let i = 0; i < length; i++) tagKeys[known + 1 + i] = bytes[start + i] as number
  return true
}

/** Objects of few events. */
const unusual: Form = () => UNUSUAL

/** A string that has to be looked at as a whole. */
const text =
  (isValid: (text: string) => boolean): Form =>
  (bytes, start, end) => {
    const after = name(bytes, start, end)
    return after !== UNUSUAL && isValid(bytes.toString('latin1', start + 1, after - 1)) ? after : UNUSUAL
  }

/** A count that is written in digits alone, up to 15 of them. */
function count(bytes: Buffer, start: number, end: number): number {
  let at = start
  while (at < end && isDigit(bytes[at])) at++
  const digits = at - start
  const isUsual = digits === 1 || (digits > 1 && digits <= 15 && bytes[start] !== ZERO)
  return isUsual ? at : UNUSUAL
}

/** `true` or `false`. */
function boolean(bytes: Buffer, start: number, end: number): number {
  const word = bytes[start] === TRUE[0] ? TRUE : FALSE
  if (start + word.length > end) return UNUSUAL
  for (let i = 0; i < word.length; i++) if (bytes[start + i] !== word[i]) return UNUSUAL
  return start + word.length
}

/** A confidence as nearly all are written: `0`, or `0.` and up to three digits. */
function confidence(bytes: Buffer, start: number, end: number): number {
  if (start >= end || bytes[start] !== ZERO) return UNUSUAL
  if (start + 1 >= end || bytes[start + 1] !== POINT) return start + 1
  const fraction = start + 2
  let at = fraction
  let thousandths = 0
  for (let unit = 100; at < end && isDigit(bytes[at]); unit /= 10)
    thousandths += unit * ((bytes[at++] as number) - ZERO)
  const isUsual = at > fraction && at - fraction <= 3 && thousandths <= 950
  return isUsual ? at : UNUSUAL
}

const isDigit = (byte: number | undefined): boolean => byte !== undefined && byte >= ZERO && byte <= NINE

const NAME_MAX = 256
const UUID_CHARACTERS = 36
const SPACE = 0x20
const LINE_FEED = 0x0a
const CARRIAGE_RETURN = 0x0d
const QUOTE = 0x22
const COMMA = 0x2c
const HYPHEN = 0x2d
const POINT = 0x2e
const ZERO = 0x30
const NINE = 0x39
const COLON = 0x3a
const BACKSLASH = 0x5c
const OPEN_OBJECT = 0x7b
const CLOSE_OBJECT = 0x7d
const TRUE = Buffer.from('true')
const FALSE = Buffer.from('false')
/** Printable ASCII that needs no escape in a JSON string. */
const IS_PLAIN = Uint8Array.from({ length: 256 }, (_, byte) =>
  byte >= SPACE && byte <= 0x7e && byte !== QUOTE && byte !== BACKSLASH ? 1 : 0,
)
const IS_MODEL = Uint8Array.from({ length: 256 }, (_, byte) => IS_MODEL_ASCII[byte] ?? 0)
/** The value of a hexadecimal digit of either case; for other bytes, one outside the range of a byte. */
const HEX = Uint16Array.from({ length: 256 }, (_, byte) => {
  const digit = String.fromCharCode(byte)
  return /[0-9a-f]/i.test(digit) ? Number.parseInt(digit, 16) : 0x100
})

const amount = text(isAmount)
/** One of a closed list. */
const oneOf = (words: readonly string[]): Form => text((word) => words.includes(word))
/** Schemas that fields share. Their form follows from the schema. */
const SHARED: readonly (readonly [SharedSchema, Form])[] = [
  [NAME, name],
  [OPTIONAL_NAME, name],
  [MODEL_NAME, modelName],
  [OPTIONAL_MODEL_NAME, modelName],
  [OPTIONAL_COUNT, count],
  [OPTIONAL_FLAG, boolean],
  [OPTIONAL_AMOUNT, amount],
]
type SharedSchema =
  | typeof NAME
  | typeof OPTIONAL_NAME
  | typeof OPTIONAL_COUNT
  | typeof OPTIONAL_FLAG
  | typeof OPTIONAL_AMOUNT
type FieldOfItsOwn = {
  [F in keyof typeof EVENT_FIELDS]: (typeof EVENT_FIELDS)[F] extends SharedSchema ? never : F
}[keyof typeof EVENT_FIELDS]
/**
 * Every other field has a form of its own here: an event with a field without one would always be parsed as a whole.
 */
const OWN_FORMS: Readonly<Record<FieldOfItsOwn, Form> & Partial<Record<keyof InvocationEvent, Form>>> = {
  event_id: eventId,
  ingestion_layer: layer,
  ingestion_timestamp: text((instant) => (readEventTime(instant, clockMs) ?? -1) >= earliestMs),
  service_tier: oneOf(SERVICE_TIERS),
  speed: oneOf(SPEEDS),
  billed_units: unusual,
  provider_usage: unusual,
  usage_basis: oneOf(USAGE_BASES),
  outcome: oneOf(OUTCOMES),
  trace_id: name,
  attribution_confidence: confidence,
  tags,
}
const FORM_OF_SCHEMA = new Map<unknown, Form>(SHARED)
const formOf = (field: keyof InvocationEvent): Form => {
  const form = OWN_FORMS[field] ?? FORM_OF_SCHEMA.get(EVENT_FIELDS[field])
  // To the compiler, a text with a pattern of its own is like one that shares its schema.
  if (form === undefined) throw new RangeError(`the fast reader has no form for ${field}`)
  return form
}
const NAMES = Object.keys(EVENT_FIELDS) as (keyof InvocationEvent)[]
const WORD_BITS = 32
// A field beyond would silently share another field's bit.
if (NAMES.length > 2 * WORD_BITS) throw new RangeError('the fast reader marks fields in two words of 32 bits')
/** By their places in `NAMES`. */
const FORMS = NAMES.map(formOf)
/** What each event tells by them, or the clock says of them, is of that event alone. */
const READ_EACH_TIME: readonly string[] = ['event_id', 'ingestion_layer', 'ingestion_timestamp', 'trace_id']
/** By place: whether a text that was valid once always is, and nothing more is read of it. */
const IS_LASTING = Uint8Array.from(NAMES, (field) => (READ_EACH_TIME.includes(field) ? 0 : 1))
/** Their keys as they are written, one behind the other: near one another, and read without an object between. */
const KEYS = Buffer.from(NAMES.map((field) => `"${field}"`).join(''))
const KEY_STARTS = new Int32Array(NAMES.length + 1)
for (const [place, field] of NAMES.entries()) {
  KEY_STARTS[place + 1] = (KEY_STARTS[place] as number) + field.length + 2
}
/** A bit each, by its place, of the fields that every event has: all in the first word. */
const REQUIRED = NAMES.reduce((bits, field, place) => {
  const isOptional = EVENT_FIELDS[field].safeParse(undefined).success
  if (!isOptional && place >= WORD_BITS) throw new RangeError('the fast reader has required fields in its first word')
  return isOptional ? bits : bits | (1 << place)
}, 0)
/** The field that followed each one in the last event that had it; the last index is for the first field. */
const following = new Uint8Array(NAMES.length + 1)
