import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { Command, Option } from 'commander'
import { NewlyPriced } from '../../internal/attribution/changes/newly-priced.js'
import { ConfigError } from '../../internal/config/settings.js'
import { formatInstant } from '../../internal/units/instant.js'
import { bookDifference, inForceThroughout } from '../../internal/valuation/books/book-difference.js'
import { parseBook } from '../../internal/valuation/books/book-file.js'
import { reviewBook } from '../../internal/valuation/books/book-guard.js'
import { importBook, importedBooks, type StoredBook } from '../../internal/valuation/books/book-version.js'
import {
  type DoubtedRow,
  keepProposal,
  NEWLY_PRICED_TENANTS_MAX,
  type ProposalEffect,
  readProposal,
} from '../../internal/valuation/books/proposals.js'
import { proposedBook, uponRelease, withFormerRows } from '../../internal/valuation/books/propose-book.js'
import { readGenaiPrices } from '../../internal/valuation/books/sources/genai-prices.js'
import { readLitellm } from '../../internal/valuation/books/sources/litellm.js'
import {
  type ParsedSource,
  SOURCE_BYTES_MAX,
  type SourceBook,
} from '../../internal/valuation/books/sources/source-book.js'
import { loadPriceBookFile, type PriceBookFile } from '../../internal/valuation/cost/price-book.js'
import { recordByCli } from './audited.js'
import { bookChanges } from './book-changes.js'
import { acceptOption, readBounded, readDay, readPeriod, yesOption } from './book-options.js'
import { type ConfirmOption, isConfirmed } from './confirmed.js'
import { connectInstanceStore, dataDirOption, type InstanceOption } from './connect.js'
import { bookInForce, type OpenedBooks, openBooks, undoImported } from './kinds-of-books.js'
import { proposalJson, proposalText, type ShownProposal } from './price-proposal-text.js'
import { readWorkloads } from './workloads.js'

interface ProposeOptions extends InstanceOption {
  readonly genaiPrices?: string
  readonly litellm?: string
  readonly effectiveFrom?: string
  readonly asOf?: string
  readonly accept: readonly string[]
  readonly json?: true
}

interface AnswerOptions extends InstanceOption, ConfirmOption {
  readonly json?: true
}

export const proposeCommand = (): Command =>
  new Command('propose')
    .description(
      'Makes a price book from the one in force and newer ones, prints how it differs and what it would change in the ' +
        'records of the last 30 days, and keeps it as a proposal. No call is priced by it before `prices accept`. A ' +
        'price changes only where every given book that has the model says so, from a day on; rows that look wrong ' +
        'are held back, and are listed.',
    )
    .option(
      '--genai-prices <path>',
      'prices/new_data/v2/data.json of the repository pydantic/genai-prices, or the folder of the npm package ' +
        '@pydantic/genai-prices, of which nothing is executed',
    )
    .option('--litellm <file>', 'model_prices_and_context_window.json of the repository BerriAI/litellm')
    .option(
      '--effective-from <day>',
      'the day on which the book comes into force, and from which changes without a day of their own apply, ' +
        'YYYY-MM-DD. Default: today (UTC)',
      readDay,
    )
    .option(
      '--as-of <day>',
      'the day that the given books describe. Default: the newest day that they state, else the one on which the ' +
        'older file was last changed',
      readDay,
    )
    .addOption(acceptOption())
    .addOption(dataDirOption())
    .option('--json', 'print the result as JSON')
    .action(runPropose)

export const acceptCommand = (): Command =>
  new Command('accept')
    .description(
      'Puts a proposed price book into force. It prices the calls since its effective date that are attributed after ' +
        'this; existing records keep their price. Asks first.',
    )
    .argument('<proposal>', 'id, as `prices propose` prints it')
    .addOption(yesOption())
    .addOption(dataDirOption())
    .addOption(new Option('--json', 'print the result as JSON; needs --yes'))
    .action(runAccept)

export const undoCommand = (): Command =>
  new Command('undo')
    .description(
      'Takes an imported price book back: later calls are priced as if it had never been imported. Existing records ' +
        'keep their price until `reattribute --reprice-book`. Asks first.',
    )
    .argument('<book>', 'id, as `prices list` prints it')
    .addOption(yesOption())
    .addOption(dataDirOption())
    .action((id: string, options: AnswerOptions) => undoImported('prices', id, options, write))

