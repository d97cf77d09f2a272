import type { KeyHash } from '../../internal/ids/key-hash.js'
import type { Fingerprint } from '../../internal/repeats/key-table.js'

/** Writes the key of a number: as good as random, and distinct for each of the 2^32, since it can be undone. */
export function writeKey(i: number, key: KeyHash): void {
  key[0] = mixed(i)
  key[1] = mixed(i ^ 0x5555_5555)
  key[2] = mixed(i ^ 0x3c3c_3c3c)
  key[3] = mixed(i ^ 0x7070_0f0f)
}

export function writeFingerprint(i: number, fingerprint: Fingerprint): void {
  fingerprint[0] = i
  fingerprint[1] = ~i
}

/** Wellons, "lowbias32". */
export function mixed(value: number): number {
  let x = value ^ (value >>> 16)
  x = Math.imul(x, 0x7feb352d)
  x ^= x >>> 15
  x = Math.imul(x, 0x846ca68b | 0)
  return x ^ (x >>> 16)
}
