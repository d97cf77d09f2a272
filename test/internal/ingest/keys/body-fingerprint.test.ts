import { randomBytes } from 'node:crypto'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { BodyFingerprint } from '../../../../internal/ingest/keys/body-fingerprint.js'

const fingerprints = new BodyFingerprint(new Uint8Array(16).map((_, i) => i * 17 + 3))

function fingerprint(body: Uint8Array, by = fingerprints): bigint {
  const out = new Int32Array(2)
  by.of(body, out)
  return new BigUint64Array(out.buffer)[0] ?? 0n
}

test('a body has the same fingerprint wherever in a buffer it lies', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 300 }), fc.integer({ min: 0, max: 9 }), (body, offset) => {
      const padded = Buffer.concat([randomBytes(offset), body, randomBytes(5)])

      return fingerprint(padded.subarray(offset, offset + body.length)) === fingerprint(body)
    }),
  )
})

test('bodies that differ, if only by zeros at the end, have different fingerprints, also per secret', () => {
  const other = new BodyFingerprint(new Uint8Array(16).fill(9))
  const all = new Set<bigint>()

  for (let length = 0; length < 200; length++) {
    all.add(fingerprint(new Uint8Array(length)))
    all.add(fingerprint(new Uint8Array(length), other))
  }

  expect(all.size).toBe(400)
})

test('every single bit of a body flips half of the fingerprint on average', () => {
  const rounds = 200
  for (let bit = 0; bit < 24 * 8; bit++) {
    let flipped = 0
    for (let round = 0; round < rounds; round++) {
      const body = randomBytes(24)
      const before = fingerprint(body)
      body[bit >> 3] = (body[bit >> 3] ?? 0) ^ (1 << (bit & 7))
      flipped += (fingerprint(body) ^ before).toString(2).replaceAll('0', '').length
    }
    expect(flipped / rounds / 64).toBeGreaterThan(0.45)
    expect(flipped / rounds / 64).toBeLessThan(0.55)
  }
})

test('bodies that differ in two bits far or near never meet', () => {
  const length = 48
  const body = randomBytes(length)
  const seen: bigint[] = []
  const flip = (bit: number): void => {
    body[bit >> 3] = (body[bit >> 3] ?? 0) ^ (1 << (bit & 7))
  }
  for (let one = 0; one < length * 8; one++) {
    flip(one)
    for (let two = 0; two < one; two++) {
      flip(two)
      seen.push(fingerprint(body))
      flip(two)
    }
    flip(one)
  }

  expect(distinct(BigUint64Array.from(seen))).toBe(seen.length)
})

test('a secret has 16 bytes', () => {
  expect(() => new BodyFingerprint(new Uint8Array(8))).toThrow(RangeError)
})

function distinct(values: BigUint64Array): number {
  const sorted = values.toSorted()
  let count = 0
  for (let i = 0; i < sorted.length; i++) if (i === 0 || sorted[i] !== sorted[i - 1]) count++
  return count
}
