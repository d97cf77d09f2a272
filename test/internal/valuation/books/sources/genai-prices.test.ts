import { expect, test } from 'vitest'
import { readGenaiPrices } from '../../../../../internal/valuation/books/sources/genai-prices.js'
import type { SourceBook } from '../../../../../internal/valuation/books/sources/source-book.js'

const PROVIDERS = new Set(['openai', 'anthropic', 'gemini', 'vertex_ai', 'mistral', 'groq'])

const read = (text: string): SourceBook => {
  const parsed = readGenaiPrices(text, PROVIDERS)
  if (parsed.kind === 'invalid') throw new Error(parsed.problem)
  return parsed.book
}
const bookOf = (id: string, ...models: readonly object[]): SourceBook => read(JSON.stringify([{ id, models }]))
const priced = (id: string, prices: object, stated: object = {}) => ({ id, match: { equals: id }, prices, ...stated })
const periodsOf = (book: SourceBook, provider: string, model: string) =>
  book.find(provider, model, undefined)?.row.periods

test('prices, thresholds, fees and service tiers have the form of the book, each tier with all of its rates', () => {
  const book = bookOf(
    'openai',
    priced(
      'gpt-9',
      {
        input_mtok: { base: 2.5, tiers: [{ start: 272000, price: 5 }] },
        output_mtok: { base: 15, tiers: [{ start: 272000, price: 22.5 }] },
        cache_read_mtok: 0.25,
        web_searches_kcount: 10,
      },
      {
        price_variants: [
          { when: { processing: 'batch' }, prices: { input_mtok: 1.25, output_mtok: 7.5 } },
          { when: { service_tier: 'fast' }, prices: { input_mtok: 9 } },
        ],
      },
    ),
  )

  expect(periodsOf(book, 'openai', 'GPT-9')).toEqual([
    {
      price: {
        input: '2.5',
        output: '15',
        cache_read: '0.25',
        batch: { input: '1.25', output: '7.5', cache_read: '0.25' },
        tiers: [{ above: 272000, input: '5', output: '22.5', cache_read: undefined }],
        fees: { web_search: '0.01' },
      },
    },
  ])
})

test('a part that has fewer thresholds than another keeps its last price beyond the higher ones', () => {
  const tiers = (...prices: readonly (readonly [number, number])[]) =>
    prices.map(([start, price]) => ({ start, price }))
  const book = bookOf('gemini-of-nobody', priced('x', { input_mtok: 1 }))
  expect(book.skipped).toEqual({ unknown_provider: 1 })

  const google = bookOf(
    'google',
    priced('gemini-9', {
      input_mtok: { base: 1, tiers: tiers([32000, 2], [128000, 3]) },
      output_mtok: { base: 4, tiers: tiers([32000, 8]) },
    }),
  )
  expect(periodsOf(google, 'gemini', 'gemini-9')?.[0]?.price.tiers).toEqual([
    { above: 32000, input: '2', output: '8' },
    { above: 128000, input: '3', output: '8' },
  ])
})

test('dated prices and dated variants are periods, and the last one that has started applies', () => {
  const book = bookOf(
    'anthropic',
    priced(
      'claude-x',
      [
        { prices: { input_mtok: 3, output_mtok: 15 } },
        { constraint: { start_date: '2026-05-01', type: 'start_date' }, prices: { input_mtok: 2, output_mtok: 10 } },
      ],
      {
        price_variants: [
          {
            when: { processing: 'batch' },
            prices: { input_mtok: 1, output_mtok: 5 },
            constraint: { start_date: '2026-10-14' },
          },
          { when: { speed: 'fast' }, prices: { input_mtok: 4, output_mtok: 20 } },
        ],
      },
    ),
  )

  const match = book.find('anthropic', 'claude-x', undefined)
  expect(match?.row.multipliers).toEqual({ fast: '2' })
  expect(match?.row.periods).toEqual([
    { price: { input: '3', output: '15' } },
    { from: '2026-05-01', price: { input: '2', output: '10' } },
    { from: '2026-10-14', price: { input: '2', output: '10', batch: { input: '1', output: '5' } } },
  ])
})

