import { createHash } from 'node:crypto'
import { Command, InvalidArgumentError } from 'commander'
import { ConfigError } from '../../internal/config/settings.js'
import {
  importBook,
  importedBooks,
  newestBook,
  readBook,
  type StoredBook,
  undoBook,
} from '../../internal/valuation/books/book-version.js'
import { energyDifference, isSameTable } from '../../internal/valuation/books/energy-difference.js'
import { reviewTable, uponRelease } from '../../internal/valuation/books/energy-review.js'
import { keepProposal, keptProposals, readProposal } from '../../internal/valuation/books/proposals.js'
import { ECOLOGITS_BYTES_MAX, parseEcologits } from '../../internal/valuation/books/sources/ecologits.js'
import type { EnergyFile } from '../../internal/valuation/energy/energy-models.js'
import { loadEnergyFile } from '../../internal/valuation/energy/footprint.js'
import { BOOK_PROPOSALS, ENERGY_TABLE_FILES, ENERGY_TABLES } from '../../streams/buckets.js'
import { recordByCli } from './audited.js'
import {
  acceptOption,
  effectiveFromOption,
  type PeriodOptions,
  readBounded,
  readInstant,
  readPeriod,
  yesOption,
} from './book-options.js'
import { type ConfirmOption, isConfirmed } from './confirmed.js'
import {
  connectInstanceBroker,
  connectInstanceStore,
  dataDirOption,
  type InstanceOption,
  readInstanceConfig,
} from './connect.js'
import { type EnergyProposal, proposalJson, proposalText } from './energy-text.js'
import { footprintChanges } from './footprint-changes.js'
import type { Window } from './tenant-records.js'

interface ProposeOptions extends InstanceOption, PeriodOptions {
  readonly ecologits: string
  readonly edition?: string
  readonly asOf?: string
  readonly accept: readonly string[]
  readonly json?: true
}

interface AcceptOptions extends InstanceOption, ConfirmOption {
  readonly effectiveFrom?: string
}

export const energyCommand = (): Command =>
  new Command('energy')
    .description('The energy tables.')
    .addCommand(
      new Command('propose')
        .description(
          "Makes an energy table from EcoLogits' model file and the table in force, prints how it differs and what " +
            'it would change in the records of a period, and keeps it as a proposal. No call is computed by it before ' +
            '`energy accept`. Rows that look wrong are held back, and are listed.',
        )
        .requiredOption('--ecologits <models.json>', 'ecologits/data/models.json of the Python package')
        .option('--edition <version>', 'the version of EcoLogits that the file is from, such as 0.11.3')
        .option('--as-of <day>', 'the day that the file describes, YYYY-MM-DD. Default: today', readDay)
        .addOption(acceptOption())
        .option('--from <time>', 'start of the period, RFC 3339 in UTC. Default: 30 days before its end', readInstant)
        .option('--to <time>', 'end of the period, exclusive. Default: now', readInstant)
        .addOption(dataDirOption())
        .option('--json', 'print the result as JSON')
        .action(runPropose),
    )
    .addCommand(
      new Command('accept')
        .description(
          'Puts a proposed energy table into force. It computes the calls since its effective date that are ' +
            'attributed after this; existing records keep their values. Asks first.',
        )
        .argument('<proposal>', 'id, as `energy propose` prints it')
        .addOption(effectiveFromOption())
        .addOption(yesOption())
        .addOption(dataDirOption())
        .action(runAccept),
    )
    .addCommand(
      new Command('undo')
        .description(
          'Takes an accepted energy table back: later calls are computed as if it had never been accepted. Existing ' +
            'records keep their values, and their explanations. Asks first.',
        )
        .argument('<table>', 'id, as `energy list` prints it')
        .addOption(yesOption())
        .addOption(dataDirOption())
        .action(runUndo),
    )
    .addCommand(
      new Command('list')
        .description(
          'Lists the accepted energy tables, latest effective date first, then the proposals, one JSON object per line.',
        )
        .addOption(dataDirOption())
        .action(runList),
    )

function readDay(text: string): string {
  const isDay = /^\d{4}-\d\d-\d\d$/.test(text) && !Number.isNaN(Date.parse(`${text}T00:00:00Z`))
  if (!isDay) throw new InvalidArgumentError('It must be a day, YYYY-MM-DD.')
  return text
}

const write = (text: string): void => void process.stdout.write(text)

async function opened(options: InstanceOption) {
  const config = readInstanceConfig(options)
  const broker = await connectInstanceBroker(config)
  return {
    config,
    broker,
    tables: await broker.bucket(ENERGY_TABLES),
    files: await broker.objects(ENERGY_TABLE_FILES),
    proposals: await broker.bucket(BOOK_PROPOSALS),
  }
}
type Opened = Awaited<ReturnType<typeof opened>>

interface NamedTable {
  readonly file: EnergyFile
  /** By which proposals know it. */
  readonly name: string
  /** Of the file of an accepted table. */
  readonly sha256?: string
}

/** The table that begins last. */
async function tableInForce({ tables, files }: Opened): Promise<NamedTable> {
  const newest = await newestBook(tables)
  if (newest !== undefined) {
    return { file: await readBook<EnergyFile>(files, newest), name: newest.id, sha256: newest.sha256 }
  }
  const file = loadEnergyFile()
  return { file, name: file.as_of }
}

