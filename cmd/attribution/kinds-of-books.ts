import type { AuditAction } from '../../internal/auth/audit-entry.js'
import { ConfigError } from '../../internal/config/settings.js'
import {
  type BookFile,
  importedBooks,
  newestBook,
  readBook,
  type StoredBook,
  undoBook,
} from '../../internal/valuation/books/book-version.js'
import type { BookKind } from '../../internal/valuation/books/proposals.js'
import {
  BOOK_PROPOSALS,
  type Bucket,
  ENERGY_TABLE_FILES,
  ENERGY_TABLES,
  type ObjectBucket,
  PRICE_BOOK_FILES,
  PRICE_BOOKS,
} from '../../streams/buckets.js'
import { recordByCli } from './audited.js'
import { type ConfirmOption, isConfirmed } from './confirmed.js'
import { connectInstanceBroker, type InstanceOption, readInstanceConfig } from './connect.js'

/** What the commands on price books and on energy tables do alike. */
interface KindOfBooks {
  readonly books: Bucket
  readonly files: ObjectBucket
  /** What a person calls one of them. */
  readonly word: string
  /** What one does to calls. */
  readonly verb: 'price' | 'compute'
  readonly undo: AuditAction
}

const KINDS: Readonly<Record<BookKind, KindOfBooks>> = {
  prices: {
    books: PRICE_BOOKS,
    files: PRICE_BOOK_FILES,
    word: 'price book',
    verb: 'price',
    undo: 'price_book.undo',
  },
  energy: {
    books: ENERGY_TABLES,
    files: ENERGY_TABLE_FILES,
    word: 'energy table',
    verb: 'compute',
    undo: 'energy_table.undo',
  },
}

/** The caller closes the broker. */
export async function openBooks(kind: BookKind, options: InstanceOption) {
  const config = readInstanceConfig(options)
  const broker = await connectInstanceBroker(config)
  return {
    config,
    broker,
    books: await broker.bucket(KINDS[kind].books),
    files: await broker.objects(KINDS[kind].files),
    proposals: await broker.bucket(BOOK_PROPOSALS),
  }
}
export type OpenedBooks = Awaited<ReturnType<typeof openBooks>>

export interface NamedBook<File> {
  readonly file: File
  /** By which proposals know it. */
  readonly name: string
  /** Of the file of an imported one. */
  readonly sha256?: string
  /** Of an imported one: from which it is in force. */
  readonly effectiveFrom?: string
}

/** The book that begins last. @param released that of the release, which counts until one is imported */
export async function bookInForce<File extends BookFile>(
  { books, files }: Pick<OpenedBooks, 'books' | 'files'>,
  released: () => File,
): Promise<NamedBook<File>> {
  const newest = await newestBook(books)
  if (newest !== undefined) {
    const { id: name, sha256, effective_from: effectiveFrom } = newest
    return { file: await readBook<File>(files, newest), name, sha256, effectiveFrom }
  }
  const file = released()
  return { file, name: file.as_of }
}

/** Takes an imported book back, after a yes. */
export async function undoImported(
  kind: BookKind,
  id: string,
  options: InstanceOption & ConfirmOption,
  write: (text: string) => void,
): Promise<void> {
  const { word, verb, undo } = KINDS[kind]
  const { broker, books } = await openBooks(kind, options)
  try {
    const imported = await importedBooks(books)
    const book = imported.find((each) => each.id === id)
    if (book === undefined) throw new ConfigError(`there is no imported ${word} ${id}`)
    if (book.undone_at !== undefined) return write(`${id} was undone at ${book.undone_at}\n`)
    const former = formerOf(book, imported) ?? `the ${word} of the release`
    const question = `From now on, ${verb} the calls since ${book.effective_from} by ${former} again?`
    if (!(await isConfirmed(question, options))) return write('not undone\n')
    await undoBook(books, id, Date.now())
    await recordByCli(broker, undo, id, { before: { ...book }, after: { in_force: former } })
    write(`${id} is undone: ${former} ${verb}s the calls since ${book.effective_from}\n`)
  } finally {
    await broker.close()
  }
}

/** What is in force once a book is undone, at the time from which it counted; undefined: that of the release. */
const formerOf = ({ id, effective_from: from }: StoredBook, imported: readonly StoredBook[]): string | undefined =>
  imported.find((each) => each.id !== id && each.undone_at === undefined && each.effective_from <= from)?.id
