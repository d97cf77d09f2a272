import { ENERGY_TABLES, PRICE_BOOKS } from '../../../streams/buckets.js'
import type { Broker } from '../../broker/connect.js'
import { BOOK_AGE_DAYS_MAX, bookAgeDays, importedInForce } from '../../valuation/books/book-age.js'
import { importedBooks } from '../../valuation/books/book-version.js'
import { loadPriceBookFile } from '../../valuation/cost/price-book.js'
import { loadEnergyFile } from '../../valuation/energy/footprint.js'
import { type Finding, graded } from './finding.js'

/** How old the books are by which calls of now are valued. */
export async function* checkBooks(broker: Broker, nowMs: number): AsyncGenerator<Finding> {
  const kinds = [
    { check: 'price book', bucket: PRICE_BOOKS, released: loadPriceBookFile, command: 'prices' },
    { check: 'energy table', bucket: ENERGY_TABLES, released: loadEnergyFile, command: 'energy' },
  ]
  for (const { check, bucket, released, command } of kinds) {
    const book = importedInForce(await importedBooks(await broker.bucket(bucket)), nowMs)
    const asOf = book?.as_of ?? released().as_of
    yield ageOf(check, asOf, book?.id ?? 'of the release', command, nowMs)
  }
}

export function ageOf(check: string, asOf: string, name: string, command: string, nowMs: number): Finding {
  const days = bookAgeDays(asOf, nowMs)
  const limits = { warningFrom: BOOK_AGE_DAYS_MAX, failureFrom: Number.POSITIVE_INFINITY }
  const advice = `upgrade, or take a newer one with \`attribution ${command} propose\``
  return graded(check, days, limits, `${name}, as of ${asOf}, is ${days} days old`, advice)
}
