import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Bloom, bestHashes, falsePositiveRate } from '../../../internal/repeats/bloom.js'
import { drawn } from '../../support/run/rings.js'
import { keyOf } from '../ingest/keys/keys.js'

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
    { numRuns: drawn(40) },
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

test('a filter that is folded, again and again, knows its keys at any moment, and new ones', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 4_000 }),
      fc.integer({ min: 1, max: 40 }),
      fc.nat(2 ** 30),
      (keys, blocks, first) => {
        const filter = Bloom.forKeys(keys, 20)
        let known = first
        const addSome = (count: number): void => {
          for (let i = 0; i < count; i++) filter.add(keyOf(known++))
        }
        const knowsAll = (): boolean => {
          for (let i = first; i < known; i++) if (!filter.has(keyOf(i))) return false
          return true
        }
        addSome(keys)
        for (let folds = 0; folds < 4 && filter.isFoldable; folds++) {
          const { bytes } = filter
          while (filter.fold(blocks)) {
            addSome(1)
            if (!knowsAll()) return false
          }
          if (!knowsAll() || filter.bytes > bytes / 2 + 64) return false
        }
        return true
      },
    ),
    { numRuns: drawn(60) },
  )
})

test('a folded filter has the false positives of one with half the bits per key', () => {
  const keys = 50_000
  const filter = Bloom.forKeys(keys, 20, 8)
  for (let i = 0; i < keys; i++) filter.add(keyOf(i))
  const hits = (): number => {
    let count = 0
    for (let i = 0; i < 60_000; i++) if (filter.has(keyOf(keys + i))) count++
    return count
  }
  const { bytes } = filter

  while (filter.fold(100));
  expect(filter.bytes / bytes).toBeCloseTo(0.5, 2)
  expect(hits() / 60_000).toBeCloseTo(falsePositiveRate(10, 8), 2)
  while (filter.fold(100));
  expect(filter.bytes / bytes).toBeCloseTo(0.25, 2)
  expect(hits() / 60_000).toBeCloseTo(falsePositiveRate(5, 8), 1)
})
