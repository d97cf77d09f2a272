import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Bloom, bestHashes, falsePositiveRate } from '../../../../internal/ingest/keys/bloom.js'
import { keyOf } from './keys.js'

test('a key that was added is always found, and the share of others is what the formula says', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 60_000 }),
      fc.integer({ min: 8, max: 24 }),
      fc.integer({ min: 0, max: 2 ** 30 }),
      (keys, bitsPerKey, first) => {
        const filter = Bloom.forKeys(keys, bitsPerKey)
        for (let i = 0; i < keys; i++) filter.add(keyOf(first + i))

        for (let i = 0; i < keys; i++) if (!filter.has(keyOf(first + i))) return false
        if (keys < 1_000) return true // one or two blocks: the formula is about many
        const asked = 60_000
        let hits = 0
        for (let i = 0; i < asked; i++) if (filter.has(keyOf(first + keys + i))) hits++
        const expected = asked * falsePositiveRate(bitsPerKey, filter.hashes)
        // Six standard deviations of counting, and a quarter for how evenly this filter's blocks happen to be filled.
        return hits <= expected * 1.25 + 6 * Math.sqrt(expected) + 6
      },
    ),
    { numRuns: 40 },
  )
})

test('a filter uses the given bits per key, and sets the number of bits with the fewest false positives', () => {
  const filter = Bloom.forKeys(1_000_000, 12)

  expect(filter.bytes / 1_000_000).toBeCloseTo(1.5, 2)
  expect([bestHashes(10), bestHashes(12), bestHashes(16)]).toEqual([7, 8, 10])
  expect(falsePositiveRate(12, 8)).toBeLessThan(0.0045)
  expect(falsePositiveRate(16, 10)).toBeLessThan(0.001)
})

test('a filter fuller than planned answers yes more often, never no for a key it has', () => {
  const filter = Bloom.forKeys(100, 10)
  for (let i = 0; i < 5_000; i++) filter.add(keyOf(i))

  for (let i = 0; i < 5_000; i++) expect(filter.has(keyOf(i))).toBe(true)
})

test('a key is added from any place of a larger array', () => {
  const filter = Bloom.forKeys(10, 16)
  const words = new Int32Array(20)
  words.set(keyOf(4), 9)

  filter.add(words, 9)

  expect(filter.has(keyOf(4))).toBe(true)
  expect(filter.size).toBe(1)
})

test('a filter comes back from its bytes as it was', () => {
  const filter = Bloom.forKeys(1_000, 12)
  for (let i = 0; i < 1_000; i++) filter.add(keyOf(i))

  const padded = Buffer.concat([Buffer.alloc(3), filter.toBytes()])
  const copy = Bloom.fromBytes(padded.subarray(3))

  expect(copy?.size).toBe(1_000)
  expect(copy?.toBytes()).toEqual(filter.toBytes())
  for (let i = 0; i < 20_000; i++) expect(copy?.has(keyOf(i))).toBe(filter.has(keyOf(i)))
})

test('other bytes are no filter', () => {
  const bytes = Bloom.forKeys(100, 12).toBytes()

  expect(Bloom.fromBytes(new Uint8Array(0))).toBeUndefined()
  expect(Bloom.fromBytes(bytes.subarray(0, bytes.length - 1))).toBeUndefined()
  expect(Bloom.fromBytes(bytes.map((byte, i) => (i === 0 ? byte ^ 1 : byte)))).toBeUndefined()
  expect(Bloom.fromBytes(bytes.map((byte, i) => (i === 4 ? 0 : byte)))).toBeUndefined()
})
