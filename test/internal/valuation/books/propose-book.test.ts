import fc from 'fast-check'
import { expect, test } from 'vitest'
import { reviewBook } from '../../../../internal/valuation/books/book-guard.js'
import { flattened } from '../../../../internal/valuation/books/flat-sheet.js'
import { proposedBook, uponRelease, withFormerRows } from '../../../../internal/valuation/books/propose-book.js'
import type {
  SourceBook,
  SourceName,
  SourcePeriod,
  SourceRow,
} from '../../../../internal/valuation/books/sources/source-book.js'
import { type PriceBookFile, priceBook, startMs } from '../../../../internal/valuation/cost/price-book.js'
import type { RateSheet } from '../../../../internal/valuation/cost/rate-sheet.js'
import { bookOf, priceRow } from '../../../support/price-books.js'

/** What the newer books say of a model that ours has, and what becomes of it. */

const DATES = { asOf: '2026-11-28', effectiveFrom: '2026-12-01', today: '2026-11-29' }

const sourceOf = (name: SourceName, rows: readonly SourceRow[], isExact = true): SourceBook => ({
  name,
  rows,
  find(provider, model, region) {
    const row = rows.find((each) => each.provider === provider && each.model === model && each.region === region)
    return row && { row, isExact }
  },
  skipped: {},
})
const said = (model: string, ...periods: readonly SourcePeriod[]): SourceRow => ({ provider: 'openai', model, periods })
const now = (model: string, price: RateSheet): SourceRow => said(model, { price })
const genai = (...rows: readonly SourceRow[]) => sourceOf('genai-prices', rows)
const litellm = (...rows: readonly SourceRow[]) => sourceOf('litellm', rows)
const rowIn = (file: PriceBookFile, model: string) => file.models.find((row) => row.model === model)

/** The rates that calls of a day have, in the form of `flattened`. */
function ratesOn(file: PriceBookFile, model: string, day: string, book = priceBook(file)) {
  const found = book.find('openai', model, undefined)
  if (found.kind === 'none') return undefined
  const period = found.entry.periods.findLast(({ fromMs }) => fromMs <= startMs(day)) ?? found.entry.periods[0]
  return Object.fromEntries(flattened(period?.sheet ?? {}))
}

test('a price that all given books state otherwise changes from the day on which the new book comes into force', () => {
  const before = bookOf([priceRow('a', '3', '15', { cache_read: '0.3' }), priceRow('b', '1', '2')])
  const [one, other] = [
    { input: '2', output: '10', cache_read: '0.2' },
    { input: '2', output: '10' },
  ]

  const { file, changes } = proposedBook(before, [genai(now('a', one)), litellm(now('a', other))], DATES)

  expect(changes).toEqual([
    {
      name: 'openai/a',
      from: '2026-12-01',
      isDatedBySource: false,
      sources: ['genai-prices', 'litellm'],
      rates: [
        { price: 'input', before: '3', after: '2' },
        { price: 'output', before: '15', after: '10' },
        { price: 'cache_read', before: '0.3', after: '0.2' },
      ],
    },
  ])
  expect(ratesOn(file, 'a', '2026-11-30')).toEqual({ input: '3', output: '15', cache_read: '0.3' })
  expect(ratesOn(file, 'a', '2026-12-01')).toEqual({ input: '2', output: '10', cache_read: '0.2' })
  expect(rowIn(file, 'b')).toBe(before.models[1])
  expect(file.as_of).toBe('2026-11-28')
})

test('a change has the day that a book gives for it, and an announced price comes after it', () => {
  const before = bookOf([priceRow('a', '3', '15')])
  const dated = said(
    'a',
    { price: { input: '3', output: '15' } },
    { from: '2026-10-14', price: { input: '2', output: '10' } },
    { from: '2027-01-01', price: { input: '1', output: '5' } },
  )

  const { file, changes } = proposedBook(before, [genai(dated), litellm(now('a', { input: '2', output: '10' }))], DATES)

  expect(changes).toMatchObject([{ from: '2026-10-14', isDatedBySource: true, scheduledFrom: '2027-01-01' }])
  expect(ratesOn(file, 'a', '2026-10-13')).toEqual({ input: '3', output: '15' })
  expect(ratesOn(file, 'a', '2026-10-14')).toEqual({ input: '2', output: '10' })
  expect(ratesOn(file, 'a', '2027-01-01')).toEqual({ input: '1', output: '5' })
  expect(file.history[0]?.periods.map(({ scheduled }) => scheduled)).toEqual([undefined, undefined, true])
})

