import { createHash } from 'node:crypto'
import { Command } from 'commander'
import { ConfigError } from '../../internal/config/settings.js'
import { importBook, importedBooks } from '../../internal/valuation/books/book-version.js'
import { energyDifference, isSameTable } from '../../internal/valuation/books/energy-difference.js'
import { reviewTable, uponRelease } from '../../internal/valuation/books/energy-review.js'
import { keepProposal, keptProposals, readProposal } from '../../internal/valuation/books/proposals.js'
import { ECOLOGITS_BYTES_MAX, parseEcologits } from '../../internal/valuation/books/sources/ecologits.js'
import type { EnergyFile } from '../../internal/valuation/energy/energy-models.js'
import { loadEnergyFile } from '../../internal/valuation/energy/footprint.js'
import { recordByCli } from './audited.js'
import {
  acceptOption,
  effectiveFromOption,
  type PeriodOptions,
  readBounded,
  readDay,
  readInstant,
  readPeriod,
  yesOption,
} from './book-options.js'
import { type ConfirmOption, isConfirmed } from './confirmed.js'
import { connectInstanceStore, dataDirOption, type InstanceOption } from './connect.js'
import { type EnergyProposal, proposalJson, proposalText } from './energy-text.js'
import { footprintChanges } from './footprint-changes.js'
import { bookInForce, type OpenedBooks, openBooks, undoImported } from './kinds-of-books.js'
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

const write = (text: string): void => void process.stdout.write(text)

/** How a table differs from the one in force, and what it would change in the records of a period. */
async function compared(
  { config, broker }: OpenedBooks,
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
  const instance = await openBooks('energy', options)
  const { broker, files, proposals } = instance
  try {
    const inForce = await bookInForce(instance, loadEnergyFile)
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
  const instance = await openBooks('energy', options)
  const { broker, books, files, proposals } = instance
  try {
    const found = await readProposal<EnergyFile>(proposals, files, 'energy', id)
    if (found === undefined) throw new ConfigError(`there is no proposed energy table ${id}`)
    const { file, proposal } = found
    const effectiveFrom = options.effectiveFrom ?? `${file.as_of}T00:00:00.000Z`
    const inForce = await bookInForce(instance, loadEnergyFile)
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
    const { book, wasThere } = await importBook(books, files, file, when)
    const after = { ...audited(result, proposal.base), effective_from: effectiveFrom, proposal: id }
    if (!wasThere) await recordByCli(broker, 'energy_table.accept', book.id, { after })
    write(`${book.id}: computes the calls since ${effectiveFrom}\n`)
  } finally {
    await broker.close()
  }
}

const runUndo = (id: string, options: InstanceOption & ConfirmOption): Promise<void> =>
  undoImported('energy', id, options, write)

async function runList(options: InstanceOption): Promise<void> {
  const { broker, books, proposals } = await openBooks('energy', options)
  const proposed = (await keptProposals(proposals)).filter(({ kind }) => kind === 'energy')
  // In one write: a reader such as `head` closes the pipe after its first lines.
  write([...(await importedBooks(books)), ...proposed].map((each) => `${JSON.stringify(each)}\n`).join(''))
  await broker.close()
}
