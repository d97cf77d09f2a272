import type { Fingerprint } from '../../repeats/key-table.js'

/**
 * Distinguishes request bodies: 64 bits over the raw bytes, keyed, not cryptographic.
 *
 * Two bodies that were not made to collide do so with a chance of about 2^-64. A sender who knew the key could make
 * two bodies under one Idempotency-Key that count as the same, and would deceive nobody but themselves: the second
 * is answered as a repeat of the first.
 *
 * Each round reads four words, two pairs of lanes in turn. Each word goes into both lanes of its pair, turned
 * differently, so that no difference of two words cancels out in both for certain.
 */
export class BodyFingerprint {
  private readonly seed: Int32Array

  /** @param secret 16 bytes; equal on all gateways, since they compare fingerprints with each other */
  constructor(secret: Uint8Array) {
    if (secret.length !== 16) throw new RangeError('the secret of body fingerprints must have 16 bytes')
    this.seed = new Int32Array(Uint8Array.from(secret).buffer)
  }

  /**
   * Writes the fingerprint of `body`, of any length and at any offset of its buffer, to `out`.
   *
   * @returns whether the body is ASCII, which is seen on the way
   */
  of(body: Uint8Array, out: Fingerprint): boolean {
    const { seed } = this
    const { length } = body
    let a = (seed[0] ?? 0) ^ length
    let b = seed[1] ?? 0
    let c = seed[2] ?? 0
    let d = (seed[3] ?? 0) ^ length
    const view = new DataView(body.buffer, body.byteOffset, length)
    const whole = length & ~7
    let bits = 0
    for (let at = 0; at < whole; at += 8) {
      const one = view.getInt32(at, true)
      const two = view.getInt32(at + 4, true)
      bits |= one | two
      a = Math.imul(a ^ one, P1)
      a = (a << 13) | (a >>> 19)
      b = Math.imul(b ^ ((one << 16) | (one >>> 16)), P2)
      b = (b << 17) | (b >>> 15)
      c = Math.imul(c ^ two, P3)
      c = (c << 15) | (c >>> 17)
      d = Math.imul(d ^ ((two << 16) | (two >>> 16)), P4)
      d = (d << 11) | (d >>> 21)
    }
    let one = 0
    let two = 0
    for (let at = whole; at < length; at++) {
      const byte = body[at] ?? 0
      const shift = (at & 3) << 3
      if (at - whole < 4) one |= byte << shift
      else two |= byte << shift
    }
    bits |= one | two
    a = Math.imul(a ^ one, P1)
    b = Math.imul(b ^ ((one << 16) | (one >>> 16)), P2)
    c = Math.imul(c ^ two, P3)
    d = Math.imul(d ^ ((two << 16) | (two >>> 16)), P4)

    // Each lane is mixed by a bijection before it meets the others, each output then depends on all four.
    a = mix(a)
    b = mix(b ^ (seed[2] ?? 0))
    c = mix((c + a) | 0)
    d = mix((d + b) | 0)
    out[0] = mix((((c << 7) | (c >>> 25)) + d) ^ (seed[3] ?? 0))
    out[1] = mix((((d << 9) | (d >>> 23)) ^ (c + Math.imul(a, P2))) + b)
    return (bits & NOT_ASCII) === 0
  }
}

/** The highest bit of each byte of a word. */
const NOT_ASCII = 0x80808080 | 0

/** Odd constants of xxHash32 (Collet). */
const P1 = 0x9e3779b1 | 0
const P2 = 0x85ebca77 | 0
const P3 = 0xc2b2ae3d | 0
const P4 = 0x27d4eb2f

/** A bijection of 32 bits in which every bit moves every other (Wellons, "lowbias32"). */
function mix(value: number): number {
  let mixed = value ^ (value >>> 16)
  mixed = Math.imul(mixed, 0x7feb352d)
  mixed ^= mixed >>> 15
  mixed = Math.imul(mixed, 0x846ca68b | 0)
  return mixed ^ (mixed >>> 16)
}
