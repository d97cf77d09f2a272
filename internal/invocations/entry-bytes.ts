import { ID_BYTES } from '../ids/ids.js'
import {
  type Admission,
  type AdmissionKey,
  encodeEntry,
  headOf,
  KEY_FINGERPRINT_BYTES,
  KEY_HASH_BYTES,
  traceMember,
} from './invocation-group.js'
import type { InvocationEvent } from './invocation-schema.js'
import type { TextShape } from './validate-invocation.js'

/**
 * Writes entries of a group as bytes, the event's own text taken over as it came. It is the same form as
 * `encodeEntry` makes, at a quarter of the cost: an event is neither made into a string again nor encoded.
 */

/** An event that was parsed and checked. */
export interface ParsedEvent {
  readonly event: InvocationEvent
  readonly shape: TextShape
}

/** Valid JSON in UTF-8, within other bytes. */
export interface TextRange {
  readonly bytes: Buffer
  readonly start: number
  readonly end: number
}

/** Upper bound of an entry's bytes, so that its writer can reserve the space. */
export const entryBytesMax = ({ tenantId, principal }: Admission, { start, end }: TextRange): number =>
  (tenantId.length + principal.length) * ESCAPED_BYTES_MAX + FIXED_BYTES_MAX + end - start

/** A character of a JSON text takes six bytes at most, as `\u0000`. */
const ESCAPED_BYTES_MAX = 6
/** Everything but tenant, principal and text; numbers may grow when they are rewritten (`9e15`). */
const FIXED_BYTES_MAX = 1024

/**
 * Writes one entry, without what parts it from others.
 *
 * @param text of the event
 * @param parsed the parsed text; undefined if the text is known to hold only fields that are kept
 * @returns where it ends
 */
export function writeEntry(
  into: Buffer,
  at: number,
  admission: Admission,
  text: TextRange,
  parsed: ParsedEvent | undefined,
): number {
  if (parsed === undefined || parsed.shape.members > 0) {
    const textAt = writeHead(into, at, admission)
    if (parsed === undefined) text.bytes.copy(into, textAt, text.start, text.end)
    if (parsed === undefined || copyText(text, into, textAt, parsed.shape)) {
      const end = textAt + text.end - text.start
      into[end] = CLOSE_OBJECT
      return end + 1
    }
  }
  return at + into.write(encodeEntry(admission, parsed.event), at, 'utf8')
}

/**
 * Copies a JSON text, if it holds nothing but the value that was parsed from it, and was checked: a text that names a
 * member twice holds two values, of which only the last was seen. It then has more members than the value, and more
 * bytes than it takes: one that has just these bytes needs no counting.
 */
function copyText({ bytes, start, end }: TextRange, into: Buffer, to: number, shape: TextShape): boolean {
  if (end - start === shape.bytesMin) {
    bytes.copy(into, to, start, end)
    return true
  }
  const shift = to - start
  let members = 0
  let isString = false
  for (let at = start; at < end; at++) {
    let byte = bytes[at] as number
    into[at + shift] = byte
    if (byte === QUOTE) isString = !isString
    else if (isString) {
      if (byte === BACKSLASH) {
        byte = bytes[++at] as number
        into[at + shift] = byte
      }
    } else if (byte === COLON) members++
  }
  return members === shape.members
}

const QUOTE = 0x22
const COLON = 0x3a
const BACKSLASH = 0x5c
const CLOSE_OBJECT = 0x7d

/**
 * `{"t":...,"p":...,"i":"<hex>","r":<ms>,"k":"<base64>","e":`; after the time `"w":"<traceparent>"` for a sampled
 * event
 */
function writeHead(into: Buffer, at: number, admission: Admission): number {
  const head = headBytesOf(admission)
  into.set(head, at)
  const idAt = at + head.length
  for (let i = 0; i < ID_BYTES; i++) {
    const byte = admission.id[i] as number
    into[idAt + 2 * i] = HEX_DIGITS[byte >> 4] as number
    into[idAt + 2 * i + 1] = HEX_DIGITS[byte & 15] as number
  }
  const timeAt = idAt + 2 * ID_BYTES
  const { key, receivedAtMs } = admission
  const hasKey = key !== undefined
  const time =
    admission.traceparent !== undefined
      ? Buffer.from(`","r":${receivedAtMs}${traceMember(admission)},${hasKey ? '"k":"' : '"e":'}`)
      : timeBytes(receivedAtMs, hasKey)
  into.set(time, timeAt)
  const keyAt = timeAt + time.length
  if (key === undefined) return keyAt
  const end = writeKey(into, keyAt, key)
  const rest = key.flags === 0 ? KEY_END : Buffer.from(`","f":${key.flags},"e":`)
  into.set(rest, end)
  return end + rest.length
}

/** `headOf` as bytes; the one of the last sender is at hand. */
function headBytesOf(admission: Admission): Buffer {
  const head = headOf(admission)
  if (head !== lastHead) {
    lastHead = head
    lastHeadBytes = Buffer.from(head)
  }
  return lastHeadBytes
}

let lastHead = ''
let lastHeadBytes = Buffer.alloc(0)

/** The bytes between the id and the key, or the event if there is no key; many events share one millisecond. */
function timeBytes(receivedAtMs: number, hasKey: boolean): Buffer {
  if (receivedAtMs !== lastTimeMs) {
    lastTimeMs = receivedAtMs
    lastTimeWithKey = Buffer.from(`","r":${receivedAtMs},"k":"`)
    lastTimeWithout = Buffer.from(`","r":${receivedAtMs},"e":`)
  }
  return hasKey ? lastTimeWithKey : lastTimeWithout
}

let lastTimeMs = Number.NaN
let lastTimeWithKey = Buffer.alloc(0)
let lastTimeWithout = Buffer.alloc(0)
const KEY_END = Buffer.from('","e":')

/** Base64 of the key's 24 bytes, which needs no padding. */
function writeKey(into: Buffer, at: number, { hash, fingerprint }: AdmissionKey): number {
  for (let i = 0; i < KEY_HASH_BYTES; i++) keyBytes[i] = hash[i] as number
  for (let i = 0; i < KEY_FINGERPRINT_BYTES; i++) keyBytes[KEY_HASH_BYTES + i] = fingerprint[i] as number
  let to = at
  for (let i = 0; i < keyBytes.length; i += 3) {
    const bits = ((keyBytes[i] as number) << 16) | ((keyBytes[i + 1] as number) << 8) | (keyBytes[i + 2] as number)
    into[to] = BASE64_DIGITS[bits >> 18] as number
    into[to + 1] = BASE64_DIGITS[(bits >> 12) & 63] as number
    into[to + 2] = BASE64_DIGITS[(bits >> 6) & 63] as number
    into[to + 3] = BASE64_DIGITS[bits & 63] as number
    to += 4
  }
  return to
}

const keyBytes = new Uint8Array(KEY_HASH_BYTES + KEY_FINGERPRINT_BYTES)
const HEX_DIGITS = Buffer.from('0123456789abcdef')
const BASE64_DIGITS = Buffer.from('ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/')
