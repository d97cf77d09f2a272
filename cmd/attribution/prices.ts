import { readFile, stat } from 'node:fs/promises'
import { Command, InvalidArgumentError } from 'commander'
import { BOOK_BYTES_MAX, parseBook } from '../../internal/attribution/valuation/books/book-file.js'
import { type BookReview, type DoubtfulRow, reviewBook } from '../../internal/attribution/valuation/books/guard.js'
import { importBook, importedBooks, readBook } from '../../internal/attribution/valuation/books/import-book.js'
import { loadPriceBookFile } from '../../internal/attribution/valuation/cost/price-book.js'
import type { Broker } from '../../internal/broker/connect.js'
import { ConfigError } from '../../internal/config/settings.js'
import { formatInstant, parseInstant } from '../../internal/units/instant.js'
import { PRICE_BOOK_FILES, PRICE_BOOKS } from '../../streams/buckets.js'
import { recordByCli } from './audited.js'
import { connectInstanceBroker, dataDirOption, type InstanceOption, readInstanceConfig } from './connect.js'

interface ImportOptions extends InstanceOption {
  readonly effectiveFrom?: string
  readonly accept: readonly string[]
  readonly dryRun?: true
  readonly json?: true
}

export const pricesCommand = (): Command =>
  new Command('prices')
    .description('The price book.')
    .addCommand(
      new Command('import')
        .description(
          'Imports a price book. Calls from its first day on are priced by it that are attributed from now on; no record ' +
            'that exists is priced again. Rows that look wrong are left out, or keep the price they had, and are listed.',
        )
        .argument('<file>', 'JSON, of the form of internal/attribution/valuation/cost/prices.data.json')
        .option(
          '--effective-from <time>',
          'when it begins to count, RFC 3339 in UTC; the day that the book describes',
          readInstant,
        )
        .option('--accept <row>', 'a row that was looked at, provider/model; may be repeated', collect, [])
        .option('--dry-run', 'say what it would do, and do nothing')
        .addOption(dataDirOption())
        .option('--json', 'print what was done as JSON')
        .action(runImport),
    )
    .addCommand(
      new Command('list')
        .description('Lists the imported price books, as JSON, one a line; the one that begins last goes first.')
        .addOption(dataDirOption())
        .action(runList),
    )

const collect = (row: string, rows: readonly string[]): readonly string[] => [...rows, row.toLowerCase()]

function readInstant(text: string): string {
  const instant = parseInstant(text)
  if (instant === undefined) throw new InvalidArgumentError('It must be like 2026-12-01T00:00:00Z.')
  return formatInstant(instant)
}

async function runImport(path: string, options: ImportOptions): Promise<void> {
  const parsed = await readFileAsBook(path)
  const broker = await connectInstanceBroker(readInstanceConfig(options))
  try {
    const bucket = await broker.bucket(PRICE_BOOKS)
    const files = await broker.objects(PRICE_BOOK_FILES)
    const [newest] = await importedBooks(bucket)
    const before = newest === undefined ? loadPriceBookFile() : await readBook(files, newest)
    const review = reviewBook(parsed, before, new Set(options.accept))
    const effectiveFrom = options.effectiveFrom ?? `${parsed.as_of}T00:00:00.000Z`
    if (options.dryRun === true) return tell({ book: null, review, effectiveFrom }, options)

    const { book, wasThere } = await importBook(bucket, files, review.file, { effectiveFrom, nowMs: Date.now() })
    if (!wasThere) await audit(broker, book.id, review, effectiveFrom)
    tell({ book: book.id, review, effectiveFrom }, options)
  } finally {
    await broker.close()
  }
}

async function readFileAsBook(path: string) {
  if ((await stat(path)).size > BOOK_BYTES_MAX) throw new ConfigError(`${path} is larger than any price book`)
  const parsed = parseBook(await readFile(path, 'utf8'))
  if (parsed.kind === 'book') return parsed.file
  throw new ConfigError(`${path} is no price book:\n  ${parsed.problems.join('\n  ')}`)
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

interface Told {
  /** Null of a dry run. */
  readonly book: string | null
  readonly review: BookReview
  readonly effectiveFrom: string
}

function tell({ book, review, effectiveFrom }: Told, { json }: ImportOptions): void {
  const { file, added, changed, removed, quarantined, held } = review
  const told = { book, as_of: file.as_of, effective_from: effectiveFrom, rows: file.models.length }
  const say = (text: string): void => void process.stdout.write(`${text}\n`)
  if (json === true) return say(JSON.stringify({ ...told, added, changed, removed, quarantined, held }))
  say(`${book ?? '(not imported)'}: ${told.rows} rows as of ${told.as_of}, in force from ${effectiveFrom}`)
  say(`${added} added, ${changed} changed, ${removed} removed`)
  list('left out, calls of them are unpriced', quarantined, say)
  list('held: they keep the price they had; take them with --accept', held, say)
}

function list(what: string, rows: readonly DoubtfulRow[], say: (text: string) => void): void {
  if (rows.length === 0) return
  say(`${rows.length} ${what}:`)
  for (const { name, doubts } of rows) say(`  ${name}  ${doubts.join(', ')}`)
}

async function runList(options: InstanceOption): Promise<void> {
  const broker = await connectInstanceBroker(readInstanceConfig(options))
  for (const book of await importedBooks(await broker.bucket(PRICE_BOOKS))) {
    process.stdout.write(`${JSON.stringify(book)}\n`)
  }
  await broker.close()
}
