/**
 * SHA-1 (RFC 3174) of short texts. An object of `node:crypto` costs each hash several times what it computes, and
 * `crypto.hash` is younger than the oldest Node that this runs on.
 */

const BLOCK_BYTES = 64
/** The one bit and the length at the end. */
const PADDING_BYTES_MIN = 9
const schedule = new Int32Array(80)
const state = new Int32Array(5)

/** Bytes that a buffer needs beyond its message: the padding. */
export const SHA1_PADDING_BYTES_MAX = BLOCK_BYTES - 1 + PADDING_BYTES_MIN

/**
 * @param bytes the message, and room for the padding behind it, which is overwritten
 * @param length of the message, below 2^28
 * @returns the five words of the digest, valid until the next call
 */
export function sha1(bytes: Uint8Array, length: number): Int32Array {
  const padded = Math.ceil((length + PADDING_BYTES_MIN) / BLOCK_BYTES) * BLOCK_BYTES
  if (padded > bytes.length) throw new RangeError('no room for the padding')
  for (let i = length + 1; i < padded; i++) bytes[i] = 0
  bytes[length] = 0x80
  const bits = length * 8
  for (let i = 1; i <= 4; i++) bytes[padded - i] = bits >>> (8 * (i - 1))

  state[0] = 0x67452301
  state[1] = 0xefcdab89
  state[2] = 0x98badcfe
  state[3] = 0x10325476
  state[4] = 0xc3d2e1f0
  for (let at = 0; at < padded; at += BLOCK_BYTES) addBlock(bytes, at)
  return state
}

function addBlock(bytes: Uint8Array, at: number): void {
  for (let i = 0; i < 16; i++) {
    const from = at + 4 * i
    schedule[i] =
      ((bytes[from] as number) << 24) |
      ((bytes[from + 1] as number) << 16) |
      ((bytes[from + 2] as number) << 8) |
      (bytes[from + 3] as number)
  }
  for (let i = 16; i < 80; i++) {
    const mix = word(i - 3) ^ word(i - 8) ^ word(i - 14) ^ word(i - 16)
    schedule[i] = (mix << 1) | (mix >>> 31)
  }
  let a = state[0] as number
  let b = state[1] as number
  let c = state[2] as number
  let d = state[3] as number
  let e = state[4] as number
  // A loop for each of the four functions: a choice in every round would cost as much as the round.
  for (let i = 0; i < 20; i++) {
    const next = (rotated(a, 5) + ((b & c) | (~b & d)) + e + 0x5a827999 + word(i)) | 0
    e = d
    d = c
    c = rotated(b, 30)
    b = a
    a = next
  }
  for (let i = 20; i < 40; i++) {
    const next = (rotated(a, 5) + (b ^ c ^ d) + e + 0x6ed9eba1 + word(i)) | 0
    e = d
    d = c
    c = rotated(b, 30)
    b = a
    a = next
  }
  for (let i = 40; i < 60; i++) {
    const next = (rotated(a, 5) + ((b & c) | (b & d) | (c & d)) + e - 0x70e44324 + word(i)) | 0
    e = d
    d = c
    c = rotated(b, 30)
    b = a
    a = next
  }
  for (let i = 60; i < 80; i++) {
    const next = (rotated(a, 5) + (b ^ c ^ d) + e - 0x359d3e2a + word(i)) | 0
    e = d
    d = c
    c = rotated(b, 30)
    b = a
    a = next
  }
  state[0] = (state[0] as number) + a
  state[1] = (state[1] as number) + b
  state[2] = (state[2] as number) + c
  state[3] = (state[3] as number) + d
  state[4] = (state[4] as number) + e
}

const word = (i: number): number => schedule[i] as number
const rotated = (value: number, bits: number): number => (value << bits) | (value >>> (32 - bits))
