import fc from 'fast-check'
import { expect, test } from 'vitest'
import { eligibilityOf } from '../../../../internal/records/interpretation.js'
import { formatQuantity, type Quantity, quantityOfSteps } from '../../../../internal/units/quantity.js'
import type { CostResult } from '../../../../internal/valuation/cost/price-invocation.js'
import { priceReadings } from '../../../../internal/valuation/cost/usage-readings.js'
import { call } from '../../../support/attribution-events.js'

const result = (steps: bigint, basis: CostResult['basis'] = 'price_book'): CostResult => {
  const details = { basis, book_as_of: '2026-11-01' }
  return { costUsd: quantityOfSteps<'USD'>(steps), basis, details, detailsJson: JSON.stringify(details) }
}
const TWO = { inputTokens: 1_000, outputTokens: 50, alternativeInputTokens: 1_400, alternativeOutputTokens: 50 }

/** @param costs of the first reading and the other one; undefined: without a price */
const read = (first: bigint | undefined, other: bigint | undefined, stated = {}) =>
  priceReadings(call({ ...TWO, ...stated }), ({ inputTokens }) => {
    const steps = inputTokens === 1_000 ? first : other
    return steps === undefined ? result(0n, 'unpriced') : result(steps)
  })

test('readings whose costs differ by more than 1 % are ambiguous, exactly at 1 % they are not', () => {
  expect(read(100n, 101n).details.other_reading).toBeUndefined()
  expect(read(10_000n, 10_101n).details.other_reading).toEqual({
    input_tokens: 1_400,
    output_tokens: 50,
    cost_usd: formatQuantity(quantityOfSteps<'USD'>(10_101n)),
  })
  expect(read(0n, 1n, { usageBasis: 'partial' }).details.other_reading).toMatchObject({ usage_basis: 'partial' })
})

test('a reading that has no price beside one that has is ambiguous; two without are not', () => {
  expect(read(100n, undefined).details.other_reading).toMatchObject({ cost_usd: null })
  expect(read(undefined, 100n)).toMatchObject({
    basis: 'unpriced',
    details: { other_reading: { input_tokens: 1_400 } },
  })
  expect(read(undefined, undefined).details.other_reading).toBeUndefined()
})

test('a call with one reading is priced once', () => {
  const seen: number[] = []
  const only = { alternativeInputTokens: undefined, alternativeOutputTokens: undefined }
  const cost = priceReadings(call({ ...TWO, ...only }), ({ inputTokens = 0 }) => {
    seen.push(inputTokens)
    return result(7n)
  })
  expect(seen).toEqual([1_000])
  expect(cost).toEqual(result(7n))
})

test('whatever the costs: what counts is the first reading, the order does not matter, ambiguous is never eligible', () => {
  const steps = fc.option(fc.bigInt(0n, 10n ** 24n), { nil: undefined })
  fc.assert(
    fc.property(steps, steps, fc.integer({ min: 0, max: 9_500 }), (first, other, confidence) => {
      const cost = read(first, other)
      const isAmbiguous = cost.details.other_reading !== undefined

      expect(cost.costUsd).toBe((first ?? 0n) as Quantity<'USD'>)
      expect(isAmbiguous).toBe(read(other, first).details.other_reading !== undefined)
      expect(JSON.parse(cost.detailsJson)).toEqual(cost.details)
      if (first !== undefined && other !== undefined) {
        const [low, high] = first < other ? [first, other] : [other, first]
        expect(isAmbiguous).toBe(high * 100n > low * 101n)
      } else {
        expect(isAmbiguous).toBe(first !== other)
      }
      const eligibility = eligibilityOf({
        confidence,
        isPriced: cost.basis !== 'unpriced',
        isNotional: false,
        isCostImplausible: false,
        isUsageAmbiguous: isAmbiguous,
        isCostUpperBound: false,
        isUsageEstimated: false,
        degradationState: 'none',
        isResidencyRestricted: false,
      })
      expect(eligibility === 'ambiguous_usage').toBe(isAmbiguous)
    }),
  )
})
