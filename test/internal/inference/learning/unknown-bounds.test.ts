import { expect, test } from 'vitest'
import { excessShare } from '../../../../internal/inference/learning/unknown-bounds.js'
import { seededRandom } from '../../../../internal/local/sandbox/random.js'

const random = seededRandom('excess')
/** Nearly normal, with a standard deviation of 1. */
const scores = (count: number, mean: number): number[] =>
  Array.from(
    { length: count },
    () => mean + Array.from({ length: 12 }, () => random.share() - 0.5).reduce((a, b) => a + b, 0),
  )
const evenly = (count: number): Float64Array => new Float64Array(count).fill(1)

test('what a sample has and the rest has not is what cannot come from the rest', () => {
  const sample = [...scores(1_400, 0), ...scores(600, 8)]

  const share = excessShare(sample, Float64Array.from(scores(2_000, 0)), evenly(2_000))

  expect(share).toBeGreaterThan(0.25)
  expect(share).toBeLessThan(0.31)
})

test('a sample that is like the rest, or only a little unlike it everywhere, has little unknown share', () => {
  const rest = Float64Array.from(scores(2_000, 0))

  expect(excessShare(scores(2_000, 0), rest, evenly(2_000))).toBeLessThan(0.1)
  expect(excessShare(scores(2_000, 0.05), rest, evenly(2_000))).toBeLessThan(0.2)
})
