import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { NO_TALLY, plusTally, revalue, tallyOf, type Valued } from '../../../../internal/attribution/changes/revalue.js'
import { seenByText, sightingOf } from '../../../../internal/attribution/sightings/seen-by.js'
import { DEFAULT_SETTINGS, type GridSettings } from '../../../../internal/auth/tenant.js'
import type { AttributionRow } from '../../../../internal/store/tables/attributions.js'
import { formatQuantity } from '../../../../internal/units/quantity.js'
import { consumptionRules } from '../../../../internal/valuation/consumption.js'
import type { StoredConvention } from '../../../../internal/valuation/conventions/convention.js'
import { usageConventions } from '../../../../internal/valuation/conventions/read-by-convention.js'
import { type PriceBook, priceBook } from '../../../../internal/valuation/cost/price-book.js'
import { admitted, idOf, NOW_MS, type Stated } from '../../../support/invocations.js'
import { bookOf, priceRow } from '../../../support/price-books.js'
import { finishedRow } from '../../../support/rows.js'

const EMPTY = priceBook(bookOf([]), 'book_empty')
const WRONG = priceBook(bookOf([priceRow('gpt-4o', '1', '1')]), 'book_wrong')
const RIGHT = priceBook(bookOf([priceRow('gpt-4o', '2.5', '10')]), 'book_right')
const AT_MS = NOW_MS + 1_000

let charges = false
let now: { readonly book: PriceBook; readonly grid: GridSettings | null }
const consumptionOf = consumptionRules(
  () => now.book,
  () => undefined,
  () => ({ ...DEFAULT_SETTINGS, grid: now.grid, charge_upper_bounds: charges }),
)
/** The consumption rules, which use this book and grid until the next call. */
const rules = (book: PriceBook, grid: GridSettings | null = null) => {
  now = { book, grid }
  return consumptionOf
}

/** A record of a call with 1,000 input and 250 output tokens, valued with a given book. */
function recorded(book: PriceBook, invocation: Stated['invocation'] = {}, grid: GridSettings | null = null) {
  const stated = { id: new Uint8Array(idOf(1)), invocation: { inputTokens: 1_000, outputTokens: 250, ...invocation } }
  const consumption = rules(book, grid)(admitted(stated))
  const exportEligibility = consumption.costBasis === 'unpriced' ? 'unpriced' : 'eligible'
  return { ...finishedRow(stated), ...consumption, exportEligibility }
}

const again = (row: AttributionRow, valued: Valued, book: PriceBook, grid: GridSettings | null = null) =>
  revalue([row], valued, rules(book, grid), AT_MS)[0]

