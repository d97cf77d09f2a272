import fc from 'fast-check'
import { expect, test } from 'vitest'
import { seededRandom } from '../../../../internal/local/sandbox/random.js'

const drawn = (seed: string, count: number): number[] => {
  const random = seededRandom(seed)
  return Array.from({ length: count }, () => random.share())
}

test('the same seed gives the same numbers, and another seed others', () => {
  expect(drawn('a', 50)).toEqual(drawn('a', 50))
  expect(drawn('a', 50)).not.toEqual(drawn('b', 50))
})

test('a seed gives the same numbers on every machine and in every release', () => {
  const random = seededRandom('attribution')

  expect(Array.from({ length: 5 }, () => random.whole(0, 1_000_000))).toMatchInlineSnapshot(`
    [
      823870,
      146512,
      873453,
      80017,
      276088,
    ]
  `)
})

test('random shares are spread evenly between 0 and 1', () => {
  const shares = drawn('even', 20_000)
  const tenths = Array.from({ length: 10 }, (_, i) => shares.filter((share) => Math.floor(share * 10) === i).length)

  for (const count of tenths) expect(Math.abs(count - 2_000)).toBeLessThan(200)
})

test('random whole numbers are within their bounds, and reach both', () => {
  fc.assert(
    fc.property(fc.string(), fc.integer({ min: -5, max: 5 }), fc.nat({ max: 3 }), (seed, min, more) => {
      const random = seededRandom(seed)
      const numbers = new Set(Array.from({ length: 200 }, () => random.whole(min, min + more)))

      expect([...numbers].sort((one, other) => one - other)).toEqual(
        Array.from({ length: more + 1 }, (_, i) => min + i),
      )
    }),
    { numRuns: 50 },
  )
})