test('the price of a region changes from that day, too, and what nobody accepts keeps its former ones', () => {
  const regional = (region: string) => ({ ...priceRow('a', '3', '15'), region })
  const before = bookOf([priceRow('a', '3', '15'), regional('eu'), regional('us')])
  const listed = (region: string): SourceRow => ({ ...now('a', { input: '2', output: '10' }), region })

  const { file } = proposedBook(before, [litellm(listed('eu'), listed('us'))], DATES)
  const held = withFormerRows(file, before, new Set(['openai/a@us']))

  const inputsIn = (book: PriceBookFile, region: string | undefined) => {
    const found = priceBook(book).find('openai', 'a', region)
    return found.kind === 'none' ? [] : found.entry.periods.map(({ sheet }) => sheet.input)
  }
  expect(inputsIn(file, undefined)).toEqual(['3'])
  expect(['eu', 'us'].map((region) => inputsIn(file, region))).toEqual([
    ['3', '2'],
    ['3', '2'],
  ])
  expect(['eu', 'us'].map((region) => inputsIn(held, region))).toEqual([['3', '2'], ['3']])
})

test('where the books disagree, the row stays, and the cost of a call says what they have', () => {
  const before = bookOf([priceRow('a', '3', '15'), priceRow('b', '3', '15')])
  const sources = [
    genai(now('a', { input: '3', output: '15' }), now('b', { input: '2', output: '15' })),
    litellm(now('a', { input: '2', output: '15' }), now('b', { input: '1', output: '15' })),
  ]

  const { file, changes, disagreements } = proposedBook(before, sources, DATES)

  expect(changes).toEqual([])
  expect(disagreements).toEqual([
    { name: 'openai/a', price: 'input', ours: '3', said: { 'genai-prices': '3', litellm: '2' } },
    { name: 'openai/b', price: 'input', ours: '3', said: { 'genai-prices': '2', litellm: '1' } },
  ])
  expect(rowIn(file, 'a')).toEqual({ ...before.models[0], other: { litellm: { input: '2' } } })
  expect(rowIn(file, 'b')?.other).toEqual({ 'genai-prices': { input: '2' }, litellm: { input: '1' } })
})

test('what had no price gets one for all days, and a rate that nobody states leaves with its former price', () => {
  const before = bookOf([
    priceRow('a', '3', '15'),
    priceRow('b', '4', '8', { cache_read: '3', fees: { web_search: '0.01' } }),
  ])
  const batch = { input: '1.5', output: '7.5' }

  const { file, changes } = proposedBook(
    before,
    [
      genai(
        now('a', { input: '3', output: '15', batch, fees: { web_search: '0.01' } }),
        now('b', { input: '2', output: '8' }),
      ),
    ],
    DATES,
  )

  expect(changes.map(({ name, from }) => [name, from])).toEqual([
    ['openai/a', undefined],
    ['openai/b', '2026-12-01'],
  ])
  expect(ratesOn(file, 'a', '2026-01-01')).toMatchObject({ 'batch.input': '1.5', 'batch.output': '7.5' })
  expect(ratesOn(file, 'b', '2026-12-01')).toEqual({ input: '2', output: '8', 'fees.web_search': '0.01' })
})

test('thresholds one token apart are one threshold; one that all books deny goes, one that is in doubt stays', () => {
  const tiers = (above: number) => [{ above, input: '6', output: '22' }]
  const row = (model: string) => priceRow(model, '3', '15', { tiers: tiers(271_999) })
  const base = { input: '3', output: '15' }

  const { file, changes, disagreements } = proposedBook(
    bookOf([row('a'), row('b'), row('c')]),
    [
      genai(now('a', { ...base, tiers: tiers(272_000) }), now('b', base), now('c', base)),
      litellm(
        now('a', { ...base, tiers: tiers(272_000) }),
        now('b', base),
        now('c', { ...base, tiers: tiers(272_000) }),
      ),
    ],
    DATES,
  )

  expect(changes.map(({ name }) => name)).toEqual(['openai/b'])
  expect(ratesOn(file, 'b', '2026-12-01')).toEqual(base)
  expect(ratesOn(file, 'b', '2026-11-30')).toMatchObject({ '>271999.input': '6' })
  expect(disagreements).toMatchObject([{ name: 'openai/c', price: 'thresholds' }])
})