describe('records whose counts can be read in two ways', () => {
  const TWO = { alternativeInputTokens: 1_400, alternativeOutputTokens: 250 }
  const APART: StoredConvention = {
    id: 'ucv_1',
    tenant_id: 'tenant',
    sender: 'api',
    provider: null,
    cache: 'apart',
    reasoning: null,
    valid_from: '2020-01-01T00:00:00.000Z',
    valid_to: null,
    created_at: '2020-01-01T00:00:00.000Z',
  }
  const by = (conventions: readonly StoredConvention[], row: AttributionRow, book = RIGHT) =>
    revalue([row], 'usage', (call) => rules(book)(call, usageConventions(conventions)), AT_MS)
  const ambiguous = () => ({
    ...recorded(RIGHT, TWO),
    usageBasis: 'ambiguous',
    exportEligibility: 'ambiguous_usage',
  })

  test('a convention gives them its counts and cost, and makes them eligible; without it they are as before', () => {
    const before = ambiguous()
    const [read] = by([APART], before)
    expect(read).toMatchObject({
      validFromMs: AT_MS,
      inputTokens: 1_400,
      alternativeInputTokens: 1_000,
      costUsd: 6_000_000_000_000_000n,
      usageBasis: 'reported',
      exportEligibility: 'eligible',
    })
    expect(tallyOf([before], by([APART], before), 'usage')).toMatchObject({ cost_usd: '0.001', left: 0 })
    expect(tallyOf([before], [], 'usage')).toMatchObject({ cost_usd: '0', left: 1 })
    const [undecided] = by([], read as AttributionRow)
    expect(undecided).toMatchObject({
      inputTokens: 1_000,
      alternativeInputTokens: 1_400,
      costUsd: before.costUsd,
      usageBasis: 'ambiguous',
      exportEligibility: 'ambiguous_usage',
    })
    expect(JSON.parse(undecided?.costDetails ?? '').other_reading).toMatchObject({ cost_usd: '0.006' })
  })

  test('of a merged record the convention is that of the sender whose usage counts', () => {
    const row = ambiguous()
    const usage = sightingOf({ ...row, intake: 'otlp', instrumentation: 'acme.llm.tracer' }, 'trace_and_span', true)
    const merged = {
      ...row,
      intake: 'otlp',
      instrumentation: 'framework',
      seenBy: seenByText({ also: [usage], apart: [] }),
    }
    const [read] = by([{ ...APART, sender: 'acme.llm.tracer' }], merged)
    expect(read).toMatchObject({ inputTokens: 1_400, instrumentation: 'framework', usageBasis: 'reported' })
    expect(by([{ ...APART, sender: 'acme.llm.tracer' }], read as AttributionRow)).toEqual([])
    expect(by([{ ...APART, sender: 'framework' }], merged)).toEqual([])
  })

  test('what the event says of its counts is kept, and so is what nobody but a person or the region decides', () => {
    const partial = recorded(RIGHT, { ...TWO, usageBasis: 'partial' })
    const row = { ...partial, usageBasis: 'ambiguous', exportEligibility: 'residency_restricted' }
    expect(by([APART], row)[0]).toMatchObject({ usageBasis: 'partial', exportEligibility: 'residency_restricted' })
  })

  test('they stay as they are if they are read so already, whatever the prices have become', () => {
    const [read] = by([APART], ambiguous())
    expect(by([APART], read as AttributionRow, WRONG)).toEqual([])
    expect(by([], ambiguous(), WRONG)).toEqual([])
    expect(by([APART], recorded(RIGHT), WRONG)).toEqual([])
  })
})

describe('records whose cost is an upper bound', () => {
  const CACHE = priceBook(bookOf([priceRow('gpt-4o', '2.5', '10', { cache_read: '0.25' })]), 'book_cache')
  const bounded = (stated: Stated['invocation'] = {}) => ({
    ...recorded(RIGHT, { cachedInputTokens: 800, ...stated }),
    exportEligibility: 'cost_upper_bound',
  })

  test.each<[Valued]>([['unpriced'], [{ book: 'book_right' }]])(
    'a book with a rate for the cache ends it: %j',
    (by) => {
      const before = bounded()
      expect(before).toMatchObject({ costBound: 'upper', costUsd: 5_000_000_000_000_000n })
      const after = again(before, by, CACHE)
      expect(after).toMatchObject({
        validFromMs: AT_MS,
        costUsd: 3_200_000_000_000_000n,
        costBound: '',
        exportEligibility: 'eligible',
      })
      expect(tallyOf([before], after ? [after] : [], by)).toMatchObject({
        cost_records: 1,
        cost_usd: '-0.0018',
        left: 0,
      })
      const disputed = again({ ...before, exportEligibility: 'disputed' }, by, CACHE)
      expect(disputed).toMatchObject({ costBound: '', exportEligibility: 'disputed' })
    },
  )

  test('a book that has no rate for it any more makes one', () => {
    const known = recorded(CACHE, { cachedInputTokens: 800 })
    expect(known).toMatchObject({ costBound: '' })
    expect(again(known, { book: 'book_cache' }, RIGHT)).toMatchObject({
      costBound: 'upper',
      exportEligibility: 'cost_upper_bound',
    })
  })

  test('they stay as they are where no rate is known yet, whatever the prices have become', () => {
    expect(again(bounded(), 'unpriced', WRONG)).toBeUndefined()
    expect(tallyOf([bounded()], [], 'unpriced')).toMatchObject({ cost_usd: '0', left: 1 })
  })

  test('a negotiated price that is gone by now does not become the price of the list', () => {
    const negotiated = { ...bounded(), costBasis: 'tenant_price' }
    expect(again(negotiated, 'unpriced', CACHE)).toBeUndefined()
    expect(tallyOf([negotiated], [], 'unpriced')).toMatchObject({ left: 1 })
  })

  test('a tenant that charges upper bounds back can have earlier ones charged, and take that back', () => {
    const before = bounded()
    charges = true
    const charged = again(before, 'unpriced', RIGHT)
    expect(charged).toMatchObject({ costUsd: before.costUsd, costBound: 'upper', exportEligibility: 'eligible' })
    expect(again(charged as AttributionRow, 'unpriced', RIGHT)).toBeUndefined()
    charges = false
    expect(again(charged as AttributionRow, 'unpriced', RIGHT)).toMatchObject({ exportEligibility: 'cost_upper_bound' })
  })
})

