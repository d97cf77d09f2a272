/**
 * SipHash-2-4 with 128 bits of output (Aumasson and Bernstein, reference `siphash.c`, outlen 16): a keyed hash for
 * short inputs, several times cheaper here than a call into the crypto library. Its values cannot be foreseen
 * without the key; it is not for passwords or signatures.
 *
 * State words are kept as halves of 32 bits, since V8 has no fast 64-bit integers.
 */
export interface SipKey {
  readonly k0lo: number
  readonly k0hi: number
  readonly k1lo: number
  readonly k1hi: number
}

/** @param key 16 bytes */
export function sipKey(key: Uint8Array): SipKey {
  if (key.length !== 16) throw new RangeError('a SipHash key has 16 bytes')
  const view = new DataView(key.buffer, key.byteOffset, 16)
  return {
    k0lo: view.getInt32(0, true),
    k0hi: view.getInt32(4, true),
    k1lo: view.getInt32(8, true),
    k1hi: view.getInt32(12, true),
  }
}

/** Writes the 16 bytes of the hash of `input` to `out` at `offset`. */
export function sipHash128(key: SipKey, input: Uint8Array, out: Uint8Array, offset = 0): void {
  let v0l = key.k0lo ^ 0x70736575
  let v0h = key.k0hi ^ 0x736f6d65
  let v1l = key.k1lo ^ 0x6e646f6d ^ 0xee
  let v1h = key.k1hi ^ 0x646f7261
  let v2l = key.k0lo ^ 0x6e657261
  let v2h = key.k0hi ^ 0x6c796765
  let v3l = key.k1lo ^ 0x79746573
  let v3h = key.k1hi ^ 0x74656462
  const length = input.length
  const whole = length & ~7
  // One loop for all rounds, so that the state stays in registers: blocks of two rounds, then two ends of four.
  for (let at = 0; at <= whole + 16; at += 8) {
    let low = 0
    let high = 0
    let rounds = 2
    if (at < whole) {
      low = (input[at] ?? 0) | ((input[at + 1] ?? 0) << 8) | ((input[at + 2] ?? 0) << 16) | ((input[at + 3] ?? 0) << 24)
      high =
        (input[at + 4] ?? 0) | ((input[at + 5] ?? 0) << 8) | ((input[at + 6] ?? 0) << 16) | ((input[at + 7] ?? 0) << 24)
    } else if (at === whole) {
      high = length << 24
      for (let i = whole; i < length; i++) {
        const byte = input[i] ?? 0
        if (i - whole < 4) low |= byte << (8 * (i - whole))
        else high |= byte << (8 * (i - whole - 4))
      }
    } else {
      rounds = 4
      if (at === whole + 8) v2l ^= 0xee
      else v1l ^= 0xdd
    }
    v3l ^= low
    v3h ^= high
    for (let i = 0; i < rounds; i++) {
      let sum = (v0l + v1l) | 0
      v0h = (v0h + v1h + (sum >>> 0 < v1l >>> 0 ? 1 : 0)) | 0
      v0l = sum
      let h = (v1h << 13) | (v1l >>> 19)
      let l = (v1l << 13) | (v1h >>> 19)
      v1h = h ^ v0h
      v1l = l ^ v0l
      h = v0l
      v0l = v0h
      v0h = h
      sum = (v2l + v3l) | 0
      v2h = (v2h + v3h + (sum >>> 0 < v3l >>> 0 ? 1 : 0)) | 0
      v2l = sum
      h = (v3h << 16) | (v3l >>> 16)
      l = (v3l << 16) | (v3h >>> 16)
      v3h = h ^ v2h
      v3l = l ^ v2l
      sum = (v0l + v3l) | 0
      v0h = (v0h + v3h + (sum >>> 0 < v3l >>> 0 ? 1 : 0)) | 0
      v0l = sum
      h = (v3h << 21) | (v3l >>> 11)
      l = (v3l << 21) | (v3h >>> 11)
      v3h = h ^ v0h
      v3l = l ^ v0l
      sum = (v2l + v1l) | 0
      v2h = (v2h + v1h + (sum >>> 0 < v1l >>> 0 ? 1 : 0)) | 0
      v2l = sum
      h = (v1h << 17) | (v1l >>> 15)
      l = (v1l << 17) | (v1h >>> 15)
      v1h = h ^ v2h
      v1l = l ^ v2l
      h = v2l
      v2l = v2h
      v2h = h
    }
    v0l ^= low
    v0h ^= high
    if (at > whole) {
      const to = offset + at - whole - 8
      put(out, to, v0l ^ v1l ^ v2l ^ v3l)
      put(out, to + 4, v0h ^ v1h ^ v2h ^ v3h)
    }
  }
}
function put(out: Uint8Array, at: number, value: number): void {
  out[at] = value
  out[at + 1] = value >>> 8
  out[at + 2] = value >>> 16
  out[at + 3] = value >>> 24
}
