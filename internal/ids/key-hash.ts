import { type SipKey, sipHash128 } from './siphash.js'

/**
 * The 128-bit hashes under which the admission index knows Idempotency-Keys and event ids. Keyed by a secret of the
 * tenant: equal keys of two tenants differ, and nobody outside can choose keys that meet in one place of a table.
 */

/** A key's 128-bit hash as four words, of which every bit must be as good as random: tables address by them. */
export type KeyHash = Int32Array

/**
 * Hashes an Idempotency-Key in its canonical form, so that spelling does not matter: bare or as the quoted string of
 * a structured field, in either case. A UUID and a ULID of equal bytes are different keys.
 *
 * @param tenantKey the same on every gateway and after every start
 * @param route number of the route, 0 to 127: keys live per (tenant, route, key)
 * @param text the header's value
 * @param out gets the four words
 * @returns false for a text that is neither a UUID nor a ULID; `out` is then left alone
 */
export function hashIdempotencyKey(tenantKey: SipKey, route: number, text: string, out: KeyHash): boolean {
  const isQuoted = text.charCodeAt(0) === QUOTE
  if (isQuoted && text.charCodeAt(text.length - 1) !== QUOTE) return false
  const start = isQuoted ? 1 : 0
  const length = text.length - 2 * start
  const isUlid = length === ULID_CHARACTERS
  if (!(isUlid ? readUlid(text, start) : length === UUID_CHARACTERS && readUuid(text, start))) return false
  keyBytes[16] = (route << 1) | (isUlid ? 1 : 0)
  sipHash128(tenantKey, keyBytes, hashBytes)
  for (let i = 0; i < hashWords.length; i++) out[i] = hashWords[i] as number
  return true
}

/**
 * The hash of an event id, from the id that derives from it (`invocationIdBytes`): 32 bits of the tenant, 96 bits of
 * keyed hash. The tenant's bits, equal for all its events, are spread by the hash's: the table addresses by them too.
 *
 * @param id 16 bytes, from `at`
 */
export function hashOfInvocationId(id: Uint8Array, out: KeyHash, at = 0): void {
  const word1 = wordAt(id, at + 4)
  out[0] = wordAt(id, at) ^ Math.imul(word1 ^ (word1 >>> 15), 0x2c1b3c6d)
  out[1] = word1
  out[2] = wordAt(id, at + 8)
  out[3] = wordAt(id, at + 12)
}

const wordAt = (bytes: Uint8Array, at: number): number =>
  (bytes[at] ?? 0) | ((bytes[at + 1] ?? 0) << 8) | ((bytes[at + 2] ?? 0) << 16) | ((bytes[at + 3] ?? 0) << 24)

const QUOTE = 0x22
const DASH = 0x2d
const UUID_CHARACTERS = 36
const ULID_CHARACTERS = 26
const INVALID = 255

/** The key's 16 bytes, then its route and form. */
const keyBytes = new Uint8Array(17)
const hashWords = new Int32Array(4)
const hashBytes = new Uint8Array(hashWords.buffer)

const valuesOf = (alphabet: string): Uint8Array => {
  const values = new Uint8Array(128).fill(INVALID)
  for (const [value, character] of [...alphabet].entries()) {
    values[character.charCodeAt(0)] = value
    values[character.toUpperCase().charCodeAt(0)] = value
  }
  return values
}
const HEX = valuesOf('0123456789abcdef')
/** Crockford's; I, L, O and U do not occur in a ULID. */
const BASE32 = valuesOf('0123456789abcdefghjkmnpqrstvwxyz')

const valueAt = (values: Uint8Array, text: string, at: number): number => values[text.charCodeAt(at)] ?? INVALID

function readUuid(text: string, start: number): boolean {
  let at = start
  for (let i = 0; i < 16; i++) {
    if (i === 4 || i === 6 || i === 8 || i === 10) {
      if (text.charCodeAt(at) !== DASH) return false
      at++
    }
    const high = valueAt(HEX, text, at)
    const low = valueAt(HEX, text, at + 1)
    if (high === INVALID || low === INVALID) return false
    keyBytes[i] = (high << 4) | low
    at += 2
  }
  return true
}

/** 26 characters carry 130 bits; the two highest must be zero. */
function readUlid(text: string, start: number): boolean {
  let held = valueAt(BASE32, text, start)
  if (held > 7) return false
  let bits = 3
  let to = 0
  for (let i = 1; i < ULID_CHARACTERS; i++) {
    const value = valueAt(BASE32, text, start + i)
    if (value === INVALID) return false
    held = (held << 5) | value
    bits += 5
    if (bits >= 8) {
      bits -= 8
      keyBytes[to++] = held >>> bits
      held &= (1 << bits) - 1
    }
  }
  return true
}

/** The words as bytes, low byte first. */
export const bytesOf = (words: Int32Array): Uint8Array =>
  new Uint8Array(words.buffer, words.byteOffset, words.byteLength)

/** The words of bytes, four to a word, low byte first. */
export const wordsOf = (bytes: Uint8Array): Int32Array => new Int32Array(Uint8Array.from(bytes).buffer)

export const hexOf = (words: Int32Array): string => Buffer.from(bytesOf(words)).toString('hex')