describe('records without a value', () => {
  test('a unit without a price gets one, of one of several the cost is what is known', () => {
    const pages = priceBook(bookOf([priceRow('gpt-4o', '2.5', '10', { units: { pages: '0.002' } })]), 'book_pages')
    const before = recorded(RIGHT, { billedUnits: { pages: '3', documents: '1' } })
    expect(before).toMatchObject({ costUsd: 5_000_000_000_000_000n, costBasis: 'unpriced' })

    const after = again(before, 'unpriced', pages)
    expect(after).toMatchObject({
      costUsd: 11_000_000_000_000_000n,
      costBasis: 'unpriced',
      exportEligibility: 'unpriced',
      costDetails: expect.stringContaining('"unpriced_units":["documents"]'),
    })
    const changed = after as AttributionRow
    expect(tallyOf([before], [changed], 'unpriced')).toMatchObject({ cost_records: 1, cost_usd: '0.006', left: 1 })
    expect(again(changed, 'unpriced', pages)).toBeUndefined()
    expect(again(changed, 'unpriced', RIGHT)).toBeUndefined()

    const priced = again(recorded(RIGHT, { billedUnits: { pages: '3' } }), 'unpriced', pages)
    expect(priced).toMatchObject({ costUsd: 11_000_000_000_000_000n, costBasis: 'price_book' })
    expect(priced).toMatchObject({ exportEligibility: 'eligible' })
  })

  test('an unpriced record is priced with the current book and becomes eligible; its energy stays the same', () => {
    const before = recorded(EMPTY)

    const after = again(before, 'unpriced', RIGHT)

    expect(after).toEqual({
      ...before,
      validFromMs: AT_MS,
      costUsd: 5_000_000_000_000_000n,
      costBasis: 'price_book',
      costBound: '',
      costDetails: expect.stringContaining('book_right'),
      exportEligibility: 'eligible',
    })
  })

  test.each([
    ['advisory', 'advisory'],
    ['residency_restricted', 'residency_restricted'],
  ])('an unpriced record that is %s stays so once it is priced', (before, after) => {
    expect(again({ ...recorded(EMPTY), exportEligibility: before }, 'unpriced', RIGHT)?.exportEligibility).toBe(after)
  })

  test('an unpriced record below the confidence floor stays ineligible once it is priced', () => {
    expect(again({ ...recorded(EMPTY), confidence: 7_999 }, 'unpriced', RIGHT)?.exportEligibility).toBe('below_floor')
  })

  test('an unpriced record is valued exactly as a new event would be', () => {
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

  test('a record gets energy and carbon once its model is known', () => {
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

  test('an estimate by class gives way to the model itself once a table knows it, and is no missing value', () => {
    const XAI = priceBook(bookOf([priceRow('gpt-4o', '2.5', '10'), priceRow('our-7b', '3', '15')]), 'book_xai')
    const estimated = recorded(XAI, { requestedModel: 'our-7b' })
    expect([estimated.energyBasis, estimated.carbonBasis]).toEqual(['class_estimate', 'class_estimate'])
    expect(again(estimated, 'unpriced', XAI)).toBeUndefined()
    expect(tallyOf([estimated], [], 'unpriced')).toEqual(NO_TALLY)

    const after = again({ ...estimated, requestedModel: 'gpt-4o', servedModel: 'gpt-4o' }, 'unpriced', XAI)

    expect([after?.energyBasis, after?.carbonBasis]).toEqual(['modelled', 'modelled'])
    expect(after?.costUsd).toBe(estimated.costUsd)
  })

  test('a record gets carbon computed from the energy that the caller measured', () => {
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

  test('a missing value is not filled if another value of the record would change with the current tables', () => {
    const before = {
      ...recorded(RIGHT),
      energyWh: recorded(RIGHT, { outputTokens: 1 }).energyWh,
      carbonBasis: 'unknown',
    }

    expect(again(before, 'unpriced', RIGHT)).toBeUndefined()
    expect(tallyOf([before], [], 'unpriced')).toEqual({ ...NO_TALLY, left: 1 })
  })

  test('a record that still has no value, or is out of range, stays unchanged and is counted', () => {
    const before = recorded(EMPTY)
    const beyond = () => {
      throw new RangeError('the cost exceeds the maximum quantity of a record')
    }

    expect(again(before, 'unpriced', EMPTY)).toBeUndefined()
    expect(revalue([before], 'unpriced', beyond, AT_MS)).toEqual([])
    expect(tallyOf([before], [], 'unpriced').left).toBe(1)
  })
})

test('an existing value stays, whatever the current book contains', () => {
  expect(again(recorded(WRONG), 'unpriced', RIGHT)).toBeUndefined()
  expect(again(recorded(EMPTY, { estimatedCostUsd: '7' }), 'unpriced', RIGHT)).toBeUndefined()
})

describe('records priced by a replaced book', () => {
  const wrong = { book: 'book_wrong' } as const

  test('a record priced by the replaced book is repriced and keeps energy and carbon', () => {
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

  test('a record priced by another book, or by none, stays unchanged', () => {
    for (const row of [recorded(RIGHT), recorded(EMPTY), recorded(WRONG, { estimatedCostUsd: '7' })]) {
      expect(again(row, wrong, RIGHT)).toBeUndefined()
      expect(tallyOf([row], [], wrong)).toEqual(NO_TALLY)
    }
  })

  test('a record stays unchanged and is counted while the book is in force or its successor has no price', () => {
    const row = recorded(WRONG, { servedModel: 'gpt-4o' })

    for (const book of [WRONG, EMPTY]) expect(again(row, wrong, book)).toBeUndefined()
    expect(tallyOf([row], [], wrong)).toEqual({ ...NO_TALLY, left: 1 })
  })

  test('records of the built-in book are found by its as_of date', () => {
    const shipped = priceBook(bookOf([priceRow('gpt-4o', '1', '1')], { as_of: '2026-09-23' }))

    expect(again(recorded(shipped), { book: '2026-09-23' }, RIGHT)?.costUsd).toBe(5_000_000_000_000_000n)
    expect(again(recorded(shipped), { book: '2026-12-01' }, RIGHT)).toBeUndefined()
  })
})

test('tallies add up, also when prices fall', () => {
  const [before] = [recorded(RIGHT)]
  const after = again(before, { book: 'book_right' }, WRONG)
  const fallen = tallyOf([before], after === undefined ? [] : [after], { book: 'book_right' })

  expect(fallen.cost_usd).toBe('-0.00375')
  expect(plusTally(fallen, fallen)).toEqual({ ...NO_TALLY, cost_records: 2, cost_usd: '-0.0075' })
})
