import { readFileSync, writeFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { Command, Option } from 'commander'
import { ConfigError } from '../../internal/config/settings.js'
import { type Member, membersAsFile, readTeams } from '../../internal/local/import/litellm-teams.js'
import type { Answer, HttpServiceClient } from '../../internal/local/replay/client.js'
import { connectApi, credentialsOption, type ServiceOptions, urlOption, writeOut } from './service.js'

interface ImportOptions extends ServiceOptions {
  readonly dryRun?: true
  readonly apply?: true
  readonly keepMissing?: true
  readonly allowRemovals?: true
  readonly json?: true
}

interface SyncOptions extends ImportOptions {
  readonly litellmUrl: string
}

interface ExportOptions extends ServiceOptions {
  readonly format: 'json' | 'csv'
  readonly out?: string
}

const POLL_EVERY_MS = 500

export const directoryCommand = (): Command =>
  new Command('directory')
    .description('The directory as a file: services, identities, principals and sources.')
    .addCommand(
      withImportOptions(new Command('import').argument('<file>', 'CSV (.csv) or JSON (.json), as export writes them'))
        .description(
          'Imports a file. It is the whole of each kind that it has entries of: others of the kind are removed, ' +
            'unless --keep-missing. Lines that are wrong are refused one by one, and are listed.',
        )
        .option('--keep-missing', 'entries that the file does not have stay')
        .option('--allow-removals', 'remove more than a tenth of what is there')
        .action(runImport),
    )
    .addCommand(
      new Command('export')
        .description('Exports the directory in the form that import reads: to import it changes nothing.')
        .addOption(new Option('--format <format>').choices(['json', 'csv']).default('json'))
        .option('--out <file>', 'file to write. Default: standard output')
        .addOption(urlOption())
        .addOption(credentialsOption())
        .action(runExport),
    )
    .addCommand(
      new Command('sync').description('Takes identities and teams from where they are kept.').addCommand(
        withImportOptions(new Command('litellm-teams'))
          .description(
            'Takes the members of the teams of a LiteLLM proxy as identities, with their team as owner. Other ' +
              'identities stay. LITELLM_API_KEY is a key that may list teams.',
          )
          .requiredOption('--litellm-url <url>', 'address of the LiteLLM proxy')
          .action(runSync),
      ),
    )

const withImportOptions = (command: Command): Command =>
  command
    .option('--dry-run', 'only report what would change')
    .option('--apply', 'make the changes')
    .addOption(urlOption())
    .addOption(credentialsOption())
    .option('--json', 'print the report as JSON')

async function runImport(file: string, options: ImportOptions): Promise<void> {
  const isJson = /\.json$/i.test(file)
  if (!isJson && !/\.csv$/i.test(file)) throw new ConfigError(`${file} must be a .csv or .json file`)
  await importText(readText(file), isJson ? 'application/json' : 'text/csv', options)
}

function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (cause) {
    throw new ConfigError(`${file} cannot be read`, { cause })
  }
}

async function importText(text: string, mediaType: string, options: ImportOptions): Promise<void> {
  if (options.dryRun === options.apply) throw new ConfigError('give one of --dry-run and --apply')
  const query = new URLSearchParams({
    dry_run: String(options.dryRun === true),
    keep_missing: String(options.keepMissing === true),
    allow_removals: String(options.allowRemovals === true),
  })
  const service = connectApi(options, { answerMsMax: 300_000 })
  try {
    const begun = reportIn(await service.put(`/api/v1/directory/import?${query}`, mediaType, text))
    await print(await ended(begun, service), options)
  } finally {
    await service.close()
  }
}

interface Report {
  readonly id?: string
  readonly dry_run: boolean
  readonly status?: 'running' | 'done' | 'interrupted'
  readonly adds: number
  readonly changes: number
  readonly removals: number
  readonly refusals: number
  readonly unchanged: number
  readonly removed: readonly { readonly kind: string; readonly name: string }[]
  readonly refused: readonly {
    readonly kind: string | null
    readonly line: number | null
    readonly pointer: string | null
    readonly reason: string
  }[]
}

function reportIn({ status, body }: Answer): Report {
  if (status === 200 || status === 202) return JSON.parse(body) as Report
  const { detail, errors = [] } = JSON.parse(body) as {
    readonly detail?: string
    readonly errors?: readonly { readonly pointer: string; readonly detail: string }[]
  }
  const lines = errors.map((error) => `  ${`${error.pointer} ${error.detail}`.trim()}`)
  throw new Error([detail ?? `the service answered ${status}`, ...lines].join('\n'))
}

async function ended(begun: Report, service: HttpServiceClient): Promise<Report> {
  let report = begun
  while (report.status === 'running') {
    await sleep(POLL_EVERY_MS)
    report = reportIn(await service.get(`/api/v1/directory/imports/${report.id}`))
  }
  return report
}

async function print(report: Report, { json }: ImportOptions): Promise<void> {
  if (report.status === 'interrupted') process.exitCode = 1
  if (json === true) return writeOut(`${JSON.stringify(report)}\n`)
  const { dry_run, adds, changes, removals, refusals, unchanged } = report
  const head = dry_run ? 'would be ' : report.status === 'interrupted' ? 'interrupted; import again: ' : ''
  const lines = [
    `${head}${adds} added, ${changes} changed, ${removals} removed; ${unchanged} unchanged, ${refusals} refused`,
    ...report.removed.slice(0, SHOWN_MAX).map(({ kind, name }) => `  removed: ${kind} ${name}`),
    ...report.refused.slice(0, SHOWN_MAX).map(({ kind, line, pointer, reason }) => {
      return `  refused: ${line === null ? (pointer ?? '') : `line ${line}`} ${kind ?? ''} ${reason}`
    }),
  ]
  return writeOut(`${lines.join('\n')}\n`)
}

/** Lines that are printed of each list; --json has a thousand. */
const SHOWN_MAX = 50

async function runExport({ format, out, ...options }: ExportOptions): Promise<void> {
  const service = connectApi(options)
  try {
    const body = await exportFrom(service, format)
    if (out === undefined) await writeOut(body)
    else writeFileSync(out, body, { mode: 0o600 })
  } finally {
    await service.close()
  }
}

async function exportFrom(service: HttpServiceClient, format: string): Promise<string> {
  const { status, body } = await service.get(`/api/v1/directory/export?format=${format}`)
  if (status !== 200) throw new Error(`the directory could not be exported (${status})`)
  return body
}

async function runSync({ litellmUrl, ...options }: SyncOptions): Promise<void> {
  const { LITELLM_API_KEY: key } = process.env
  if (key === undefined || key === '') throw new ConfigError('set LITELLM_API_KEY to a key that may list teams')
  const members: readonly Member[] = await readTeams(litellmUrl, key)
  const service = connectApi(options)
  const exported = await exportFrom(service, 'json').finally(() => service.close())
  await importText(membersAsFile(members, exported), 'application/json', { ...options, keepMissing: true })
}
