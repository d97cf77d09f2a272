import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { apportion, WEIGHT_PARTS, weightsOf } from '../../../internal/records/allocation-weights.js'

const cost = (service: string, costSteps: bigint) => ({ service, owner: `team-${service}`, costSteps })
const partsOf = ({ weights, staysParts }: ReturnType<typeof weightsOf>): bigint[] => [
  ...weights.map(({ parts }) => parts),
  staysParts,
]

describe('weights', () => {
  test('are shares of the total, cut to twelve decimals', () => {
    expect(partsOf(weightsOf([cost('a', 3n), cost('b', 1n)], 4n))).toEqual([750_000_000_000n, 250_000_000_000n, 0n])
  })

  test('give what cutting lost to those who lost most, then to the dearer, then by name', () => {
    const thirds = weightsOf([cost('b', 1n), cost('a', 1n), cost('c', 1n)], 3n)

    expect(partsOf(thirds)).toEqual([333_333_333_333n, 333_333_333_334n, 333_333_333_333n, 0n])
  })

  test('leave in the pool what belongs to nobody who is named', () => {
    expect(partsOf(weightsOf([cost('a', 1n)], 4n))).toEqual([250_000_000_000n, 750_000_000_000n])
  })

  test('leave all of it there when nothing was attributed', () => {
    expect(weightsOf([], 0n)).toEqual({ weights: [], staysParts: WEIGHT_PARTS })
  })
})

describe('properties', () => {
  const costs = fc.array(fc.bigInt({ min: 0n, max: 10n ** 24n }), { maxLength: 40 })
  const drawn = fc.tuple(costs, fc.bigInt({ min: 0n, max: 10n ** 24n })).map(([steps, others]) => ({
    costs: steps.map((each, i) => cost(`s${i}`, each)),
    total: steps.reduce((sum, each) => sum + each, others),
  }))

  test('weights sum to exactly 1, and each is within one part of its exact share', () => {
    fc.assert(
      fc.property(drawn, ({ costs: named, total }) => {
        const parts = partsOf(weightsOf(named, total))

        expect(parts.reduce((sum, each) => sum + each, 0n)).toBe(WEIGHT_PARTS)
        for (const [i, { costSteps }] of named.entries()) {
          const off = (parts[i] ?? 0n) * total - costSteps * WEIGHT_PARTS
          expect(total === 0n || (off > -total && off < total)).toBe(true)
        }
      }),
    )
  })

  test('the order of the costs does not matter', () => {
    fc.assert(
      fc.property(drawn, ({ costs: named, total }) => {
        const byName = (of: ReturnType<typeof weightsOf>) =>
          [...of.weights].sort((one, other) => (one.service < other.service ? -1 : 1))

        expect(byName(weightsOf([...named].reverse(), total))).toEqual(byName(weightsOf(named, total)))
      }),
    )
  })
})

test('what cutting leaves goes to those that lost most, then to the first', () => {
  expect(apportion(100n, [1n, 1n, 1n], 3n)).toEqual([34n, 33n, 33n])
  expect(apportion(10n, [1n, 2n], 3n)).toEqual([3n, 7n])
  expect(apportion(0n, [1n, 2n], 3n)).toEqual([0n, 0n])
})

test('portions that are more or less than the whole are a defect', () => {
  expect(() => apportion(1n, [1n, 1n], 3n)).toThrow(RangeError)
})

test('shares sum to the total, and each is within a step of the exact one', () => {
  const amount = fc.bigInt({ min: -(10n ** 38n), max: 10n ** 38n })
  fc.assert(
    fc.property(amount, fc.array(fc.bigInt({ min: 0n, max: 10n ** 12n }), { minLength: 1 }), (total, portions) => {
      const whole = portions.reduce((sum, portion) => sum + portion, 0n)
      fc.pre(whole > 0n)

      const shares = apportion(total, portions, whole)

      expect(shares.reduce((sum, share) => sum + share, 0n)).toBe(total)
      for (const [i, portion] of portions.entries()) {
        const off = (shares[i] ?? 0n) * whole - portion * total
        expect(off > -whole && off < whole).toBe(true)
      }
    }),
  )
})
