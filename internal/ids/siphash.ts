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

let v0l = 0
let v0h = 0
let v1l = 0
let v1h = 0
let v2l = 0
let v2h = 0
let v3l = 0
let v3h = 0

function rounds(count: number): void {
  for (let i = 0; i < count; i++) {
    let low = (v0l >>> 0) + (v1l >>> 0)
    v0h = (v0h + v1h + (low > 0xffffffff ? 1 : 0)) | 0
    v0l = low | 0
    let h = (v1h << 13) | (v1l >>> 19)
    let l = (v1l << 13) | (v1h >>> 19)
    v1h = h ^ v0h
    v1l = l ^ v0l
    h = v0l
    v0l = v0h
    v0h = h

    low = (v2l >>> 0) + (v3l >>> 0)
    v2h = (v2h + v3h + (low > 0xffffffff ? 1 : 0)) | 0
    v2l = low | 0
    h = (v3h << 16) | (v3l >>> 16)
    l = (v3l << 16) | (v3h >>> 16)
    v3h = h ^ v2h
    v3l = l ^ v2l

    low = (v0l >>> 0) + (v3l >>> 0)
    v0h = (v0h + v3h + (low > 0xffffffff ? 1 : 0)) | 0
    v0l = low | 0
    h = (v3h << 21) | (v3l >>> 11)
    l = (v3l << 21) | (v3h >>> 11)
    v3h = h ^ v0h
    v3l = l ^ v0l

    low = (v2l >>> 0) + (v1l >>> 0)
    v2h = (v2h + v1h + (low > 0xffffffff ? 1 : 0)) | 0
    v2l = low | 0
    h = (v1h << 17) | (v1l >>> 15)
    l = (v1l << 17) | (v1h >>> 15)
    v1h = h ^ v2h
    v1l = l ^ v2l
    h = v2l
    v2l = v2h
    v2h = h
  }
}

/** Writes the 16 bytes of the hash of `input` to `out` at `offset`. */
export function sipHash128(key: SipKey, input: Uint8Array, out: Uint8Array, offset = 0): void {
  v0l = key.k0lo ^ 0x70736575
  v0h = key.k0hi ^ 0x736f6d65
  v1l = key.k1lo ^ 0x6e646f6d ^ 0xee
  v1h = key.k1hi ^ 0x646f7261
  v2l = key.k0lo ^ 0x6e657261
  v2h = key.k0hi ^ 0x6c796765
  v3l = key.k1lo ^ 0x79746573
  v3h = key.k1hi ^ 0x74656462

  const length = input.length
  const whole = length & ~7
  for (let i = 0; i < whole; i += 8) absorb(word(input, i), word(input, i + 4))
  let lastLow = 0
  let lastHigh = length << 24
  for (let i = whole; i < length; i++) {
    const byte = input[i] ?? 0
    const at = i - whole
    if (at < 4) lastLow |= byte << (8 * at)
    else lastHigh |= byte << (8 * (at - 4))
  }
  absorb(lastLow, lastHigh)

  v2l ^= 0xee
  rounds(4)
  put(out, offset, v0l ^ v1l ^ v2l ^ v3l)
  put(out, offset + 4, v0h ^ v1h ^ v2h ^ v3h)
  v1l ^= 0xdd
  rounds(4)
  put(out, offset + 8, v0l ^ v1l ^ v2l ^ v3l)
  put(out, offset + 12, v0h ^ v1h ^ v2h ^ v3h)
}

function absorb(low: number, high: number): void {
  v3l ^= low
  v3h ^= high
  rounds(2)
  v0l ^= low
  v0h ^= high
}

const word = (bytes: Uint8Array, at: number): number =>
  (bytes[at] ?? 0) | ((bytes[at + 1] ?? 0) << 8) | ((bytes[at + 2] ?? 0) << 16) | ((bytes[at + 3] ?? 0) << 24)

function put(out: Uint8Array, at: number, value: number): void {
  out[at] = value
  out[at + 1] = value >>> 8
  out[at + 2] = value >>> 16
  out[at + 3] = value >>> 24
}
