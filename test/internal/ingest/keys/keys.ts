import type { KeyHash } from '../../../../internal/ids/key-hash.js'
import type { Fingerprint } from '../../../../internal/repeats/key-table.js'

/** A key as good as random for each number (Wellons, "lowbias32", with a constant of its own for each word). */
export function keyOf(i: number, out: KeyHash = new Int32Array(4)): KeyHash {
  out[0] = mixed(i + 0x1234_5678)
  out[1] = mixed(i ^ 0x5555_5555)
  out[2] = mixed(Math.imul(i, 7) + 3)
  out[3] = mixed(Math.imul(i, 13) + 11)
  return out
}

export const fingerprintOf = (i: number): Fingerprint => Int32Array.of(i, ~i)

function mixed(value: number): number {
  let x = value ^ (value >>> 16)
  x = Math.imul(x, 0x7feb352d)
  x ^= x >>> 15
  x = Math.imul(x, 0x846ca68b | 0)
  return x ^ (x >>> 16)
}
