import { createHmac, randomBytes } from 'node:crypto'
import { decodeBase32, encodeBase32 } from './base32.js'
import { type SipKey, sipHash128, sipKey } from './siphash.js'

/**
 * Identifiers: a type prefix, then base32 of 128 bits, of which the first 32 are a keyed tag of the tenant.
 *
 * The tag lets a route tell another tenant's id without a look-up, so that existing and invented foreign ids
 * answer alike. `attr_` and `inv_` of one call share their 128 bits, which derive from tenant and event_id and
 * never change; the read model stores those 16 bytes once.
 */
export type IdPrefix =
  | 'attr'
  | 'inv'
  | 'job'
  | 'evt'
  | 'whk'
  | 'bdg'
  | 'tnt'
  | 'key'
  | 'cli'
  | 'usr'
  | 'con'
  | 'idp'
  | 'mdl'
  | 'dlv'
  | 'svc'
  | 'idn'
  | 'src'
  | 'prn'
  | 'prc'
  | 'chg'
  | 'rea'
  | 'ovr'
  | 'pool'
  | 'mnm'
  | 'mrl'
  | 'ucv'
  | 'dim'
  | 'grp'
  | 'sch'
  | 'sql'
  | 'view'
  | 'ann'

export const ID_BYTES = 16
const TAG_BYTES = 4

export const formatId = (prefix: IdPrefix, bytes: Uint8Array): string => `${prefix}_${encodeBase32(bytes)}`

/** @returns the 16 bytes, or undefined when the text is not an id of that type */
export function parseId(prefix: IdPrefix, text: string): Uint8Array | undefined {
  if (!text.startsWith(`${prefix}_`)) return undefined
  return decodeBase32(text.slice(prefix.length + 1), ID_BYTES)
}

/** Keys for creating and recognising the ids of one tenant; derived once and kept. */
export interface TenantIds {
  readonly tag: Uint8Array
  readonly sip: SipKey
}

/** @param idsKey the instance's secret for ids, 32 bytes; it never changes, else ids would */
export function deriveTenantIds(idsKey: Uint8Array, tenantId: string): TenantIds {
  const derived = createHmac('sha256', idsKey).update(`tenant:${tenantId}`).digest()
  return { tag: derived.subarray(0, TAG_BYTES), sip: sipKey(derived.subarray(16, 32)) }
}

/** `deriveTenantIds`, worked out once per tenant. */
export function tenantIdsCache(idsKey: Uint8Array): (tenantId: string) => TenantIds {
  const known = new Map<string, TenantIds>()
  // Almost always asked for again: a comparison costs a fifth of a look-up.
  let last: { readonly tenantId: string; readonly ids: TenantIds } | undefined
  return (tenantId) => {
    if (last?.tenantId === tenantId) return last.ids
    let ids = known.get(tenantId)
    if (ids === undefined) {
      ids = deriveTenantIds(idsKey, tenantId)
      known.set(tenantId, ids)
    }
    last = { tenantId, ids }
    return ids
  }
}

/** The key under which a tenant's identities are hashed: equal identities of two tenants hash differently. */
export function identityKeysCache(identitiesKey: Uint8Array): (tenantId: string) => SipKey {
  const idsOf = tenantIdsCache(identitiesKey)
  return (tenantId) => idsOf(tenantId).sip
}

export const hasTagOf = (bytes: Uint8Array, { tag }: TenantIds): boolean => tag.every((byte, i) => byte === bytes[i])

export function randomId(prefix: IdPrefix, { tag }: TenantIds): string {
  return formatId(prefix, Buffer.concat([tag, randomBytes(ID_BYTES - TAG_BYTES)]))
}

const hashed = new Uint8Array(16)

