import { describe, expect, test } from 'vitest'
import { parseBook } from '../../../../internal/valuation/books/book-file.js'
import { type BookReview, reviewBook } from '../../../../internal/valuation/books/book-guard.js'
import {
  loadPriceBookFile,
  type PriceBookFile,
  type PriceRow,
  priceBook,
} from '../../../../internal/valuation/cost/price-book.js'
import { bookOf, priceRow } from '../../../support/price-books.js'

const review = (row: PriceRow, before: readonly PriceRow[] = [], accepted: readonly string[] = []) =>
  reviewBook(
    bookOf([row, priceRow('other', '1', '2')]),
    bookOf([...before, priceRow('other', '1', '2')]),
    new Set(accepted),
  )

describe('a new book', () => {
  test('is checked by its rates; what else a changed row says, such as its last day, is none', () => {
    const row = { ...priceRow('m', '1', '2'), deprecated: '2027-05-01' }

    expect(review({ ...row, output: '3' }, [row])).toMatchObject({ changed: 1, held: [] })
  })

  test('is accepted, with the numbers of added, changed and removed rows', () => {
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

  test('is unchanged when only the order of members differs', () => {
    const before = bookOf([{ output: '2', input: '1', model: 'm', provider: 'openai' }])
    const file = bookOf([{ provider: 'openai', model: 'm', input: '1', output: '2' }])

    expect(reviewBook(file, before, new Set())).toMatchObject({ added: 0, changed: 0, removed: 0 })
  })

  test('may have models that are billed by other units than tokens only', () => {
    const row = { provider: 'openai', model: 'm', units: { seconds: '0.0001' } }

    expect(review(row)).toMatchObject({ added: 1, quarantined: [], held: [] })
    expect(review({ ...row, units: { seconds: '0.006' } }, [row])).toMatchObject({
      held: [{ name: 'openai/m', doubts: ['jump'] }],
    })
  })

  test('that equals the built-in book holds no rows', () => {
    const today = loadPriceBookFile()

    expect(reviewBook(today, today, new Set())).toMatchObject({ added: 0, changed: 0, held: [], quarantined: [] })
  })
})

describe('a doubtful row', () => {
  test.each([
    ['a unit too high', priceRow('m', '2500', '10'), 'implausible_magnitude'],
    [
      'a unit too high in a service tier',
      priceRow('m', '1', '2', { batch: { input: '1', output: '1001' } }),
      'implausible_magnitude',
    ],
    ['a fee per 1,000 calls', priceRow('m', '1', '2', { fees: { web_search: '10' } }), 'implausible_magnitude'],
    [
      'a price per 1,000,000 characters',
      priceRow('m', '1', '2', { units: { characters: '150' } }),
      'implausible_magnitude',
    ],
    ['no output', { provider: 'openai', model: 'm', input: '1' }, 'incomplete'],
  ])('is quarantined, even if accepted: %s', (_, row, doubt) => {
    const { file, quarantined, held } = review(row, [], ['openai/m'])

    expect(quarantined).toMatchObject([{ name: 'openai/m', doubts: expect.arrayContaining([doubt]) }])
    expect(held).toEqual([])
    expect(priceBook(file).find('openai', 'm', undefined)).toEqual({ kind: 'none', reason: 'quarantined_price' })
  })

  test.each([
    ['cache reads above input', priceRow('m', '1', '2', { cache_read: '1.1' }), 'cache_read_above_input'],
    [
      'cache reads above input beyond a threshold',
      priceRow('m', '1', '2', { tiers: [{ above: 10, input: '2', cache_read: '3' }] }),
      'cache_read_above_input',
    ],
    ['input and output swapped', priceRow('m', '2', '1'), 'output_below_input'],
    ['a zero rate for input only', priceRow('m', '0', '1'), 'zero_on_one_side'],
    // Rates that published books had.
    [
      'a one-hour write at 24 times input',
      priceRow('m', '0.25', '1.25', { cache_write_1h: '6' }),
      'rate_out_of_bounds',
    ],
    ['a write below input', priceRow('m', '2.75', '11', { cache_write: '1.38' }), 'rate_out_of_bounds'],
    ['batch of another model', priceRow('m', '12', '12', { batch: { input: '1', output: '1' } }), 'rate_out_of_bounds'],
    ['a priority rate at 50 times', priceRow('m', '0.05', '0.4', { priority: { input: '2.5' } }), 'rate_out_of_bounds'],
    ['a factor of ten', priceRow('m', '1', '2', { multipliers: { us: '10' } }), 'rate_out_of_bounds'],
  ])('is held for manual review: %s', (_, row, doubt) => {
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
  ])('is held when its price changes by more than a factor of five: from 1 to %s', (input, doubts, priced) => {
    const output = String(2 * Number(input))
    const { file, held } = review(priceRow('m', input, output), [priceRow('m', '1', '2')])

    expect(held.flatMap(({ doubts: of }) => of)).toEqual(doubts)
    expect(file.models.find(({ model }) => model === 'm')?.input).toBe(priced)
  })

  test('is accepted if it is unchanged from the previous book', () => {
    const odd = priceRow('m', '2', '1')

    expect(review(odd, [odd])).toMatchObject({ held: [], quarantined: [] })
  })

  test('for an embedding needs no output rate', () => {
    expect(review(priceRow('m', '1', '0', { mode: 'embedding' }))).toMatchObject({ held: [], quarantined: [] })
  })
})

describe('dated prices', () => {
  type Period = PriceBookFile['history'][number]['periods'][number]
  const row = priceRow('m', '1', '2')
  const other = priceRow('n', '1', '2')
  const dated = (periods: readonly Period[], models: readonly string[] = ['m', 'n']) =>
    bookOf([row, other], { history: [{ provider: 'openai', models, periods }] })
  const period = (from: string, price: Period['price'] = {}, windows?: Period['windows']): Period => {
    return { from, price: { input: '1', output: '2', ...price }, ...(windows && { windows }) }
  }
  const peak = (price: Period['price']) => [{ from: '01:00', to: '04:00', days: [1], price }]
  const before = dated([period('2026-01-01')])
  const priceOf = ({ file }: BookReview, model = 'm', at = '2026-03-01') => {
    const book = priceBook(file)
    const found = book.find('openai', model, undefined)
    if (found.kind === 'none') return found.reason
    return found.entry.periods.findLast(({ fromMs }) => fromMs <= Date.parse(at))?.sheet.input
  }

  test.each<[string, Period]>([
    ['a unit too high', period('2026-02-01', { input: '2500' })],
    ['a unit too high for cached tokens', period('2026-02-01', { cache_read: '1001' })],
    ['a unit too high in a service tier', period('2026-02-01', { batch: { input: '1', output: '1001' } })],
    ['a unit too high beyond a threshold', period('2026-02-01', { tiers: [{ above: 9, output: '1001' }] })],
    ['a unit too high in a window', period('2026-02-01', {}, peak({ input: '1', output: '1001' }))],
    ['without output', { from: '2026-02-01', price: { input: '1' } }],
    ['without input in a window', period('2026-02-01', {}, peak({ output: '1' }))],
  ])('that are %s are left out for good, and with them their models', (_, wrong) => {
    const reviewed = reviewBook(dated([period('2026-01-01'), wrong]), before, new Set(['openai/m', 'openai/n']))

    expect(reviewed.quarantined.map(({ name }) => name)).toEqual(['openai/m', 'openai/n'])
    expect([priceOf(reviewed), priceOf(reviewed, 'n')]).toEqual(['quarantined_price', 'quarantined_price'])
  })

  test.each<[string, Period, string]>([
    ['six times the period before', period('2026-02-01', { input: '6', output: '7' }), 'jump'],
    ['six times the previous price of the same period', period('2026-01-01', { input: '6', output: '7' }), 'jump'],
    ['windows of six times', period('2026-02-01', {}, peak({ input: '6', output: '7' })), 'jump'],
    ['cache reads above input', period('2026-02-01', { cache_read: '1.1' }), 'cache_read_above_input'],
    ['input and output swapped', period('2026-02-01', { input: '2', output: '1' }), 'output_below_input'],
    ['a one-hour write of 24 times', period('2026-02-01', { cache_write_1h: '24' }), 'rate_out_of_bounds'],
    [
      'flex above standard',
      period('2026-02-01', {}, peak({ input: '1', output: '2', flex: { input: '1.1' } })),
      'rate_out_of_bounds',
    ],
    ['nothing on one side', period('2026-02-01', { input: '0' }), 'zero_on_one_side'],
  ])('with %s are held for a person, and the model keeps those that it had', (_, doubtful, doubt) => {
    const periods = doubtful.from === '2026-01-01' ? [doubtful] : [period('2026-01-01'), doubtful]
    const file = dated(periods, ['m'])
    const reviewed = reviewBook(file, before, new Set())

    expect(reviewed.held).toContainEqual({ name: 'openai/m', doubts: expect.arrayContaining([doubt]) })
    expect(priceOf(reviewed)).toBe('1')
    expect(reviewed.file.history).toContainEqual({ provider: 'openai', models: ['m'], periods: [period('2026-01-01')] })
    const accepted = reviewBook(file, before, new Set(['openai/m']))
    expect(accepted).toMatchObject({ held: [], changed: 2 })
    expect(accepted.file.history).toEqual(file.history)
  })

  test('of a model without dated prices are compared with its previous price and held', () => {
    const file = dated([period('2026-02-01', { input: '7', output: '6' })], ['m'])

    expect(reviewBook(file, bookOf([row, other]), new Set())).toMatchObject({
      held: [{ name: 'openai/m', doubts: ['output_below_input', 'jump'] }],
      file: { models: [row, other], history: [] },
    })
    expect(reviewBook(file, bookOf([other]), new Set()).file).toMatchObject({ models: [other], history: [] })
  })

  test('that are removed leave a price that applies at all times', () => {
    const dear = dated([period('2026-01-01', { input: '6', output: '7' })], ['m'])

    expect(reviewBook(bookOf([row, other]), dear, new Set()).held).toEqual([{ name: 'openai/m', doubts: ['jump'] }])
    expect(reviewBook(bookOf([row, other]), before, new Set())).toMatchObject({ held: [], changed: 2 })
  })

  test('are accepted if unchanged from the previous book, and checked per model if changed', () => {
    const odd = period('2026-01-01', { input: '2', output: '1' })
    const ended = { ...odd, to: '2026-02-01' }

    expect(reviewBook(dated([odd]), dated([odd]), new Set())).toMatchObject({ held: [], changed: 0 })
    expect(reviewBook(dated([ended, period('2026-02-01')]), dated([odd]), new Set())).toMatchObject({
      held: [],
      changed: 2,
    })
  })
})

describe('a price book file', () => {
  const problemsOf = (file: unknown): readonly string[] => {
    const parsed = parseBook(typeof file === 'string' ? file : JSON.stringify(file))
    return parsed.kind === 'invalid' ? parsed.problems : []
  }
  const period = (from: string, input = '1') => ({ from, price: { input, output: '2' } })

  test('is valid in the format of the built-in book', () => {
    expect(parseBook(JSON.stringify(loadPriceBookFile()))).toEqual({ kind: 'book', file: loadPriceBookFile() })
  })

  test.each<[string, unknown, string]>([
    ['invalid JSON', '{', 'invalid JSON'],
    ['a number for a rate', bookOf([{ ...priceRow('m', '1', '2'), input: 1 as never }]), 'models.0.input: '],
    ['a rate with an exponent', bookOf([priceRow('m', '1e3', '2')]), 'models.0.input: '],
    ['an invalid date', bookOf([priceRow('m', '1', '2')], { as_of: '2026-13-01' }), 'as_of: '],
    ['no rows', bookOf([]), 'models: '],
    ['a row twice', bookOf([priceRow('m', '1', '2'), priceRow('M', '1', '2')]), 'openai/m is a duplicate'],
    [
      'descending thresholds',
      bookOf([priceRow('m', '1', '2', { tiers: [{ above: 2 }, { above: 1 }] })]),
      'must be ascending',
    ],
    [
      'descending periods',
      bookOf([priceRow('m', '1', '2')], {
        history: [{ provider: 'openai', models: ['m'], periods: [period('2026-02-01'), period('2026-01-01')] }],
      }),
      'must be ascending',
    ],
    [
      'a period that ends at the instant at which it begins',
      bookOf([priceRow('m', '1', '2')], {
        history: [
          { provider: 'openai', models: ['m'], periods: [{ ...period('2026-02-01'), to: '2026-02-01T00:00:00Z' }] },
        ],
      }),
      'must be ascending',
    ],
    [
      'an instant without its zone',
      bookOf([priceRow('m', '1', '2')], {
        history: [{ provider: 'openai', models: ['m'], periods: [period('2026-02-01T16:00:00')] }],
      }),
      'history.0.periods.0.from: must be a day',
    ],
    [
      'a factor that makes a rate inexact',
      bookOf([priceRow('m', '0.000000000001', '2', { residency_multiplier: { eu: '1.1' } })]),
      'cannot be held exactly',
    ],
  ])('is invalid with %s', (_, file, problem) => {
    expect(problemsOf(file).join('\n')).toContain(problem)
  })
})