test('a listed name is exact, a family of names is loose, and the first model that matches has the name', () => {
  const book = bookOf(
    'openai',
    { id: 'a', match: { or: [{ equals: 'a' }, { equals: 'a-mini' }] }, prices: { input_mtok: 1, output_mtok: 2 } },
    {
      id: 'a-next',
      match: { or: [{ starts_with: 'a-' }, { regex: '^b-\\d{8}$' }, { regex: '(b+)+$' }, { regex: '^c*c*c*c*$' }] },
      prices: { input_mtok: 3, output_mtok: 4 },
    },
  )
  const found = (name: string) => {
    const match = book.find('openai', name, undefined)
    return match && [match.row.periods[0]?.price.input, match.isExact]
  }

  expect(found('A-Mini')).toEqual(['1', true])
  expect(found('a-large')).toEqual(['3', false])
  expect(found('b-20260101')).toEqual(['3', true])
  expect(found('bbb')).toBeUndefined()
  expect(found('ccc')).toBeUndefined()
  expect(book.find('openai', 'a', 'eu')).toBeUndefined()
  expect(book.rows.map(({ model }) => model)).toEqual(['a', 'a-mini', 'a-next'])
})

test('a cache write that costs less than the input is its storage alone, and says nothing of the whole', () => {
  const book = bookOf(
    'openai',
    priced('gemini-x', { input_mtok: 0.3, output_mtok: 2.5, cache_write_mtok: 0.0833, cache_read_mtok: 0.03 }),
    priced('claude-x', { input_mtok: 4, output_mtok: 20, cache_write_mtok: 5 }),
  )

  expect(book.rows.map(({ periods }) => periods[0]?.price)).toEqual([
    { input: '0.3', output: '2.5', cache_read: '0.03' },
    { input: '4', output: '20', cache_write: '5' },
  ])
})

test('a name that no event can state, and a day that no calendar has, are left out', () => {
  const dated = [{ prices: { input_mtok: 1 } }, { constraint: { start_date: '2026-13-45' }, prices: { input_mtok: 2 } }]
  const book = bookOf('openai', priced('a\u0007', { input_mtok: 1 }), {
    id: 'b',
    match: { equals: 'b' },
    prices: dated,
  })

  expect([book.rows, book.skipped]).toEqual([[], { no_model_name: 1, invalid: 1 }])
})

test('hours, pages and characters are seconds, pages and characters; free and timed prices are left out', () => {
  const book = bookOf(
    'mistral',
    priced('scribe', { input_audio_hours: 0.36, audio_hours: 0.36 }),
    priced('ocr', { input_document_kpages: 2 }),
    priced('voice', { input_mchars: 22 }),
    priced('gift', { input_mtok: 0, output_mtok: 0 }),
    priced('night', [
      { prices: { input_mtok: 1 } },
      { constraint: { start_time: '00:30:00+00:00', end_time: '16:30:00+00:00' }, prices: { input_mtok: 2 } },
    ]),
    { id: 'odd', match: { sounds_like: 'odd' }, prices: {} },
  )

  expect(book.rows.map(({ model, mode, periods }) => [model, mode, periods[0]?.price.units])).toEqual([
    ['scribe', 'transcription', { seconds: '0.0001' }],
    ['ocr', 'ocr', { pages: '0.002' }],
    ['voice', 'speech', { characters: '0.000022' }],
  ])
  expect(book.skipped).toEqual({ free: 1, by_time_of_day: 1, invalid: 1 })
})

test("Google's Claude is Vertex AI's, and a module of npm is read like the published file", () => {
  const module =
    'const q=1,E=[{id:"google",models:[{id:"claude-x",match:{equals:"claude-x"},prices:{input_mtok:.5,output_mtok:2}}]}];'

  expect(periodsOf(read(module), 'vertex_ai', 'claude-x')).toEqual([{ price: { input: '0.5', output: '2' } }])
})

test('a file of another form is refused with the place', () => {
  for (const text of ['{}', 'const x = 1', '[{"id":"openai","models":', '[]', '"x"']) {
    expect(readGenaiPrices(text, PROVIDERS)).toMatchObject({ kind: 'invalid' })
  }
})
