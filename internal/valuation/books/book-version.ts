import { createHash } from 'node:crypto'
import { gunzipSync, gzipSync } from 'node:zlib'
import type { PriceBookFile } from '../cost/price-book.js'

/** A book that was imported, as it is kept under its id in the bucket `price_books`. */
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
