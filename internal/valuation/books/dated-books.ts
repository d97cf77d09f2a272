import type { KV } from '@nats-io/kv'
import type { ObjectStore } from '@nats-io/obj'
import { LRUCache } from 'lru-cache'
import { mirrorBucket } from '../../broker/mirror.js'
import type { Logger } from '../../telemetry/log.js'
import { type BookFile, type StoredBook, unpackBook } from './book-version.js'

/**
 * Books that are ready for calls at a time: about 10 MB each. A call that is weeks late finds its book again in 50 ms.
 */
const READY_MAX = 8

interface KnownBook<File> {
  readonly fromMs: number
  readonly importedAt: string
  readonly id: string
  readonly read: () => File
}

/**
 * The books of one kind (prices, energy) of an instance, each with the instant from which calls are valued by it. A call
 * is valued by the book that was in force at its own time: a new one changes no call that was made before it began, and
 * no record at all.
 */
export class DatedBooks<File extends BookFile, Book extends object> {
  private readonly shipped: Book
  private readonly ready: (file: File, id: string) => Book
  /** The one that begins last goes first; of two that begin together, the one that was imported last. */
  private known: readonly KnownBook<File>[] = []
  private readonly readied = new LRUCache<string, Book>({ max: READY_MAX })
  /** Nearly all calls are of the same book. */
  private last: { readonly id: string; readonly book: Book } | undefined

  /**
   * @param shipped in force until the first imported one begins
   * @param ready makes an imported file ready for calls
   */
  constructor(shipped: Book, ready: (file: File, id: string) => Book) {
    this.shipped = shipped
    this.ready = ready
  }

  /** @param read the file that was kept; called when a call first needs it */
  add(stored: StoredBook, read: () => File): void {
    const { id, effective_from, imported_at: importedAt } = stored
    const book = { fromMs: Date.parse(effective_from), importedAt, id, read }
    this.known = [...this.known.filter((each) => each.id !== id), book].sort(
      (one, other) =>
        other.fromMs - one.fromMs || compareText(other.importedAt, one.importedAt) || compareText(other.id, one.id),
    )
  }

  /** From now on calls are valued as if the book had never been imported. */
  remove(id: string): void {
    this.known = this.known.filter((each) => each.id !== id)
  }

  at(eventTimeMs: number): Book {
    const inForce = this.known.find(({ fromMs }) => fromMs <= eventTimeMs)
    if (inForce === undefined) return this.shipped
    const { id, read } = inForce
    if (this.last?.id === id) return this.last.book
    const book = this.readied.get(id) ?? this.ready(read(), id)
    this.last = { id, book }
    this.readied.set(id, book)
    return book
  }
}

const compareText = (one: string, other: string): number => (one < other ? -1 : one > other ? 1 : 0)

/**
 * Loads the books of a bucket, and follows later imports and undone ones. Resolves when all current books are loaded.
 *
 * @param onLost called once when the copy no longer follows its bucket
 */
export async function followBooks<File extends BookFile, Book extends object>(
  bucket: KV,
  files: ObjectStore,
  books: DatedBooks<File, Book>,
  onLost: (cause: unknown) => void,
  log: Logger,
): Promise<void> {
  const loading = new Set<Promise<void>>()
  /** The newest entry of each book: one that was undone while its file was read is not added. */
  const newest = new Map<string, StoredBook>()
  const load = async (stored: StoredBook): Promise<void> => {
    const bytes = await files.getBlob(stored.id)
    if (bytes === null) throw new Error(`the file of the book ${stored.id} is not there`)
    unpackBook(bytes, stored)
    if (newest.get(stored.id) !== stored) return
    books.add(stored, () => unpackBook<File>(bytes, stored))
    log.info({ book: stored.id, asOf: stored.as_of, effectiveFrom: stored.effective_from }, 'a book is loaded')
  }
  await mirrorBucket<StoredBook>(bucket, onLost, (id, stored) => {
    if (stored === undefined || stored.undone_at !== undefined) {
      newest.delete(id)
      books.remove(id)
      return
    }
    newest.set(id, stored)
    // Without a book that is in force calls would be valued by another: start over instead.
    const loaded = load(stored).catch(onLost)
    loading.add(loaded)
    void loaded.finally(() => loading.delete(loaded))
  })
  await Promise.all(loading)
}
