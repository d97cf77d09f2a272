import { expect, test } from 'vitest'
import { bookDifference, inForceThroughout } from '../../../../internal/valuation/books/book-difference.js'
import { type PriceBookFile, priceBook } from '../../../../internal/valuation/cost/price-book.js'
import { bookOf, priceRow } from '../../../support/price-books.js'

const period = (from: string, input: string, stated: object = {}) => {
  return { from, price: { input, output: '2' }, complete: true, ...stated }
}
const dated = (...periods: ReturnType<typeof period>[]): Partial<PriceBookFile> => {
  return { history: [{ provider: 'openai', models: ['a'], periods }] }
}
const before = bookOf([priceRow('a', '1', '2'), priceRow('b', '1', '2', { batch: { input: '0.5', output: '1' } })])

test('the difference names the prices of today, the day of a change and an announced one', () => {
  const after = bookOf(
    [priceRow('a', '3', '2'), priceRow('b', '1', '2'), priceRow('c', '1', '2')],
    dated(
      period('1970-01-01', '1', { to: '2026-12-01' }),
      period('2026-12-01', '3'),
      period('2027-01-01', '4', { scheduled: true }),
    ),
  )

  expect(bookDifference(before, after)).toEqual({
    added: ['openai/c'],
    removed: [],
    rules: [],
    changes: [
      {
        name: 'openai/a',
        from: '2026-12-01',
        scheduledFrom: '2027-01-01',
        rates: [{ price: 'input', before: '1', after: '3' }],
      },
      {
        name: 'openai/b',
        from: undefined,
        rates: [
          { price: 'batch.input', before: '0.5', after: undefined },
          { price: 'batch.output', before: '1', after: undefined },
        ],
      },
    ],
  })
  expect(bookDifference(after, before).removed).toEqual(['openai/c'])
  expect(bookDifference(after, after)).toEqual({ added: [], removed: [], changes: [], rules: [] })
})

test('rules of providers and factors of rows are differences, too: they price what no row lists', () => {
  const rule = { models: ['gpt-*', 'o1*'], batch: '0.5', source: 'the provider' }
  const ruled = { providers: { openai: { tier_rule: 'strictly_above', rules: [rule] } } }
  const after = bookOf([priceRow('a', '1', '2', { multipliers: { fast: '2' } }), ...before.models.slice(1)], ruled)

  expect(bookDifference(before, after)).toMatchObject({
    changes: [{ name: 'openai/a', rates: [{ price: 'factor.fast', before: undefined, after: '2' }] }],
    rules: [
      {
        provider: 'openai',
        rates: [
          { price: 'batch of gpt-*, o1*', before: undefined, after: '0.5' },
          { price: 'threshold', before: undefined, after: 'strictly_above' },
        ],
      },
    ],
  })
})

test('spellings of one price, and dates on which no price changes, are no difference', () => {
  const after = bookOf(
    [priceRow('a', '1.0', '2'), priceRow('b', '1', '2.00', { batch: { input: '.5'.padStart(3, '0'), output: '1' } })],
    dated(period('1970-01-01', '1'), period('2026-12-01', '1.00')),
  )

  expect(bookDifference(before, after).changes).toEqual([])
})

test('changes of a day count for all calls before it, those of other days do not', () => {
  const file = bookOf(
    [priceRow('a', '3', '2')],
    dated(period('1970-01-01', '1'), period('2026-10-01', '2'), period('2026-12-01', '3')),
  )
  const inputOn = (book: PriceBookFile, day: string) => {
    const found = priceBook(book).find('openai', 'a', undefined)
    const periods = found.kind === 'entry' ? found.entry.periods : []
    return periods.findLast(({ fromMs }) => fromMs <= Date.parse(day))?.sheet.input
  }

  expect(inputOn(inForceThroughout(file, '2026-12-01'), '2026-09-01')).toBe('3')
  expect(inputOn(inForceThroughout(file, '2026-11-30'), '2026-09-01')).toBe('1')
  expect(inputOn(inForceThroughout(file, '2026-11-30'), '2026-10-01')).toBe('2')
})