test('a family of names confirms a price and changes none', () => {
  const before = bookOf([priceRow('a-preview', '3', '15'), priceRow('b-preview', '2', '10')])
  const batch = { input: '1', output: '5' }
  const family = (...rows: readonly SourceRow[]) => sourceOf('genai-prices', rows, false)
  const row = (model: string) => now(model, { input: '2', output: '10', batch })

  const { changes } = proposedBook(before, [family(row('a-preview'), row('b-preview'))], DATES)

  expect(changes.map(({ name }) => name)).toEqual(['openai/b-preview'])
})

test('models that only newer books have are added, with their dated prices; where the books disagree they are not', () => {
  const dated = said(
    'n',
    { price: { input: '3', output: '6' } },
    { from: '2026-09-01', price: { input: '1', output: '2' } },
  )
  const { file, added, disagreements } = proposedBook(
    bookOf([priceRow('a', '1', '2')]),
    [
      genai(dated, now('x', { input: '1', output: '2' })),
      litellm(now('x', { input: '9', output: '2' }), {
        ...now('y', { input: '1', output: '2' }),
        region: 'eu',
        multipliers: { us: '1.1' },
        context: '105e4',
      }),
    ],
    DATES,
  )

  expect(added).toEqual(['openai/n', 'openai/y@eu'])
  expect(ratesOn(file, 'n', '2026-08-31')).toEqual({ input: '3', output: '6' })
  expect(ratesOn(file, 'n', '2026-09-01')).toEqual({ input: '1', output: '2' })
  expect(rowIn(file, 'y')).toMatchObject({ region: 'eu', multipliers: { us: '1.1' }, context: 1_050_000 })
  expect(disagreements).toMatchObject([{ name: 'openai/x', price: 'input' }])
})

test('a price per unit is not added to a model that is billed by tokens, and one of the other kind is in doubt', () => {
  const before = bookOf([
    priceRow('a', '1', '2'),
    { provider: 'openai', model: 's', mode: 'transcription', units: { seconds: '0.1' } },
  ])
  const { file, disagreements } = proposedBook(
    before,
    [genai(now('a', { input: '1', output: '2', units: { seconds: '0.1' } }), now('s', { input: '1', output: '2' }))],
    DATES,
  )

  expect(file.models).toEqual(before.models)
  expect(disagreements).toMatchObject([{ name: 'openai/s', price: 'tokens or units', ours: 'units' }])
})

test('prices by time of day stay as they are', () => {
  const windows = [{ from: '00:30', to: '16:30', days: [1], price: { input: '1', output: '2' } }]
  const history = [
    {
      provider: 'openai',
      models: ['a'],
      periods: [{ from: '2026-01-01', price: { input: '3', output: '15' }, windows }],
    },
  ]
  const before = bookOf([priceRow('a', '3', '15')], { history })

  const { file, byTimeOfDay } = proposedBook(before, [genai(now('a', { input: '9', output: '19' }))], DATES)

  expect(byTimeOfDay).toEqual(['openai/a'])
  expect(file.history).toEqual(history)
})

test('a book that was imported gets the models and rules of a newer release, and keeps its own prices', () => {
  const rules = [{ models: ['*'], source: 'stated', batch: '0.5' }]
  const release = bookOf([priceRow('a', '1', '2'), priceRow('n', '1', '2')], {
    as_of: '2026-12-01',
    providers: { openai: { rules } },
    history: [
      { provider: 'openai', models: ['a', 'n'], periods: [{ from: '2026-01-01', price: { input: '1', output: '2' } }] },
    ],
  })
  const inForce = bookOf([priceRow('a', '3', '4')], { as_of: '2026-11-01' })

  const upon = uponRelease(inForce, release)

  expect(upon.models.map(({ model, input }) => [model, input])).toEqual([
    ['a', '3'],
    ['n', '1'],
  ])
  expect(upon.providers).toEqual({ openai: { rules } })
  expect(upon.history.map(({ models }) => models)).toEqual([['n']])
  expect(uponRelease(release, inForce)).toBe(release)
})

