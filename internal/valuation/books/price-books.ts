import type { KV } from '@nats-io/kv'
import type { ObjectStore } from '@nats-io/obj'
import { LRUCache } from 'lru-cache'
import { mirrorBucket } from '../../broker/mirror.js'
import type { Logger } from '../../telemetry/log.js'
import { type PriceBook, type PriceBookFile, priceBook } from '../cost/price-book.js'
import { type StoredBook, unpackBook } from './book-version.js'

/**
 * Books that are ready for calls at a time: about 10 MB each. A call that is weeks late finds its book again in 50 ms.
 */
const READY_MAX = 8

interface KnownBook {
  readonly fromMs: number
  readonly importedAt: string
  readonly id: string
  readonly read: () => PriceBookFile
}

/**
 * The price books of an instance, each with the instant from which calls are priced by it. A call is priced by the book
 * that was in force at its own time: a new one changes no call that was made before it began, and no record at all.
 */
export class PriceBooks {
  private readonly shipped: PriceBook
  /** The one that begins last goes first; of two that begin together, the one that was imported last. */
  private known: readonly KnownBook[] = []
  private readonly ready = new LRUCache<string, PriceBook>({ max: READY_MAX })
  /** Nearly all calls are of the same book. */
  private last: PriceBook | undefined

  /** @param shipped in force until the first imported one begins */
  constructor(shipped: PriceBook) {
    this.shipped = shipped
  }

  /** @param read the file that was kept; called when a call first needs it */
  add(stored: StoredBook, read: () => PriceBookFile): void {
    const { id, effective_from, imported_at: importedAt } = stored
    const book = { fromMs: Date.parse(effective_from), importedAt, id, read }
    this.known = [...this.known.filter((each) => each.id !== id), book].sort(
      (one, other) =>
        other.fromMs - one.fromMs || compareText(other.importedAt, one.importedAt) || compareText(other.id, one.id),
    )
  }

  at(eventTimeMs: number): PriceBook {
    const inForce = this.known.find(({ fromMs }) => fromMs <= eventTimeMs)
    if (inForce === undefined) return this.shipped
    const { id, read } = inForce
    if (this.last?.id === id) return this.last
    const ready = this.ready.get(id) ?? priceBook(read(), id)
    this.last = ready
    this.ready.set(id, ready)
    return ready
  }
}

const compareText = (one: string, other: string): number => (one < other ? -1 : one > other ? 1 : 0)

/**
 * Loads the price books, and follows later imports. Resolves when all current books are loaded.
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
