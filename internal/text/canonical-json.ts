/**
 * Values with one canonical text: JSON whose numbers are whole and exact. Other numbers (a rate, a price) are given
 * as decimal strings, as everywhere on the wire.
 */
export type CanonicalValue =
  | string
  | number
  | boolean
  | null
  | readonly CanonicalValue[]
  | { readonly [name: string]: CanonicalValue | undefined }

/**
 * The JSON Canonicalization Scheme (RFC 8785): no white space, members sorted by the UTF-16 code units of their names,
 * strings and numbers as ECMAScript writes them. Members that are undefined are left out.
 *
 * @throws TypeError for a number that is not whole or not exact, and for a lone surrogate (RFC 8785 3.2.2.2)
 */
export function canonicalJson(value: CanonicalValue): string {
  if (typeof value === 'string') return canonicalString(value)
  if (typeof value === 'number') {
    if (!Number.isSafeInteger(value)) throw new TypeError(`${value} has no canonical form here`)
    return JSON.stringify(value)
  }
  if (typeof value === 'boolean' || value === null) return String(value)
  if (Array.isArray(value)) return `[${(value as readonly CanonicalValue[]).map(canonicalJson).join(',')}]`
  // Without a comparison of its own, sort compares UTF-16 code units.
  const members = Object.entries(value as { readonly [name: string]: CanonicalValue | undefined })
    .filter((member): member is [string, CanonicalValue] => member[1] !== undefined)
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([name, member]) => `${canonicalString(name)}:${canonicalJson(member)}`)
  return `{${members.join(',')}}`
}

function canonicalString(text: string): string {
  if (LONE_SURROGATE.test(text)) throw new TypeError('a lone surrogate has no canonical form')
  return JSON.stringify(text)
}

/** With the flag `u` a pair is one character, so that only lone ones match. */
const LONE_SURROGATE = /[\ud800-\udfff]/u
