import { afterAll, beforeAll, expect, test } from 'vitest'
import { createLog } from '../../../../internal/telemetry/log.js'
import {
  importBook,
  importedBooks,
  newestBook,
  packBook,
  readBook,
  type StoredBook,
  undoBook,
  unpackBook,
} from '../../../../internal/valuation/books/book-version.js'
import { DatedBooks, followBooks } from '../../../../internal/valuation/books/dated-books.js'
import {
  loadPriceBook,
  type PriceBook,
  type PriceBookFile,
  priceBook,
} from '../../../../internal/valuation/cost/price-book.js'
import { PRICE_BOOK_FILES, PRICE_BOOKS } from '../../../../streams/buckets.js'
import { type Buckets, launchBuckets } from '../../../support/buckets.js'
import { bookOf, priceRow } from '../../../support/price-books.js'

let buckets: Buckets
beforeAll(async () => {
  buckets = await launchBuckets()
})
afterAll(() => buckets.close())

const shipped = loadPriceBook()
const priceBooks = () => new DatedBooks<PriceBookFile, PriceBook>(shipped, priceBook)
const DAY_MS = 86_400_000
const DECEMBER_MS = Date.UTC(2026, 11, 1)
const stored = (id: string, stated: Partial<StoredBook> = {}): StoredBook => ({
  id,
  as_of: '2026-12-01',
  effective_from: '2026-12-01T00:00:00.000Z',
  imported_at: '2026-12-02T00:00:00.000Z',
  sha256: '',
  rows: 1,
  ...stated,
})
const file = (input: string) => bookOf([priceRow('gpt-4o', input, '100')])

test('a call is priced by the price book in force at its event time', () => {
  const books = priceBooks()
  expect(books.at(Number.MAX_SAFE_INTEGER).id).toBeUndefined()

  books.add(stored('december'), () => file('1'))
  books.add(stored('january', { effective_from: '2027-01-01T00:00:00.000Z' }), () => file('2'))

  expect(books.at(DECEMBER_MS - 1).id).toBeUndefined()
  expect(books.at(DECEMBER_MS).id).toBe('december')
  expect(books.at(Date.UTC(2027, 0) - 1).id).toBe('december')
  expect(books.at(Date.UTC(2027, 0)).id).toBe('january')
})

test('of two price books with the same start the one imported last applies, in any order of arrival', () => {
  const correction = stored('correction', { imported_at: '2026-12-03T00:00:00.000Z' })
  for (const order of [
    [stored('first'), correction],
    [correction, stored('first')],
  ]) {
    const books = priceBooks()
    for (const each of order) books.add(each, () => file('1'))
    expect(books.at(DECEMBER_MS).id).toBe('correction')
  }
})

test('a price book is loaded when a call first needs it, and again after it was evicted', () => {
  const read: number[] = []
  const books = priceBooks()
  for (let i = 0; i < 20; i++) {
    const from = new Date(DECEMBER_MS + i * DAY_MS).toISOString()
    books.add(stored(`book_${i}`, { effective_from: from }), () => {
      read.push(i)
      return file('1')
    })
  }
  expect(read).toEqual([])

  for (const day of [0, 0, 1, 0]) books.at(DECEMBER_MS + day * DAY_MS)
  expect(read).toEqual([0, 1])
  for (let day = 2; day < 20; day++) books.at(DECEMBER_MS + day * DAY_MS)
  expect(books.at(DECEMBER_MS).id).toBe('book_0')
  expect(read.filter((i) => i === 0)).toHaveLength(2)
})

test('a price book file whose digest differs from the imported one prices no calls', () => {
  const { bytes, sha256 } = packBook(file('1'))
  const other = packBook(file('2'))

  expect(unpackBook(bytes, stored('one', { sha256 }))).toEqual(file('1'))
  expect(() => unpackBook(other.bytes, stored('one', { sha256 }))).toThrow('not the one')
})

const log = createLog('test', 'silent')
const DECEMBER = { effectiveFrom: '2026-12-01T00:00:00.000Z', nowMs: DECEMBER_MS, prefix: 'book' } as const

async function opened(broker: Awaited<ReturnType<Buckets['connect']>>) {
  return { bucket: await broker.bucket(PRICE_BOOKS), files: await broker.objects(PRICE_BOOK_FILES) }
}

async function followed() {
  const { bucket, files } = await opened(await buckets.connect())
  const books = priceBooks()
  await followBooks(bucket, files, books, () => undefined, log)
  return books
}

async function untilInForce(books: ReturnType<typeof priceBooks>, id: string | undefined): Promise<void> {
  while (books.at(DECEMBER_MS).id !== id) await new Promise((resolve) => setImmediate(resolve))
}

test('an imported book reaches its watchers, and a repeated import has no effect', async () => {
  const { bucket, files } = await opened(await buckets.connect())
  const following = await followed()

  const first = await importBook(bucket, files, file('3'), DECEMBER)
  const again = await importBook(bucket, files, file('3'), { ...DECEMBER, nowMs: DECEMBER_MS + 1 })
  await untilInForce(following, first.book.id)

  expect(again).toEqual({ book: first.book, wasThere: true })
  expect(following.at(DECEMBER_MS).find('openai', 'gpt-4o', undefined)).toMatchObject({ kind: 'entry' })
  expect((await followed()).at(DECEMBER_MS).id).toBe(first.book.id)
  expect(await importedBooks(bucket)).toEqual([first.book])
  expect(await readBook(files, first.book)).toEqual(file('3'))
})

test('an undone book values no call, stays listed, and counts again when it is imported again', async () => {
  const { bucket, files } = await opened(await buckets.connect())
  const following = await followed()
  const [former] = await importedBooks(bucket)
  const { book } = await importBook(bucket, files, file('4'), { ...DECEMBER, nowMs: DECEMBER_MS + 2 })
  await untilInForce(following, book.id)

  const undone = await undoBook(bucket, book.id, DECEMBER_MS + 3)
  await untilInForce(following, former?.id)

  expect(undone).toEqual({ ...book, undone_at: '2026-12-01T00:00:00.003Z' })
  expect(await undoBook(bucket, book.id, DECEMBER_MS + 4)).toEqual(undone)
  expect(await undoBook(bucket, 'book_none', DECEMBER_MS)).toBeUndefined()
  expect((await followed()).at(DECEMBER_MS).id).toBe(former?.id)
  expect([await newestBook(bucket), (await importedBooks(bucket)).length]).toEqual([former, 2])
  expect(await readBook(files, book)).toEqual(file('4'))

  const again = await importBook(bucket, files, file('4'), { ...DECEMBER, nowMs: DECEMBER_MS + 5 })
  await untilInForce(following, book.id)
  expect(again).toEqual({ book: { ...book, imported_at: '2026-12-01T00:00:00.005Z' }, wasThere: false })
})