const write = (text: string): void => void process.stdout.write(text)
const dayOf = (timeMs: number): string => formatInstant(timeMs).slice(0, 10)

interface GivenBook {
  readonly book: SourceBook
  readonly changedMs: number
}

async function givenBooks({ genaiPrices, litellm }: ProposeOptions, before: PriceBookFile): Promise<GivenBook[]> {
  const providers = new Set(Object.keys(before.providers))
  const given: GivenBook[] = []
  const read = async (path: string, parse: (text: string, known: ReadonlySet<string>) => ParsedSource) => {
    const text = await readBounded(path, SOURCE_BYTES_MAX, 'a price book')
    const parsed = parse(text, providers)
    if (parsed.kind === 'invalid') throw new ConfigError(`${path} is not such a price book: ${parsed.problem}`)
    given.push({ book: parsed.book, changedMs: (await stat(path)).mtimeMs })
  }
  if (genaiPrices !== undefined) {
    const isPackage = (await stat(genaiPrices)).isDirectory()
    await read(isPackage ? join(genaiPrices, 'dist', 'index.js') : genaiPrices, readGenaiPrices)
  }
  if (litellm !== undefined) await read(litellm, readLitellm)
  if (given.length === 0) throw new ConfigError('name a price book: --genai-prices, --litellm, or both')
  return given
}

/** A file says when it was copied, and that of a package when it was installed, or a day of 1985. */
const newestDayIn = (sources: readonly SourceBook[], today: string): string | undefined =>
  sources
    .flatMap(({ rows }) => rows.flatMap(({ periods }) => periods.flatMap(({ from = today }) => from)))
    .filter((day) => day < today)
    .sort()
    .at(-1)

/** How a book differs from the one in force, and what its changes are worth in the records of the last 30 days. */
async function compared(
  { config, broker }: OpenedBooks,
  before: PriceBookFile,
  file: PriceBookFile,
  day: string,
): Promise<Pick<ShownProposal, 'difference'> & { readonly effect: ProposalEffect; readonly newlyPriced: NewlyPriced }> {
  const period = readPeriod({})
  const newlyPriced = new NewlyPriced(await readWorkloads(broker, config))
  const store = connectInstanceStore(config)
  const costs = await bookChanges(broker, store, inForceThroughout(file, day), period, newlyPriced).finally(() =>
    store.close(),
  )
  const [from, to] = [formatInstant(period.fromMs), formatInstant(period.toMs)]
  return {
    difference: bookDifference(before, file),
    effect: { from, to, costs, newlyPriced: newlyPriced.total() },
    newlyPriced,
  }
}

async function runPropose(options: ProposeOptions): Promise<void> {
  const instance = await openBooks('prices', options)
  const { broker, files, proposals } = instance
  try {
    const { file: inForce, name: base, effectiveFrom: since } = await bookInForce(instance, loadPriceBookFile)
    const before = uponRelease(inForce, loadPriceBookFile())
    const given = await givenBooks(options, before)
    const sources = given.map(({ book }) => book)
    const nowMs = Date.now()
    const effectiveFrom = options.effectiveFrom ?? dayOf(nowMs)
    // Its base would end the new book on the day on which it begins itself.
    if (since !== undefined && effectiveFrom < since.slice(0, 10)) {
      throw new ConfigError(`${base} is in force from ${since}: propose with --effective-from of that day, or later`)
    }
    const today = dayOf(nowMs)
    const changedMs = Math.min(nowMs, ...given.map((each) => each.changedMs))
    const asOf = options.asOf ?? newestDayIn(sources, today) ?? dayOf(changedMs)
    const proposed = proposedBook(before, sources, { asOf, effectiveFrom, today })
    const { file, doubted } = reviewed(checked(proposed.file), before, new Set(options.accept))
    const { newlyPriced, ...comparison } = await compared(instance, inForce, file, effectiveFrom)
    const isNew = isDifferent(comparison)
    const kept = isNew
      ? await keepProposal(proposals, files, file, {
          kind: 'prices',
          base,
          held: doubted,
          effect: comparison.effect,
          effective_from: `${effectiveFrom}T00:00:00.000Z`,
          newly_priced: Object.fromEntries(newlyPriced.byTenant().slice(0, NEWLY_PRICED_TENANTS_MAX)),
          nowMs,
        })
      : undefined
    const shown = {
      id: kept?.id ?? null,
      base,
      asOf,
      effectiveFrom,
      rows: file.models.length,
      held: doubted,
      heldCount: doubted.length,
      ...comparison,
    }
    if (kept !== undefined) await recordByCli(broker, 'price_book.propose', kept.id, { after: audited(shown) })
    print({ ...shown, made: { ...proposed, sources } }, options)
  } finally {
    await broker.close()
  }
}

