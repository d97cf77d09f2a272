import { Command } from 'commander'
import type { Broker } from '../../internal/broker/connect.js'
import { ConfigError } from '../../internal/config/settings.js'
import { formatInstant } from '../../internal/units/instant.js'
import { BOOK_BYTES_MAX, parseBook } from '../../internal/valuation/books/book-file.js'
import { type BookReview, type DoubtfulRow, reviewBook } from '../../internal/valuation/books/book-guard.js'
import { importBook, importedBooks, newestBook, readBook } from '../../internal/valuation/books/book-version.js'
import { keptProposals } from '../../internal/valuation/books/proposals.js'
import { loadPriceBookFile, type PriceBookFile } from '../../internal/valuation/cost/price-book.js'
import { BOOK_PROPOSALS, PRICE_BOOK_FILES, PRICE_BOOKS } from '../../streams/buckets.js'
import { recordByCli } from './audited.js'
import { bookChanges, type ShownBookChange } from './book-changes.js'
import { acceptOption, effectiveFromOption, readBounded, readInstant, readPeriod } from './book-options.js'
import {
  connectInstanceBroker,
  connectInstanceStore,
  dataDirOption,
  type InstanceOption,
  readInstanceConfig,
} from './connect.js'
import { costText } from './price-proposal-text.js'
import { acceptCommand, proposeCommand, undoCommand } from './price-proposals.js'
import type { Window } from './tenant-records.js'

interface ImportOptions extends InstanceOption {
  readonly effectiveFrom?: string
  readonly accept: readonly string[]
  readonly dryRun?: true
  readonly from?: string
  readonly to?: string
  readonly json?: true
}

export const pricesCommand = (): Command =>
  new Command('prices')
    .description('The price books.')
    .addCommand(
      new Command('import')
        .description(
          'Imports a price book. It prices the calls since its effective date that are attributed after the ' +
            'import; existing records keep their price. Rows that look wrong are left out, or keep their previous ' +
            'price, and are listed.',
        )
        .argument('<file>', 'JSON in the format of internal/valuation/cost/prices.data.json')
        .addOption(effectiveFromOption())
        .addOption(acceptOption())
        .option(
          '--dry-run',
          'print the changes, and what the records of a period would cost by the book, without importing it',
        )
        .option(
          '--from <time>',
          'start of the period of a dry run, RFC 3339 in UTC. Default: 30 days before its end',
          readInstant,
        )
        .option('--to <time>', 'end of the period of a dry run, exclusive. Default: now', readInstant)
        .addOption(dataDirOption())
        .option('--json', 'print the result as JSON')
        .action(runImport),
    )
    .addCommand(
      new Command('list')
        .description(
          'Lists the imported price books, latest effective date first, then the proposals, newest first: one JSON ' +
            'object per line.',
        )
        .addOption(dataDirOption())
        .action(runList),
    )
    .addCommand(proposeCommand())
    .addCommand(acceptCommand())
    .addCommand(undoCommand())

async function runImport(path: string, options: ImportOptions): Promise<void> {
  const period = readWindow(options)
  const parsed = await readFileAsBook(path)
  const config = readInstanceConfig(options)
  const broker = await connectInstanceBroker(config)
  try {
    const bucket = await broker.bucket(PRICE_BOOKS)
    const files = await broker.objects(PRICE_BOOK_FILES)
    const newest = await newestBook(bucket)
    const before = newest === undefined ? loadPriceBookFile() : await readBook<PriceBookFile>(files, newest)
    const review = reviewBook(parsed, before, new Set(options.accept))
    const effectiveFrom = options.effectiveFrom ?? `${parsed.as_of}T00:00:00.000Z`
    if (options.dryRun === true) {
      const store = connectInstanceStore(config)
      const changes = await bookChanges(broker, store, review.file, period).finally(() => store.close())
      return print({ book: null, review, effectiveFrom, dryRun: { period, changes } }, options)
    }

    const { book, wasThere } = await importBook(bucket, files, review.file, {
      effectiveFrom,
      nowMs: Date.now(),
      prefix: 'book',
    })
    if (!wasThere) await audit(broker, book.id, review, effectiveFrom)
    print({ book: book.id, review, effectiveFrom }, options)
  } finally {
    await broker.close()
  }
}

function readWindow({ dryRun, ...period }: ImportOptions): Window {
  if (dryRun !== true && (period.from ?? period.to) !== undefined)
    throw new ConfigError('--from and --to need --dry-run')
  return readPeriod(period)
}

async function readFileAsBook(path: string) {
  const parsed = parseBook(await readBounded(path, BOOK_BYTES_MAX, 'a price book'))
  if (parsed.kind === 'book') return parsed.file
  throw new ConfigError(`${path} is not a price book:\n  ${parsed.problems.join('\n  ')}`)
}

const audit = (broker: Broker, id: string, review: BookReview, effectiveFrom: string): Promise<void> => {
  const { added, changed, removed, held, quarantined, file } = review
  const after = {
    as_of: file.as_of,
    effective_from: effectiveFrom,
    rows: file.models.length,
    added,
    changed,
    removed,
    held: held.length,
    quarantined: quarantined.length,
  }
  return recordByCli(broker, 'price_book.import', id, { after })
}

interface ImportResult {
  /** Null for a dry run. */
  readonly book: string | null
  readonly review: BookReview
  readonly effectiveFrom: string
  readonly dryRun?: { readonly period: Window; readonly changes: readonly ShownBookChange[] }
}

function print({ book, review, effectiveFrom, dryRun }: ImportResult, { json }: ImportOptions): void {
  const { file, added, changed, removed, quarantined, held } = review
  const summary = { book, as_of: file.as_of, effective_from: effectiveFrom, rows: file.models.length }
  const write = (text: string): void => void process.stdout.write(`${text}\n`)
  const period = dryRun && {
    from: formatInstant(dryRun.period.fromMs),
    to: formatInstant(dryRun.period.toMs),
  }
  if (json === true) {
    const costs = dryRun && { period, costs: dryRun.changes }
    return write(JSON.stringify({ ...summary, added, changed, removed, quarantined, held, ...costs }))
  }
  write(`${book ?? '(not imported)'}: ${summary.rows} rows as of ${summary.as_of}, in force from ${effectiveFrom}`)
  write(`${added} added, ${changed} changed, ${removed} removed`)
  list('rows left out, their calls are unpriced', quarantined, write)
  list('rows held back, they keep their previous price; accept them with --accept', held, write)
  if (dryRun !== undefined) {
    write(`records from ${period?.from} to ${period?.to} whose cost would differ, had this book priced them:`)
    for (const each of dryRun.changes) write(`  ${costText(each)}`)
    if (dryRun.changes.length === 0) write('  none')
  }
}

function list(what: string, rows: readonly DoubtfulRow[], write: (text: string) => void): void {
  if (rows.length === 0) return
  write(`${rows.length} ${what}:`)
  for (const { name, doubts } of rows) write(`  ${name}  ${doubts.join(', ')}`)
}

async function runList(options: InstanceOption): Promise<void> {
  const broker = await connectInstanceBroker(readInstanceConfig(options))
  const books = await importedBooks(await broker.bucket(PRICE_BOOKS))
  const proposals = (await keptProposals(await broker.bucket(BOOK_PROPOSALS)))
    .filter(({ kind }) => kind === 'prices')
    .map(({ held, newly_priced: _, ...shown }) => ({ ...shown, held: held.length }))
  for (const each of [...books, ...proposals]) process.stdout.write(`${JSON.stringify(each)}\n`)
  await broker.close()
}
