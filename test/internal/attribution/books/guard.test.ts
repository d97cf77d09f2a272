import { describe, expect, test } from 'vitest'
import { parseBook } from '../../../../internal/attribution/books/book-file.js'
import { reviewBook } from '../../../../internal/attribution/books/guard.js'
import { loadPriceBookFile, type PriceRow, priceBook } from '../../../../internal/attribution/cost/price-book.js'
import { bookOf, priceRow } from '../../../support/price-books.js'

const review = (row: PriceRow, before: readonly PriceRow[] = [], accepted: readonly string[] = []) =>
  reviewBook(
    bookOf([row, priceRow('other', '1', '2')]),
    bookOf([...before, priceRow('other', '1', '2')]),
    new Set(accepted),
  )

describe('a new book', () => {
  test('says what is new, other and gone, and takes it', () => {
    const before = bookOf([priceRow('same', '1', '2'), priceRow('other', '1', '2'), priceRow('gone', '1', '2')])
    const file = bookOf([priceRow('same', '1', '2'), priceRow('other', '2', '4'), priceRow('new', '1', '2')])

    expect(reviewBook(file, before, new Set())).toEqual({
      file,
      added: 1,
      changed: 1,
      removed: 1,
      quarantined: [],
      held: [],
    })
  })

  test('is the same however its members are ordered', () => {
    const before = bookOf([{ output: '2', input: '1', model: 'm', provider: 'openai' }])
    const file = bookOf([{ provider: 'openai', model: 'm', input: '1', output: '2' }])

    expect(reviewBook(file, before, new Set())).toMatchObject({ added: 0, changed: 0, removed: 0 })
  })

  test('of today holds nothing back from itself', () => {
    const today = loadPriceBookFile()

    expect(reviewBook(today, today, new Set())).toMatchObject({ added: 0, changed: 0, held: [], quarantined: [] })
  })
})

describe('a row that looks wrong', () => {
  test.each([
    ['a unit too high', priceRow('m', '2500', '10'), 'implausible_magnitude'],
    [
      'a unit too high in a service tier',
      priceRow('m', '1', '2', { batch: { input: '1', output: '1001' } }),
      'implausible_magnitude',
    ],
    ['no output', { provider: 'openai', model: 'm', input: '1' }, 'incomplete'],
  ])('is left out for good: %s', (_, row, doubt) => {
    const { file, quarantined, held } = review(row, [], ['openai/m'])

    expect(quarantined).toMatchObject([{ name: 'openai/m', doubts: expect.arrayContaining([doubt]) }])
    expect(held).toEqual([])
    expect(priceBook(file).find('openai', 'm', undefined)).toEqual({ kind: 'none', reason: 'quarantined_price' })
  })

  test.each([
    ['cache reads above input', priceRow('m', '1', '2', { cache_read: '1.1' }), 'cache_read_above_input'],
    [
      'the same beyond a threshold',
      priceRow('m', '1', '2', { tiers: [{ above: 10, input: '2', cache_read: '3' }] }),
      'cache_read_above_input',
    ],
    ['input and output swapped', priceRow('m', '2', '1'), 'output_below_input'],
    ['nothing on one side', priceRow('m', '0', '1'), 'zero_on_one_side'],
  ])('is held for a person: %s', (_, row, doubt) => {
    const { file, held } = review(row)

    expect(held).toEqual([{ name: 'openai/m', doubts: [doubt] }])
    expect(priceBook(file).find('openai', 'm', undefined)).toMatchObject({ kind: 'none' })
    expect(review(row, [], ['openai/m']).file.models).toContainEqual(row)
  })

  test.each([
    ['5', [], '5'],
    ['5.000001', ['jump'], '1'],
    ['0.2', [], '0.2'],
    ['0.199999', ['jump'], '1'],
  ])('has jumped by more than five times: from 1 to %s', (input, doubts, priced) => {
    const { file, held } = review(priceRow('m', input, '30'), [priceRow('m', '1', '30')])

    expect(held.flatMap(({ doubts: of }) => of)).toEqual(doubts)
    expect(file.models.find(({ model }) => model === 'm')?.input).toBe(priced)
  })

  test('and stands in the book before is no news', () => {
    const odd = priceRow('m', '2', '1')

    expect(review(odd, [odd])).toMatchObject({ held: [], quarantined: [] })
  })

  test('an embedding has no output to be below or beside', () => {
    expect(review(priceRow('m', '1', '0', { mode: 'embedding' }))).toMatchObject({ held: [], quarantined: [] })
  })
})

describe('a file', () => {
  const problemsOf = (file: unknown): readonly string[] => {
    const parsed = parseBook(typeof file === 'string' ? file : JSON.stringify(file))
    return parsed.kind === 'invalid' ? parsed.problems : []
  }
  const period = (from: string, input = '1') => ({ from, price: { input, output: '2' } })

  test('is a book when it has the form of today’s', () => {
    expect(parseBook(JSON.stringify(loadPriceBookFile()))).toEqual({ kind: 'book', file: loadPriceBookFile() })
  })

  test.each<[string, unknown, string]>([
    ['no JSON', '{', 'it is not JSON'],
    ['a number for a rate', bookOf([{ ...priceRow('m', '1', '2'), input: 1 as never }]), 'models.0.input: '],
    ['a rate with an exponent', bookOf([priceRow('m', '1e3', '2')]), 'models.0.input: '],
    ['no day', bookOf([priceRow('m', '1', '2')], { as_of: '2026-13-01' }), 'as_of: '],
    ['no rows', bookOf([]), 'models: '],
    ['a row twice', bookOf([priceRow('m', '1', '2'), priceRow('M', '1', '2')]), 'openai/m stands there twice'],
    ['thresholds that fall', bookOf([priceRow('m', '1', '2', { tiers: [{ above: 2 }, { above: 1 }] })]), 'must rise'],
    [
      'periods that fall',
      bookOf([priceRow('m', '1', '2')], {
        history: [{ provider: 'openai', models: ['m'], periods: [period('2026-02-01'), period('2026-01-01')] }],
      }),
      'must follow one another',
    ],
    [
      'a dated price a unit too high',
      bookOf([priceRow('m', '1', '2')], {
        history: [{ provider: 'openai', models: ['m'], periods: [period('2026-02-01', '2500')] }],
      }),
      'above 1000 USD',
    ],
    [
      'a factor that makes a rate inexact',
      bookOf([priceRow('m', '0.000000000001', '2', { residency_multiplier: { eu: '1.1' } })]),
      'cannot be held exactly',
    ],
  ])('is none with %s', (_, file, problem) => {
    expect(problemsOf(file).join('\n')).toContain(problem)
  })
})
