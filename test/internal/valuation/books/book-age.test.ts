import { expect, test } from 'vitest'
import { METRICS, readAll } from '../../../../internal/telemetry/metrics.js'
import { bookAgeDays, followBookAges, importedInForce } from '../../../../internal/valuation/books/book-age.js'
import type { StoredBook } from '../../../../internal/valuation/books/book-version.js'

const NOW_MS = Date.parse('2026-11-29T12:00:00Z')
const stored = (id: string, effective_from: string, stated: Partial<StoredBook> = {}): StoredBook => {
  return { id, as_of: '2026-11-01', effective_from, imported_at: effective_from, sha256: '', rows: 1, ...stated }
}

test('the age counts from the day that a book describes', () => {
  expect(bookAgeDays('2026-11-29', NOW_MS)).toBe(0)
  expect(bookAgeDays('2026-10-15', NOW_MS)).toBe(45)
  expect(bookAgeDays('2027-01-01', NOW_MS)).toBe(0)
})

test('in force is the imported book that has begun last and is not undone', () => {
  const imported = [
    stored('later', '2026-12-01T00:00:00.000Z'),
    stored('undone', '2026-11-20T00:00:00.000Z', { undone_at: '2026-11-21T00:00:00.000Z' }),
    stored('now', '2026-11-10T00:00:00.000Z'),
    stored('former', '2026-11-01T00:00:00.000Z'),
  ]

  expect(importedInForce(imported, NOW_MS)?.id).toBe('now')
  expect(importedInForce(imported, Date.parse('2026-10-01T00:00:00Z'))).toBeUndefined()
})

test('the metric has the age of each book in force when it is read', async () => {
  let asOf = '2026-11-29'
  const stop = followBookAges({ prices: () => asOf, energy: () => '2026-11-28' }, () => NOW_MS)
  const ages = async () => {
    await readAll(() => undefined)
    return (await METRICS.getSingleMetric('attribution_book_age_seconds')?.get())?.values.map((each) => each.value)
  }

  expect(await ages()).toEqual([43_200, 129_600])
  asOf = '2026-11-28'
  expect(await ages()).toEqual([129_600, 129_600])
  stop()
})