/** How a table differs from the one in force, and what it would change in the records of a period. */
async function compared(
  { config, broker }: Opened,
  before: EnergyFile,
  file: EnergyFile,
  period: Window,
): Promise<Pick<EnergyProposal, 'before' | 'file' | 'difference' | 'effect'>> {
  const store = connectInstanceStore(config)
  const changes = await footprintChanges(broker, store, file, period).finally(() => store.close())
  return { before, file, difference: energyDifference(before, file), effect: { period, ...changes } }
}

async function runPropose(options: ProposeOptions): Promise<void> {
  const period = readPeriod(options)
  const text = await readBounded(options.ecologits, ECOLOGITS_BYTES_MAX, 'a model file of EcoLogits')
  const parsed = parseEcologits(text)
  if (parsed.kind === 'invalid') {
    throw new ConfigError(`${options.ecologits} is not a model file of EcoLogits:\n  ${parsed.problems.join('\n  ')}`)
  }
  const instance = await opened(options)
  const { broker, files, proposals } = instance
  try {
    const inForce = await tableInForce(instance)
    const edition = {
      asOf: options.asOf ?? new Date().toISOString().slice(0, 10),
      edition: options.edition,
      source: sourceOf(text, options.edition),
    }
    const base = uponRelease(inForce.file, loadEnergyFile())
    const { file, held } = reviewTable(parsed.rows, base, edition, new Set(options.accept))
    const result = { ...(await compared(instance, inForce.file, file, period)), held }
    const isNew = !isSameTable(result.difference)
    const kept = isNew
      ? await keepProposal(proposals, files, file, { kind: 'energy', base: inForce.name, held, nowMs: Date.now() })
      : undefined
    if (kept !== undefined) {
      await recordByCli(broker, 'energy_table.propose', kept.id, { after: audited(result, inForce.name) })
    }
    const proposal = { ...result, id: kept?.id ?? null }
    write(options.json === true ? `${JSON.stringify(proposalJson(proposal))}\n` : proposalText(proposal))
  } finally {
    await broker.close()
  }
}

const sourceOf = (text: string, edition: string | undefined): string =>
  `EcoLogits${edition === undefined ? '' : ` ${edition}`}, data/models.json with SHA-256 ` +
  createHash('sha256').update(text).digest('hex')

const audited = ({ file, difference, held }: Omit<EnergyProposal, 'id'>, base: string) => ({
  as_of: file.as_of,
  edition: file.edition ?? null,
  base,
  rows: file.models.length,
  added: difference.added.length,
  changed: difference.changed.length,
  dropped: difference.dropped.length,
  held: held.length,
})

async function runAccept(id: string, options: AcceptOptions): Promise<void> {
  const instance = await opened(options)
  const { broker, tables, files, proposals } = instance
  try {
    const found = await readProposal<EnergyFile>(proposals, files, 'energy', id)
    if (found === undefined) throw new ConfigError(`there is no proposed energy table ${id}`)
    const { file, proposal } = found
    const effectiveFrom = options.effectiveFrom ?? `${file.as_of}T00:00:00.000Z`
    const inForce = await tableInForce(instance)
    // One that is accepted already may be accepted from another time on.
    if (inForce.name !== proposal.base && inForce.sha256 !== proposal.sha256) {
      throw new ConfigError(
        `${id} was made from the table ${proposal.base}, but ${inForce.name} is in force: propose it again`,
      )
    }
    const result = { ...(await compared(instance, inForce.file, file, readPeriod({}))), held: proposal.held }
    write(proposalText({ ...result, id }))
    if (!(await isConfirmed(`Compute calls since ${effectiveFrom} by this table?`, options))) {
      return write('not accepted\n')
    }
    const when = { effectiveFrom, nowMs: Date.now(), prefix: 'energy' } as const
    const { book, wasThere } = await importBook(tables, files, file, when)
    const after = { ...audited(result, proposal.base), effective_from: effectiveFrom, proposal: id }
    if (!wasThere) await recordByCli(broker, 'energy_table.accept', book.id, { after })
    write(`${book.id}: computes the calls since ${effectiveFrom}\n`)
  } finally {
    await broker.close()
  }
}

async function runUndo(id: string, options: InstanceOption & ConfirmOption): Promise<void> {
  const { broker, tables } = await opened(options)
  try {
    const accepted = await importedBooks(tables)
    const table = accepted.find((each) => each.id === id)
    if (table === undefined) throw new ConfigError(`there is no accepted energy table ${id}`)
    if (table.undone_at !== undefined) return write(`${id} was undone at ${table.undone_at}\n`)
    const former = formerOf(table, accepted)
    if (!(await isConfirmed(`Compute calls since ${table.effective_from} by ${former} again?`, options))) {
      return write('not undone\n')
    }
    await undoBook(tables, id, Date.now())
    await recordByCli(broker, 'energy_table.undo', id, { before: { ...table }, after: { in_force: former } })
    write(`${id} is undone: ${former} computes the calls since ${table.effective_from}\n`)
  } finally {
    await broker.close()
  }
}

/** What is in force once a table is undone, at the time from which it counted. */
const formerOf = ({ id, effective_from: from }: StoredBook, accepted: readonly StoredBook[]): string =>
  accepted.find((each) => each.id !== id && each.undone_at === undefined && each.effective_from <= from)?.id ??
  'the table of the release'

async function runList(options: InstanceOption): Promise<void> {
  const { broker, tables, proposals } = await opened(options)
  const proposed = (await keptProposals(proposals)).filter(({ kind }) => kind === 'energy')
  for (const each of [...(await importedBooks(tables)), ...proposed]) write(`${JSON.stringify(each)}\n`)
  await broker.close()
}
