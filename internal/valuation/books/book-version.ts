import { createHash } from 'node:crypto'
import { gunzipSync, gzipSync } from 'node:zlib'
import type { KV } from '@nats-io/kv'
import type { ObjectStore } from '@nats-io/obj'
import { isLostRace } from '../../broker/errors.js'

/** What every kind of book has: price books (`PriceBookFile`) and energy tables (`EnergyFile`). */
export interface BookFile {
  readonly as_of: string
  readonly models: readonly unknown[]
}

/** An imported book, stored under its id in the bucket of its kind (`price_books`, `energy_tables`). */
export interface StoredBook {
  readonly id: string
  /** The day that the book describes. */
  readonly as_of: string
  /** Calls from this instant on are valued by it, whenever they arrive. */
  readonly effective_from: string
  readonly imported_at: string
  /** Of the file in the object store of its kind, which has the same name. */
  readonly sha256: string
  readonly rows: number
  /** Present when it was taken back: no call is valued by it any more. Records keep what it has valued. */
  readonly undone_at?: string
}

export interface PackedBook {
  readonly bytes: Uint8Array
  readonly sha256: string
}

/** The same book is the same bytes. */
export function packBook(file: BookFile): PackedBook {
  const bytes = gzipSync(JSON.stringify(file))
  return { bytes, sha256: digestOf(bytes) }
}

/** @throws Error when the bytes are not those that were kept */
export function unpackBook<File extends BookFile>(
  bytes: Uint8Array,
  { id, sha256 }: Pick<StoredBook, 'id' | 'sha256'>,
): File {
  if (digestOf(bytes) !== sha256) throw new Error(`the file of the book ${id} is not the one that was imported`)
  // It was checked before it was kept.
  return JSON.parse(gunzipSync(bytes).toString('utf8')) as File
}

/** The same book from the same instant on is one import, however often it is asked for. */
const bookId = (prefix: string, sha256: string, effectiveFrom: string): string =>
  `${prefix}_${createHash('sha256').update(`${effectiveFrom} ${sha256}`).digest('hex').slice(0, 24)}`

const digestOf = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex')

/** The books that were imported, those that begin last first; of two that begin together the younger. */
export async function importedBooks(bucket: KV): Promise<StoredBook[]> {
  const books: StoredBook[] = []
  for await (const key of await bucket.keys()) {
    const entry = await bucket.get(key)
    if (entry?.operation === 'PUT') books.push(entry.json<StoredBook>())
  }
  return latestFirst(books)
}

export function latestFirst(books: readonly StoredBook[]): StoredBook[] {
  const orderOf = ({ effective_from, imported_at, id }: StoredBook): string => `${effective_from} ${imported_at} ${id}`
  return [...books].sort((one, other) => (orderOf(one) < orderOf(other) ? 1 : -1))
}

/** Of the imported books that are not undone the one that begins last. */
export const newestBook = async (bucket: KV): Promise<StoredBook | undefined> =>
  (await importedBooks(bucket)).find(({ undone_at }) => undone_at === undefined)

/** The file of an imported book. @throws Error when it is missing, or not the one that was imported */
export async function readBook<File extends BookFile>(files: ObjectStore, stored: StoredBook): Promise<File> {
  const bytes = await files.getBlob(stored.id)
  if (bytes === null) throw new Error(`the file of book ${stored.id} is missing`)
  return unpackBook<File>(bytes, stored)
}

export interface Import {
  readonly effectiveFrom: string
  readonly nowMs: number
  /** Of the ids of its kind. */
  readonly prefix: 'book' | 'energy'
}

/**
 * Keeps a book: first its file, then that it counts. Safe to repeat: the same book from the same instant on is kept
 * once. One that was undone counts again.
 *
 * @returns the book as it is kept, and whether it counted already
 */
export async function importBook(
  bucket: KV,
  files: ObjectStore,
  file: BookFile,
  { effectiveFrom, nowMs, prefix }: Import,
): Promise<{ readonly book: StoredBook; readonly wasThere: boolean }> {
  const { bytes, sha256 } = packBook(file)
  const book: StoredBook = {
    id: bookId(prefix, sha256, effectiveFrom),
    as_of: file.as_of,
    effective_from: effectiveFrom,
    imported_at: new Date(nowMs).toISOString(),
    sha256,
    rows: file.models.length,
  }
  const entry = await bucket.get(book.id)
  const there = entry?.operation === 'PUT' ? entry : undefined
  const known = there?.json<StoredBook>()
  if (known !== undefined && known.undone_at === undefined) return { book: known, wasThere: true }
  if (there === undefined) await files.putBlob({ name: book.id }, bytes)
  try {
    if (there === undefined) await bucket.create(book.id, JSON.stringify(book))
    else await bucket.update(book.id, JSON.stringify(book), there.revision)
    return { book, wasThere: false }
  } catch (cause) {
    if (!isLostRace(cause)) throw cause
    return { book, wasThere: true }
  }
}

/**
 * Takes an imported book back: calls are valued as if it had never been imported. Its file stays, for the records that
 * it has valued. Safe to repeat.
 *
 * @returns the book as it is kept now; undefined when there is none of that id
 */
export async function undoBook(bucket: KV, id: string, nowMs: number): Promise<StoredBook | undefined> {
  const entry = await bucket.get(id)
  if (entry?.operation !== 'PUT') return undefined
  const book = entry.json<StoredBook>()
  if (book.undone_at !== undefined) return book
  const undone = { ...book, undone_at: new Date(nowMs).toISOString() }
  await bucket.update(id, JSON.stringify(undone), entry.revision)
  return undone
}
