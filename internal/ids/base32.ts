/**
 * Base32 in Crockford's alphabet, lower case. Its characters are in ASCII order, so that encoded ids of equal
 * length sort as their bytes do. Canonical: unused low bits of the last character are zero.
 */
const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz'
const VALUES = new Map([...ALPHABET].map((character, value) => [character, value]))

export const encodeBase32 = (bytes: Uint8Array): string => {
  if (bytes.length !== 16) return encodeAny(bytes)
  writeBase32(bytes, digits, 0)
  return digits.toString('latin1')
}

/** Characters of 16 bytes, an id. */
export const ID_CHARACTERS = 26
const digits = Buffer.alloc(ID_CHARACTERS)
const CHARACTERS = Buffer.from(ALPHABET)

/**
 * Writes the 26 characters of 16 bytes to `into`: three times five bytes are eight characters each, one byte remains.
 */
export function writeBase32(bytes: Uint8Array, into: Uint8Array, offset: number): void {
  let to = offset
  for (let i = 0; i < 15; i += 5) {
    const high = (at(bytes, i) << 12) | (at(bytes, i + 1) << 4) | (at(bytes, i + 2) >> 4)
    const low = ((at(bytes, i + 2) & 15) << 16) | (at(bytes, i + 3) << 8) | at(bytes, i + 4)
    into[to] = character(high >> 15)
    into[to + 1] = character((high >> 10) & 31)
    into[to + 2] = character((high >> 5) & 31)
    into[to + 3] = character(high & 31)
    into[to + 4] = character(low >> 15)
    into[to + 5] = character((low >> 10) & 31)
    into[to + 6] = character((low >> 5) & 31)
    into[to + 7] = character(low & 31)
    to += 8
  }
  into[to] = character(at(bytes, 15) >> 3)
  into[to + 1] = character((at(bytes, 15) & 7) << 2)
}

const at = (bytes: Uint8Array, index: number): number => bytes[index] as number
const character = (bits: number): number => CHARACTERS[bits] as number

function encodeAny(bytes: Uint8Array): string {
  let text = ''
  let bits = 0
  let held = 0
  for (const byte of bytes) {
    held = (held << 8) | byte
    bits += 8
    while (bits >= 5) {
      bits -= 5
      text += ALPHABET[(held >>> bits) & 31]
    }
    held &= (1 << bits) - 1
  }
  if (bits > 0) text += ALPHABET[(held << (5 - bits)) & 31]
  return text
}

/** @returns the bytes, or undefined for a text that `encodeBase32` does not make from `length` bytes */
export function decodeBase32(text: string, length: number): Uint8Array | undefined {
  if (text.length !== Math.ceil((length * 8) / 5)) return undefined
  const bytes = new Uint8Array(length)
  let at = 0
  let bits = 0
  let held = 0
  for (const character of text) {
    const value = VALUES.get(character)
    if (value === undefined) return undefined
    held = (held << 5) | value
    bits += 5
    if (bits >= 8) {
      bits -= 8
      bytes[at++] = held >>> bits
      held &= (1 << bits) - 1
    }
  }
  return held === 0 ? bytes : undefined
}