test('a model whose new price nobody would accept keeps its row and its dated prices', () => {
  const periods = [{ from: '2026-01-01', price: { input: '1', output: '2' } }]
  const before = bookOf([priceRow('a', '1', '2'), priceRow('b', '1', '2')], {
    history: [{ provider: 'openai', models: ['a', 'b'], periods }],
  })
  const { file } = proposedBook(
    before,
    [
      genai(
        now('a', { input: '9000', output: '2' }),
        now('b', { input: '2', output: '2' }),
        now('n', { input: '9000', output: '2' }),
      ),
    ],
    DATES,
  )

  const kept = withFormerRows(file, before, new Set(['openai/a', 'openai/n']))

  expect(rowIn(kept, 'a')).toEqual(before.models[0])
  expect(ratesOn(kept, 'a', '2026-12-01')).toEqual({ input: '1', output: '2' })
  expect(ratesOn(kept, 'b', '2026-12-01')).toEqual({ input: '2', output: '2' })
  // A new model has no former row: the guard leaves it out.
  expect(rowIn(kept, 'n')?.input).toBe('9000')
})

const rate = fc.constantFrom('1', '2', '3.5', '0.125')
const rates = fc.record({ input: rate, output: rate, cache_read: rate }, { requiredKeys: ['input', 'output'] })
const sheet: fc.Arbitrary<RateSheet> = fc
  .tuple(
    rates,
    fc.option(fc.record({ input: rate, output: rate }), { nil: undefined }),
    fc.option(rates, { nil: undefined }),
  )
  .map(([base, batch, beyond]) => ({
    ...base,
    ...(batch && { batch }),
    ...(beyond && { tiers: [{ above: 200_000, ...beyond }] }),
  }))
const MODELS = ['m0', 'm1', 'm2', 'm3', 'm4'] as const
const dayOf = (month: number) => `2026-${String(month).padStart(2, '0')}-15`
const sourceRow = fc
  .tuple(
    fc.constantFrom(...MODELS),
    sheet,
    fc.array(fc.tuple(fc.integer({ min: 1, max: 12 }), sheet), { maxLength: 3 }),
  )
  .map(([model, first, later]) => {
    const byDay = new Map(later.map(([month, price]) => [dayOf(month), price]))
    const dated = [...byDay].sort(([one], [other]) => (one < other ? -1 : 1)).map(([from, price]) => ({ from, price }))
    return said(model, { price: first }, ...dated)
  })
const source = (name: SourceName) =>
  fc.uniqueArray(sourceRow, { selector: ({ model }) => model }).map((rows) => sourceOf(name, rows))
const book = fc
  .uniqueArray(fc.tuple(fc.constantFrom(...MODELS), sheet), { selector: ([model]) => model, minLength: 1 })
  .map((rows) => bookOf(rows.map(([model, price]) => ({ provider: 'openai', model, mode: 'chat', ...price }))))
const drawn = fc.tuple(book, source('genai-prices'), source('litellm'))

test('calls before the day of a change keep their price, no row is lost, and the same proposal again changes nothing', () => {
  fc.assert(
    fc.property(drawn, ([before, one, other]) => {
      const { file, changes } = proposedBook(before, [one, other], DATES)
      const [former, next] = [priceBook(before), priceBook(file)]

      for (const { model } of before.models) {
        const change = changes.find(({ name }) => name === `openai/${model}`)
        const from = change?.from ?? change?.scheduledFrom ?? '2027-06-01'
        const days = ['2025-01-01', ...Array.from({ length: 12 }, (_, month) => dayOf(month + 1)), '2026-11-30']
        const lost = days
          .filter((day) => day < from)
          .filter((day) => {
            const is = ratesOn(file, model, day, next)
            // What had no price may get one for all days.
            return Object.entries(ratesOn(before, model, day, former) ?? {}).some(([path, was]) => is?.[path] !== was)
          })
        expect(lost).toEqual([])
      }
      expect(file.models.map(({ model }) => model)).toEqual(
        expect.arrayContaining(before.models.map(({ model }) => model)),
      )
      const again = proposedBook(file, [one, other], DATES)
      expect(again).toMatchObject({ changes: [], added: [] })
      expect(again.file).toEqual(file)
    }),
  )
})

test('a proposal on top of what its guard let through proposes nothing that the guard lets through', () => {
  fc.assert(
    fc.property(drawn, ([before, one, other]) => {
      const { file } = reviewBook(proposedBook(before, [one, other], DATES).file, before, new Set())

      const again = reviewBook(proposedBook(file, [one, other], DATES).file, file, new Set())

      expect([again.added, again.changed]).toEqual([0, 0])
    }),
  )
})
