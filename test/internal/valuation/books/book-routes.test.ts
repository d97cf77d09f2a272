import { afterAll, beforeAll, expect, test } from 'vitest'
import { openBookRoutes, pending, shownProposal } from '../../../../internal/valuation/books/book-routes.js'
import { importBook, undoBook } from '../../../../internal/valuation/books/book-version.js'
import { keepProposal, type StoredProposal } from '../../../../internal/valuation/books/proposals.js'
import { loadPriceBookFile } from '../../../../internal/valuation/cost/price-book.js'
import { loadEnergyFile } from '../../../../internal/valuation/energy/footprint.js'
import { BOOK_PROPOSALS, PRICE_BOOK_FILES, PRICE_BOOKS } from '../../../../streams/buckets.js'
import { type Ask, askAs } from '../../../support/ask.js'
import { type Buckets, launchBuckets } from '../../../support/buckets.js'
import { bookOf, priceRow } from '../../../support/price-books.js'
import { TENANT } from '../../../support/scope-keys.js'
import { serveRoutes } from '../../../support/serve-routes.js'

const NOW_MS = Date.parse('2027-03-01T12:00:00Z')
let buckets: Buckets
let ask: Ask
let isOver = false

beforeAll(async () => {
  buckets = await launchBuckets()
  const routes = await openBookRoutes({
    broker: await buckets.connect(),
    onLost: (cause) => {
      if (!isOver) throw cause
    },
    cohortMin: () => 5,
    clock: () => NOW_MS,
  })
  const { url } = await serveRoutes(routes)
  ask = askAs(url, { 'x-api-key': 'read:reporting' })
})
afterAll(() => {
  isOver = true
  return buckets.close()
})

const PATH = '/api/v1/prices/books'
const shown = async () => (await ask('GET', PATH)).json
const proposal = (id: string, proposed_at: string, stated: Partial<StoredProposal> = {}): StoredProposal => {
  return { id, kind: 'prices', as_of: '2027-02-28', proposed_at, sha256: '', rows: 1, base: 'one', held: [], ...stated }
}

test('the answer has the age of the books in force, and a proposal until it is accepted', async () => {
  const ageOf = (asOf: string) => Math.floor((NOW_MS - Date.parse(asOf)) / 86_400_000)
  const [prices, energy] = [loadPriceBookFile().as_of, loadEnergyFile().as_of]
  const ofRelease = (as_of: string) => ({ as_of, age_days: ageOf(as_of), id: null, effective_from: null })
  expect(await shown()).toEqual({
    prices: ofRelease(prices),
    energy: ofRelease(energy),
    proposal: null,
    price_changes: [],
  })

  const elsewhere = await buckets.connect()
  const [books, files] = [await elsewhere.bucket(PRICE_BOOKS), await elsewhere.objects(PRICE_BOOK_FILES)]
  const file = bookOf([priceRow('gpt-4o', '1', '2')], { as_of: '2027-02-20' })
  const kept = await keepProposal(await elsewhere.bucket(BOOK_PROPOSALS), files, file, {
    kind: 'prices',
    base: prices,
    held: [],
    newly_priced: { [TENANT]: { calls: 7, cost_usd: '1.5', people: 5 } },
    nowMs: NOW_MS,
  })
  const expected = { id: kept.id, as_of: '2027-02-20', newly_priced: { calls: 7, cost_usd: '1.5' } }
  await expect.poll(shown).toMatchObject({ proposal: expected })

  const when = { effectiveFrom: '2027-02-21T00:00:00.000Z', nowMs: NOW_MS, prefix: 'book' } as const
  const { book } = await importBook(books, files, file, when)
  const imported = { as_of: '2027-02-20', age_days: 9, id: book.id, effective_from: when.effectiveFrom }
  await expect.poll(shown).toMatchObject({
    prices: imported,
    proposal: null,
    price_changes: [{ id: book.id, as_of: imported.as_of, effective_from: imported.effective_from }],
  })

  await undoBook(books, book.id, NOW_MS)
  await expect.poll(shown).toMatchObject({ prices: { id: null }, proposal: expected, price_changes: [] })
})

test('the newest proposal from the book in force is shown, of price books only', () => {
  const proposals = [
    proposal('old', '2027-01-01T00:00:00.000Z'),
    proposal('new', '2027-02-01T00:00:00.000Z'),
    proposal('stale', '2027-03-01T00:00:00.000Z', { base: 'another' }),
    proposal('energy', '2027-03-01T00:00:00.000Z', { kind: 'energy' }),
  ]

  expect(pending(proposals, [], 'one')?.id).toBe('new')
  expect(pending(proposals, [], 'two')).toBeNull()
})

test('what a proposal would price is shown of enough people, or where no call states any', () => {
  const newly = (people: number) => ({ few: { calls: 3, cost_usd: '2', people } })
  const of = (people: number, tenantId = 'few') =>
    shownProposal(proposal('p', '', { newly_priced: newly(people) }), tenantId, 5).newly_priced

  expect(of(4)).toBeNull()
  expect(of(1)).toBeNull()
  expect(of(5)).toEqual({ calls: 3, cost_usd: '2' })
  expect(of(0)).toEqual({ calls: 3, cost_usd: '2' })
  expect(of(1, 'another')).toEqual({ calls: 0, cost_usd: '0' })
})
