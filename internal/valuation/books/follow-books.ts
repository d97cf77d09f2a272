import type { KV } from '@nats-io/kv'
import type { ObjectStore } from '@nats-io/obj'
import { mirrorBucket } from '../../broker/mirror.js'
import type { Logger } from '../../telemetry/log.js'
import type { PriceBook } from '../cost/price-book.js'
import { type StoredBook, unpackBook } from './book-version.js'
import { PriceBooks } from './price-books.js'

/**
 * The price books, kept current as others import them. Resolves when those that there are now are at hand.
 *
 * @param onLost called once when the copy no longer follows its bucket
 */
export async function followPriceBooks(
  bucket: KV,
  files: ObjectStore,
  shipped: PriceBook,
  onLost: (cause: unknown) => void,
  log: Logger,
): Promise<PriceBooks> {
  const books = new PriceBooks(shipped)
  const loading = new Set<Promise<void>>()
  const load = async (stored: StoredBook): Promise<void> => {
    const bytes = await files.getBlob(stored.id)
    if (bytes === null) throw new Error(`the file of the price book ${stored.id} is not there`)
    unpackBook(bytes, stored)
    books.add(stored, () => unpackBook(bytes, stored))
    log.info({ book: stored.id, asOf: stored.as_of, effectiveFrom: stored.effective_from }, 'a price book is at hand')
  }
  await mirrorBucket<StoredBook>(bucket, onLost, (_, stored) => {
    if (stored === undefined) return
    // Without a book that is in force calls would get another one's prices: start over instead.
    const loaded = load(stored).catch(onLost)
    loading.add(loaded)
    void loaded.finally(() => loading.delete(loaded))
  })
  await Promise.all(loading)
  return books
}
