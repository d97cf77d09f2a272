import fc from 'fast-check'
import { expect, test } from 'vitest'
import { changeOf, decompose } from '../../../../internal/reports/changes/decompose.js'
import { effectsOf, NOTHING, type Side, sumOfSides } from '../../../../internal/reports/changes/effects.js'
import { STEPS_PER_UNIT } from '../../../../internal/units/quantity.js'

const side = (usd: number, calls: number, tokens: number, unpricedCalls = 0): Side => ({
  cost: BigInt(usd) * STEPS_PER_UNIT,
  calls: BigInt(calls),
  tokens: BigInt(tokens),
  unpricedCalls: BigInt(unpricedCalls),
})
const usd = ({ volume, size, price }: ReturnType<typeof effectsOf>): readonly number[] =>
  [volume, size, price].map((steps) => Number(steps / STEPS_PER_UNIT))

test.each([
  ['twice the calls', side(100, 10, 1_000), side(200, 20, 2_000), [100, 0, 0]],
  ['twice the tokens of each call', side(100, 10, 1_000), side(200, 10, 2_000), [0, 100, 0]],
  ['twice the price of a token', side(100, 10, 1_000), side(200, 10, 1_000), [0, 0, 100]],
  ['all of it at once', side(100, 10, 1_000), side(800, 20, 4_000), [100, 200, 400]],
  ['a new group is volume', NOTHING, side(50, 5, 500), [50, 0, 0]],
  ['a group that is gone is volume', side(50, 5, 500), NOTHING, [-50, 0, 0]],
  ['calls without tokens have no size', side(100, 10, 0), side(300, 20, 0), [100, 0, 100]],
  ['calls that got a price', side(0, 10, 1_000, 10), side(70, 10, 1_000), [0, 0, 70]],
  ['calls that lost theirs', side(70, 10, 1_000), side(0, 10, 1_000, 10), [0, 0, -70]],
  // Only those with a price are a volume: the tokens of the others cost nothing.
  ['some calls without a price', side(100, 10, 1_000), side(100, 20, 9_000, 10), [0, 0, 0]],
])('%s', (_, before, now, effects) => {
  expect(usd(effectsOf(before, now))).toEqual(effects)
})

test('calls that move to a dearer model are mix, not volume', () => {
  const cells = [
    { row: 'cheap', before: side(10, 10, 100), now: side(5, 5, 50) },
    { row: 'dear', before: side(100, 10, 100), now: side(150, 15, 150) },
  ]
  const { whole, increases, decreases } = decompose(wholeOf(cells), cells, 5)

  expect(usd(whole.effects)).toEqual([0, 0, 0])
  expect(whole.mix).toBe(45n * STEPS_PER_UNIT)
  expect([increases, decreases].map(([first]) => first?.row)).toEqual(['dear', 'cheap'])
})

test.each([
  ['got', 1],
  ['lost', -1],
])('calls that %s a price are price, neither volume nor mix', (_, sign) => {
  const [unpriced, priced] = [side(0, 10, 100, 10), side(70, 10, 100)]
  const cells = [
    { row: 'steady', before: side(100, 10, 100), now: side(100, 10, 100) },
    { row: 'moved', before: sign > 0 ? unpriced : priced, now: sign > 0 ? priced : unpriced },
  ]

  for (const read of [cells, cells.slice(0, 1)]) {
    const { whole } = decompose(wholeOf(cells), read, 5)
    expect([usd(whole.effects), whole.mix]).toEqual([[0, 0, 70 * sign], 0n])
  }
})

const wholeOf = (cells: readonly { readonly before: Side; readonly now: Side }[]) => ({
  before: sumOfSides(cells.map(({ before }) => before)),
  now: sumOfSides(cells.map(({ now }) => now)),
})

test('the parts sum up to the difference, and the effects of each part to its change, to the last digit', () => {
  const sides = fc
    .record({
      cost: fc.bigInt({ min: 0n, max: 10n ** 24n }),
      calls: fc.bigInt({ min: 0n, max: 1_000n }),
      tokens: fc.bigInt({ min: 0n, max: 10n ** 9n }),
      unpriced: fc.bigInt({ min: 0n, max: 1_000n }),
    })
    .map(({ cost, calls, tokens, unpriced }): Side => {
      const unpricedCalls = unpriced > calls ? 0n : unpriced
      return { calls, tokens, unpricedCalls, cost: calls === unpricedCalls ? 0n : cost }
    })
  const cells = fc.array(fc.record({ row: fc.constant(''), before: sides, now: sides }), { maxLength: 12 })
  fc.assert(
    fc.property(cells, fc.nat(12), fc.integer({ min: 1, max: 4 }), (all, readMax, moversMax) => {
      const { whole, increases, decreases, others, rest } = decompose(wholeOf(all), all.slice(0, readMax), moversMax)
      const parts = [...increases, ...decreases, others, ...(rest === undefined ? [] : [rest])]

      expect(parts.reduce((sum, part) => sum + changeOf(part), 0n)).toBe(changeOf(whole))
      for (const part of parts) expect(sumOf(part.effects)).toBe(changeOf(part))
      expect(sumOf(whole.effects) + whole.mix).toBe(changeOf(whole))
      for (const effect of ['size', 'price'] as const) {
        expect(parts.reduce((sum, { effects }) => sum + effects[effect], 0n)).toBe(whole.effects[effect])
      }
      for (const movers of [increases, decreases]) expect(movers.length).toBeLessThanOrEqual(moversMax)
      expect(increases.every((each) => changeOf(each) > 0n)).toBe(true)
      expect(decreases.every((each) => changeOf(each) < 0n)).toBe(true)
    }),
  )
})

const sumOf = ({ volume, size, price }: ReturnType<typeof effectsOf>): bigint => volume + size + price