const isDifferent = ({ difference: { added, changes, removed, rules } }: Pick<ShownProposal, 'difference'>): boolean =>
  added.length + changes.length + removed.length + rules.length > 0

/** The rows that the guard lets through. One that no person could accept is left out, or keeps its former price. */
function reviewed(
  file: PriceBookFile,
  before: PriceBookFile,
  accepted: ReadonlySet<string>,
): { readonly file: PriceBookFile; readonly doubted: readonly DoubtedRow[] } {
  const { quarantined } = reviewBook(file, before, accepted)
  const names = new Set(quarantined.map(({ name }) => name))
  const review = reviewBook(withFormerRows(file, before, names), before, accepted)
  return { file: review.file, doubted: [...review.held, ...quarantined] }
}

/** @throws ConfigError when the merge has made what no import would take */
function checked(file: PriceBookFile): PriceBookFile {
  const parsed = parseBook(JSON.stringify(file))
  if (parsed.kind === 'book') return parsed.file
  throw new ConfigError(`the given price books cannot be merged:\n  ${parsed.problems.join('\n  ')}`)
}

function print(shown: ShownProposal, { json }: { readonly json?: true }): void {
  write(json === true ? `${JSON.stringify(proposalJson(shown))}\n` : proposalText(shown))
}

const audited = ({ asOf, effectiveFrom, base, rows, difference, heldCount }: Omit<ShownProposal, 'effect'>) => ({
  as_of: asOf,
  effective_from: effectiveFrom,
  base,
  rows,
  added: difference.added.length,
  changed: difference.changes.length,
  removed: difference.removed.length,
  rules: difference.rules.length,
  held: heldCount,
})

async function runAccept(id: string, options: AnswerOptions): Promise<void> {
  if (options.json === true && options.yes !== true) throw new ConfigError('--json needs --yes')
  const instance = await openBooks('prices', options)
  const { broker, books, files, proposals } = instance
  try {
    const found = await readProposal<PriceBookFile>(proposals, files, 'prices', id)
    if (found === undefined) throw new ConfigError(`there is no proposed price book ${id}`)
    const { file, proposal } = found
    const effectiveFrom = proposal.effective_from ?? `${file.as_of}T00:00:00.000Z`
    const { file: before, name } = await bookInForce(instance, loadPriceBookFile)
    const accepted = (await importedBooks(books)).find((each) => isOf(each, proposal, effectiveFrom))
    if (accepted !== undefined) return write(`${accepted.id} is this book, and in force since ${effectiveFrom}\n`)
    if (name !== proposal.base) {
      throw new ConfigError(`${id} was made from ${proposal.base}, but ${name} is in force: propose it again`)
    }
    const day = effectiveFrom.slice(0, 10)
    const { base, as_of: asOf, rows, held, held_count: heldCount = held.length, effect } = proposal
    const difference = bookDifference(before, file)
    const shown = { id, base, asOf, effectiveFrom: day, rows, held, heldCount, difference, effect }
    print(shown, options)
    if (!(await isConfirmed(`Price the calls since ${day} by this book?`, options))) return write('not accepted\n')
    const { book } = await importBook(books, files, file, { effectiveFrom, nowMs: Date.now(), prefix: 'book' })
    await recordByCli(broker, 'price_book.accept', book.id, { after: { ...audited(shown), proposal: id } })
    write(options.json === true ? `${JSON.stringify(book)}\n` : `${book.id} prices the calls since ${day}\n`)
  } finally {
    await broker.close()
  }
}

/** Whether an imported book is the proposed one, and counts. */
const isOf = (book: StoredBook, { sha256 }: Pick<StoredBook, 'sha256'>, effectiveFrom: string): boolean =>
  book.sha256 === sha256 && book.effective_from === effectiveFrom && book.undone_at === undefined
