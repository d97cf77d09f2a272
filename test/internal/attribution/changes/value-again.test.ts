import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  NO_TALLY,
  plusTally,
  tallyOf,
  type Valued,
  valueAgain,
} from '../../../../internal/attribution/changes/value-again.js'
import { consumptionRules } from '../../../../internal/attribution/valuation/consumption.js'
import { type PriceBook, priceBook } from '../../../../internal/attribution/valuation/cost/price-book.js'
import type { GridSettings } from '../../../../internal/auth/tenant.js'
import type { AttributionRow } from '../../../../internal/store/tables/attributions.js'
import { formatQuantity } from '../../../../internal/units/quantity.js'
import { admitted, idOf, NOW_MS, type Stated } from '../../../support/invocations.js'
import { bookOf, priceRow } from '../../../support/price-books.js'
import { finishedRow } from '../../../support/rows.js'

const EMPTY = priceBook(bookOf([]), 'book_empty')
const WRONG = priceBook(bookOf([priceRow('gpt-4o', '1', '1')]), 'book_wrong')
const RIGHT = priceBook(bookOf([priceRow('gpt-4o', '2.5', '10')]), 'book_right')
const AT_MS = NOW_MS + 1_000

let now: { readonly book: PriceBook; readonly grid: GridSettings | null }
const consumptionOf = consumptionRules(
  () => now.book,
  () => undefined,
  () => now.grid,
)
/** Those of a book, until they are asked for by another. */
const rules = (book: PriceBook, grid: GridSettings | null = null) => {
  now = { book, grid }
  return consumptionOf
}

/** A record as it came about by a book, of a call of 1,000 tokens in and 250 out. */
function recorded(book: PriceBook, invocation: Stated['invocation'] = {}, grid: GridSettings | null = null) {
  const stated = { id: new Uint8Array(idOf(1)), invocation: { inputTokens: 1_000, outputTokens: 250, ...invocation } }
  const consumption = rules(book, grid)(admitted(stated))
  const exportEligibility = consumption.costBasis === 'unpriced' ? 'unpriced' : 'eligible'
  return { ...finishedRow(stated), ...consumption, exportEligibility }
}

const again = (row: AttributionRow, valued: Valued, book: PriceBook, grid: GridSettings | null = null) =>
  valueAgain([row], valued, rules(book, grid), AT_MS)[0]

describe('what has no value', () => {
  test('is priced by the book that is in force now, and may be charged then; its energy stays to the digit', () => {
    const before = recorded(EMPTY)

    const after = again(before, 'unpriced', RIGHT)

    expect(after).toEqual({
      ...before,
      validFromMs: AT_MS,
      costUsd: 5_000_000_000_000_000n,
      costBasis: 'price_book',
      costDetails: expect.stringContaining('book_right'),
      exportEligibility: 'eligible',
    })
  })

  test.each([
    ['advisory', 'advisory'],
    ['residency_restricted', 'residency_restricted'],
  ])('and is %s stays so once it has a price', (before, after) => {
    expect(again({ ...recorded(EMPTY), exportEligibility: before }, 'unpriced', RIGHT)?.exportEligibility).toBe(after)
  })

  test('and is below the floor is not charged', () => {
    expect(again({ ...recorded(EMPTY), confidence: 7_999 }, 'unpriced', RIGHT)?.exportEligibility).toBe('below_floor')
  })

  test('is priced by all that the price depends on', () => {
    fc.assert(
      fc.property(
        fc.record({
          inputTokens: fc.option(fc.nat(1_000), { nil: undefined }),
          outputTokens: fc.option(fc.nat(1_000), { nil: undefined }),
          cachedInputTokens: fc.option(fc.nat(100), { nil: undefined }),
          reasoningTokens: fc.option(fc.nat(100), { nil: undefined }),
          serviceTier: fc.constantFrom(undefined, 'batch', 'flex'),
          servedFromCache: fc.constantFrom(true, false),
          servedModel: fc.constantFrom(undefined, 'gpt-4o', 'unheard-of'),
          region: fc.constantFrom(undefined, 'eu-central-1'),
          energyWh: fc.constantFrom(undefined, '3.5'),
          carbonGco2e: fc.constantFrom(undefined, '4.5'),
        }),
        (event) => {
          const before = recorded(EMPTY, event)
          const asNow = recorded(RIGHT, event)

          const after = again(before, 'unpriced', RIGHT) ?? before

          for (const member of [
            'costUsd',
            'costBasis',
            'energyWh',
            'energyBasis',
            'carbonGco2e',
            'carbonBasis',
          ] as const) {
            expect(after[member]).toBe(asNow[member])
          }
        },
      ),
    )
  })

  test('gets its energy and carbon when it is known which model it is', () => {
    const before = {
      ...recorded(RIGHT, { requestedModel: 'prod-chat' }),
      requestedModel: 'gpt-4o',
      servedModel: 'gpt-4o',
    }
    expect([before.energyBasis, before.carbonBasis]).toEqual(['unknown', 'unknown'])

    const after = again(before, 'unpriced', RIGHT)

    expect([after?.energyBasis, after?.carbonBasis]).toEqual(['modelled', 'modelled'])
    expect(formatQuantity(after?.energyWh ?? before.energyWh)).not.toBe('0')
  })

  test('gets carbon of the energy that the caller has measured', () => {
    const nowhere = { zone: 'Atlantis', factors: [] }
    const before = recorded(RIGHT, { energyWh: '1000' }, nowhere)
    expect([before.energyBasis, before.carbonBasis]).toEqual(['measured', 'unknown'])

    const after = again(before, 'unpriced', RIGHT)

    expect([after?.energyBasis, after?.carbonBasis]).toEqual(['measured', 'modelled'])
    expect([after?.energyWh, formatQuantity(after?.carbonGco2e ?? before.carbonGco2e)]).toEqual([
      before.energyWh,
      '384.4',
    ])
  })

  test('stays where a value beside it would come out otherwise by the tables of now', () => {
    const before = {
      ...recorded(RIGHT),
      energyWh: recorded(RIGHT, { outputTokens: 1 }).energyWh,
      carbonBasis: 'unknown',
    }

    expect(again(before, 'unpriced', RIGHT)).toBeUndefined()
    expect(tallyOf([before], [], 'unpriced')).toEqual({ ...NO_TALLY, left: 1 })
  })

  test('stays, and is counted, where nothing is known of it now, or the rules fail at it', () => {
    const before = recorded(EMPTY)
    const beyond = () => {
      throw new RangeError('the cost exceeds the maximum quantity of a record')
    }

    expect(again(before, 'unpriced', EMPTY)).toBeUndefined()
    expect(valueAgain([before], 'unpriced', beyond, AT_MS)).toEqual([])
    expect(tallyOf([before], [], 'unpriced').left).toBe(1)
  })
})

