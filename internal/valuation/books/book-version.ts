import { createHash } from 'node:crypto'
import { gunzipSync, gzipSync } from 'node:zlib'
import type { KV } from '@nats-io/kv'
import type { ObjectStore } from '@nats-io/obj'
import { isLostRace } from '../../broker/errors.js'
import type { PriceBookFile } from '../cost/price-book.js'

/** An imported book, stored under its id in the bucket `price_books`. */
export interface StoredBook {
  readonly id: string
  /** The day that the book describes. */
  readonly as_of: string
  /** Calls from this instant on are priced by it, whenever they arrive. */
  readonly effective_from: string
  readonly imported_at: string
  /** Of the file in the object store `price_book_files`, which has the same name. */
  readonly sha256: string
  readonly rows: number
}

export interface PackedBook {
  readonly bytes: Uint8Array
  readonly sha256: string
}

/** The same book is the same bytes. */
export function packBook(file: PriceBookFile): PackedBook {
  const bytes = gzipSync(JSON.stringify(file))
  return { bytes, sha256: digestOf(bytes) }
}

/** @throws Error when the bytes are not those that were kept */
export function unpackBook(bytes: Uint8Array, { id, sha256 }: StoredBook): PriceBookFile {
  if (digestOf(bytes) !== sha256) throw new Error(`the file of the price book ${id} is not the one that was imported`)
  // It was checked before it was kept.
  return JSON.parse(gunzipSync(bytes).toString('utf8')) as PriceBookFile
}

/** The same book from the same instant on is one import, however often it is asked for. */
export const bookId = (sha256: string, effectiveFrom: string): string =>
  `book_${createHash('sha256').update(`${effectiveFrom} ${sha256}`).digest('hex').slice(0, 24)}`

const digestOf = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex')

/** The books that were imported, those that begin last first; of two that begin together the younger. */
export async function importedBooks(bucket: KV): Promise<StoredBook[]> {
  const books: StoredBook[] = []
  for await (const key of await bucket.keys()) {
    const entry = await bucket.get(key)
    if (entry?.operation === 'PUT') books.push(entry.json<StoredBook>())
  }
  const orderOf = ({ effective_from, imported_at, id }: StoredBook): string => `${effective_from} ${imported_at} ${id}`
  return books.sort((one, other) => (orderOf(one) < orderOf(other) ? 1 : -1))
}

/** The file of an imported book. @throws Error when it is missing, or not the one that was imported */
export async function readBook(files: ObjectStore, stored: StoredBook): Promise<PriceBookFile> {
  const bytes = await files.getBlob(stored.id)
  if (bytes === null) throw new Error(`the file of price book ${stored.id} is missing`)
  return unpackBook(bytes, stored)
}

/**
 * Keeps a book: first its file, then that it counts. Safe to repeat: the same book from the same instant on is kept
 * once.
 *
 * @returns the book as it is kept, and whether it was there already
 */
export async function importBook(
  bucket: KV,
  files: ObjectStore,
  file: PriceBookFile,
  { effectiveFrom, nowMs }: { readonly effectiveFrom: string; readonly nowMs: number },
): Promise<{ readonly book: StoredBook; readonly wasThere: boolean }> {
  const { bytes, sha256 } = packBook(file)
  const book: StoredBook = {
    id: bookId(sha256, effectiveFrom),
    as_of: file.as_of,
    effective_from: effectiveFrom,
    imported_at: new Date(nowMs).toISOString(),
    sha256,
    rows: file.models.length,
  }
  const there = await bucket.get(book.id)
  if (there?.operation === 'PUT') return { book: there.json<StoredBook>(), wasThere: true }
  await files.putBlob({ name: book.id }, bytes)
  try {
    await bucket.create(book.id, JSON.stringify(book))
    return { book, wasThere: false }
  } catch (cause) {
    if (!isLostRace(cause)) throw cause
    return { book, wasThere: true }
  }
}
