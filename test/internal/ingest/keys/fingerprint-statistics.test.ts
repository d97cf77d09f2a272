import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { BodyFingerprint } from '../../../../internal/ingest/keys/body-fingerprint.js'

const fingerprints = new BodyFingerprint(new Uint8Array(16).map((_, i) => i * 17 + 3))

function fingerprint(body: Uint8Array, by = fingerprints): bigint {
  const out = new Int32Array(2)
  by.of(body, out)
  return new BigUint64Array(out.buffer)[0] ?? 0n
}

test('each bit of the fingerprint flips half of the times that a bit of the body does, under any secret', () => {
  for (const length of [1, 3, 4, 7, 8, 9, 13, 16, 31, 40]) {
    const rounds = Math.ceil(4_000 / length)
    const flips = new Uint32Array(64)
    let changes = 0
    for (let round = 0; round < rounds; round++) {
      const by = new BodyFingerprint(randomBytes(16))
      const body = randomBytes(length)
      const before = fingerprint(body, by)
      for (let bit = 0; bit < length * 8; bit++) {
        body[bit >> 3] = (body[bit >> 3] ?? 0) ^ (1 << (bit & 7))
        const changed = fingerprint(body, by) ^ before
        body[bit >> 3] = (body[bit >> 3] ?? 0) ^ (1 << (bit & 7))
        changes++
        for (let out = 0; out < 64; out++) flips[out] = (flips[out] ?? 0) + Number((changed >> BigInt(out)) & 1n)
      }
    }
    // Six standard deviations, and one percent for bits that are not independent within a body.
    const tolerance = 6 * Math.sqrt(changes / 4) + changes / 100
    for (const flipped of flips) expect(Math.abs(flipped - changes / 2)).toBeLessThan(tolerance)
  }
})

test('a million similar bodies have a million fingerprints, whose halves meet as often as chance has it', () => {
  const count = 1_000_000
  const base = Buffer.from(
    '{"event_id":"b1e7d3a0-5b1c-4f6e-9a55-000000000000","timestamp":"2026-11-14T10:15:00.000Z",' +
      '"tokens":{"input":000000,"output":000000},"cost":"0.0001"}',
  )
  const out = new Int32Array(2)
  const all = new BigUint64Array(count)
  const words = new BigUint64Array(out.buffer)
  const decimal = (value: number, at: number): void => {
    for (let i = 5, rest = value; i >= 0; i--, rest = Math.floor(rest / 10)) base[at + i] = 48 + (rest % 10)
  }
  const inputAt = base.indexOf('"input":') + 8
  const outputAt = base.indexOf('"output":') + 9

  // Two fields, of a thousand values each, in different words: where differences could cancel out.
  for (let i = 0; i < count; i++) {
    decimal(i % 1_000, inputAt)
    decimal(Math.floor(i / 1_000), outputAt)
    fingerprints.of(base, out)
    all[i] = words[0] ?? 0n
  }

  expect(distinct(all)).toBe(count)
  // n - n^2 / 2^33 distinct values of 32 bits are expected: some 116 fewer, with a standard deviation of 11.
  for (const half of [0n, 32n]) {
    const missing = count - distinct(all.map((value) => (value >> half) & 0xffff_ffffn))
    expect(missing).toBeGreaterThan(50)
    expect(missing).toBeLessThan(190)
  }
})

function distinct(values: BigUint64Array): number {
  const sorted = values.toSorted()
  let count = 0
  for (let i = 0; i < sorted.length; i++) if (i === 0 || sorted[i] !== sorted[i - 1]) count++
  return count
}