/** A tenant's tag, then of a hash as much as fits. Written byte by byte: views and copies of so few bytes cost more. */
function taggedBytes(tag: Uint8Array, hash: Uint8Array, bytes: Uint8Array = new Uint8Array(ID_BYTES)): Uint8Array {
  for (let i = 0; i < TAG_BYTES; i++) bytes[i] = tag[i] as number
  for (let i = TAG_BYTES; i < ID_BYTES; i++) bytes[i] = hash[i - TAG_BYTES] as number
  return bytes
}

/**
 * The 128 bits that `inv_` and `attr_` of one call share.
 *
 * @param eventId the 16 bytes of the event's UUID, so that its spelling does not matter
 * @param into gets them, where they need not be kept
 */
export function invocationIdBytes(ids: TenantIds, eventId: Uint8Array, into?: Uint8Array): Uint8Array {
  sipHash128(ids.sip, eventId, hashed)
  return taggedBytes(ids.tag, hashed, into)
}

/**
 * The id of a named object within its tenant: the same name has the same id, and only the instance can compute it.
 *
 * @param namespace kind of the named object; equal names in different namespaces have different ids
 */
export function idOfName(prefix: IdPrefix, ids: TenantIds, namespace: string, name: string): string {
  sipHash128(ids.sip, Buffer.from(`${namespace}\n${name}`), hashed)
  return formatId(prefix, taggedBytes(ids.tag, hashed))
}

export function isUuid(text: string): boolean {
  if (text.length !== 36) return false
  for (let i = 0; i < 36; i++) {
    const code = text.charCodeAt(i)
    if (i === 8 || i === 13 || i === 18 || i === 23) {
      if (code !== HYPHEN) return false
    } else if (IS_HEX[code] !== 1) return false
  }
  return true
}

const HYPHEN = 0x2d
/** By character code; there is none beyond ASCII. */
const IS_HEX = Uint8Array.from({ length: 128 }, (_, code) => (/[0-9a-f]/i.test(String.fromCharCode(code)) ? 1 : 0))

/**
 * @param text a UUID in its 36-character form, already checked
 * @param into where to write the 16 bytes, for a caller that is done with them before it reads the next UUID;
 *   without it each call makes an array of its own
 */
export function uuidBytes(text: string, into: Uint8Array = new Uint8Array(16)): Uint8Array {
  for (let i = 0; i < 16; i++) {
    const at = PLACES[i] as number
    into[i] = ((NIBBLES[text.charCodeAt(at)] as number) << 4) | (NIBBLES[text.charCodeAt(at + 1)] as number)
  }
  return into
}

export const UUID_CHARACTERS = 36

/** Writes the 36-character form of a UUID, in lower case. */
export function writeUuid(bytes: Uint8Array, into: Uint8Array, at: number): void {
  for (let i = 0; i < 16; i++) {
    const to = at + (PLACES[i] as number)
    const byte = bytes[i] as number
    into[to] = DIGITS[byte >> 4] as number
    into[to + 1] = DIGITS[byte & 15] as number
  }
  for (const place of HYPHEN_PLACES) into[at + place] = HYPHEN
}

const DIGITS = Buffer.from('0123456789abcdef')
const HYPHEN_PLACES = [8, 13, 18, 23]

/** Where the two digits of each byte begin, between the hyphens. */
const PLACES = [0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34]

/** The value of a hexadecimal digit of either case, by its character code. */
const NIBBLES = new Uint8Array(128)
for (let value = 0; value < 16; value++) {
  const digit = value.toString(16)
  NIBBLES[digit.charCodeAt(0)] = value
  NIBBLES[digit.toUpperCase().charCodeAt(0)] = value
}

/** The 16 bytes of an id as 32 hexadecimal digits, lower case. */
export function idHex(bytes: Uint8Array): string {
  let text = ''
  for (let i = 0; i < ID_BYTES; i += 4) {
    text += hex(bytes[i]) + hex(bytes[i + 1]) + hex(bytes[i + 2]) + hex(bytes[i + 3])
  }
  return text
}

const HEX = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'))
const hex = (byte: number | undefined): string => HEX[byte as number] as string
