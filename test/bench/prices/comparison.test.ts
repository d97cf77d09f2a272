import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type ComparedVector, comparisonOf, isSame, verdictOf } from '../../../bench/prices/comparison.js'
import { cellsOf, totalOf } from '../../../bench/prices/result.js'
import { VECTORS } from '../../../bench/prices/vectors.js'

test.each([
  [
    { ours: 1, genai: 1, litellm: 1.004 },
    { books: 'agree', outcome: 'as they say' },
  ],
  [
    { ours: 1.01, genai: 1, litellm: 1 },
    { books: 'agree', outcome: 'otherwise' },
  ],
  [
    { ours: undefined, genai: 1, litellm: 1 },
    { books: 'agree', outcome: 'unpriced' },
  ],
  [
    { ours: 0, genai: 1, litellm: 1 },
    { books: 'agree', outcome: 'otherwise' },
  ],
  [
    { ours: 2, genai: 1, litellm: 2 },
    { books: 'differ', outcome: 'as they say' },
  ],
  [
    { ours: 3, genai: 1, litellm: 2 },
    { books: 'differ', outcome: 'otherwise' },
  ],
  [
    { ours: undefined, genai: undefined, litellm: 2 },
    { books: 'litellm', outcome: 'unpriced' },
  ],
  [
    { ours: 1, genai: 1, litellm: undefined },
    { books: 'genai', outcome: 'as they say' },
  ],
  [{ ours: 1, genai: undefined, litellm: undefined }, undefined],
] as const)('%o is %o', (prices, verdict) => {
  expect(verdictOf(prices)).toEqual(verdict)
})

const usd = fc.option(fc.integer({ min: 1, max: 4 }), { nil: undefined })
const vectors = fc.array(
  fc.record({
    provider: fc.constantFrom('openai', 'xai'),
    model: fc.constantFrom('a', 'b', 'c'),
    vector: fc.constantFrom(...VECTORS.map(({ name }) => name)),
    remarks: fc.constant([]),
    prices: fc.record({ ours: usd, genai: usd, litellm: usd }),
  }),
)
const compared = vectors.map((all) =>
  all.flatMap(({ prices, ...rest }): readonly ComparedVector[] => {
    const verdict = verdictOf(prices)
    return verdict === undefined ? [] : [{ ...rest, ...prices, ...verdict }]
  }),
)

test('each vector that a book prices is counted once, and the rest is what the bars count', () => {
  fc.assert(
    fc.property(compared, (all) => {
      const { agreed, differing, alone, rest, share, unpriced } = comparisonOf(3, 33, all, [])
      const sum = [agreed, differing, alone].flatMap((tally) => Object.values(tally)).reduce((so, each) => so + each, 0)
      const ofBoth = agreed['as they say'] + agreed.otherwise + agreed.unpriced
      const cells = cellsOf(all)

      expect(sum).toBe(all.length)
      expect(totalOf(cells, 'compared')).toBe(ofBoth)
      expect(totalOf(cells, 'otherwise') + totalOf(cells, 'unpriced')).toBe(ofBoth - agreed['as they say'])
      expect(share).toBe(ofBoth === 0 ? 1 : agreed['as they say'] / ofBoth)
      expect(rest).toHaveLength(agreed.otherwise + unpriced)
    }),
  )
})

test('sameness does not depend on the order', () => {
  const amount = fc.double({ min: 0, max: 1e6, noNaN: true })
  fc.assert(
    fc.property(amount, amount, (one, other) => {
      expect(isSame(one, other)).toBe(isSame(other, one))
    }),
  )
})

test('a difference has the first reason that names its provider, model and vector; others are unused', () => {
  const of = (model: string, vector: 'input' | 'batch'): ComparedVector => ({
    ...{ provider: 'xai', model, vector, remarks: [], ours: 3, genai: 1, litellm: 1 },
    ...{ books: 'agree', outcome: 'otherwise' },
  })
  const reasons = [
    { provider: 'openai', reason: 'other provider' },
    { provider: 'xai', models: ['grok-a'], vectors: ['batch' as const], reason: 'one vector' },
    { provider: 'xai', models: ['grok-a', 'grok-b'], reason: 'two models' },
  ]

  const { rest, unused_reasons: unused } = comparisonOf(
    3,
    33,
    [of('grok-a', 'batch'), of('grok-a', 'input'), of('grok-c', 'input')],
    reasons,
  )

  expect(rest.map(({ reason }) => reason)).toEqual(['one vector', 'two models', ''])
  expect(unused).toBe(1)
})