test('what has a value keeps it, whatever the book says now', () => {
  expect(again(recorded(WRONG), 'unpriced', RIGHT)).toBeUndefined()
  expect(again(recorded(EMPTY, { estimatedCostUsd: '7' }), 'unpriced', RIGHT)).toBeUndefined()
})

describe('what is priced by a book', () => {
  const wrong = { book: 'book_wrong' } as const

  test('that was replaced is priced anew, and keeps energy and carbon', () => {
    const before = recorded(WRONG)

    const after = again(before, wrong, RIGHT)

    expect(after).toEqual({
      ...before,
      validFromMs: AT_MS,
      costUsd: 5_000_000_000_000_000n,
      costDetails: expect.stringContaining('book_right'),
    })
    expect(tallyOf([before], after === undefined ? [] : [after], wrong)).toEqual({
      ...NO_TALLY,
      cost_records: 1,
      cost_usd: '0.00375',
    })
  })

  test('stays when it is by another one, or by none', () => {
    for (const row of [recorded(RIGHT), recorded(EMPTY), recorded(WRONG, { estimatedCostUsd: '7' })]) {
      expect(again(row, wrong, RIGHT)).toBeUndefined()
      expect(tallyOf([row], [], wrong)).toEqual(NO_TALLY)
    }
  })

  test('stays, and is counted, while that book is in force, or the next has no price', () => {
    const row = recorded(WRONG, { servedModel: 'gpt-4o' })

    for (const book of [WRONG, EMPTY]) expect(again(row, wrong, book)).toBeUndefined()
    expect(tallyOf([row], [], wrong)).toEqual({ ...NO_TALLY, left: 1 })
  })

  test('that the product came with is found by the day that it describes', () => {
    const shipped = priceBook(bookOf([priceRow('gpt-4o', '1', '1')], { as_of: '2026-09-23' }))

    expect(again(recorded(shipped), { book: '2026-09-23' }, RIGHT)?.costUsd).toBe(5_000_000_000_000_000n)
    expect(again(recorded(shipped), { book: '2026-12-01' }, RIGHT)).toBeUndefined()
  })
})

test('tallies add up, also where prices fall', () => {
  const [before] = [recorded(RIGHT)]
  const after = again(before, { book: 'book_right' }, WRONG)
  const fallen = tallyOf([before], after === undefined ? [] : [after], { book: 'book_right' })

  expect(fallen.cost_usd).toBe('-0.00375')
  expect(plusTally(fallen, fallen)).toEqual({ ...NO_TALLY, cost_records: 2, cost_usd: '-0.0075' })
})
