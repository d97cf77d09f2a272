/**
 * Lines of a log through real shippers, with the configurations that `deploy/docs/intake/shippers.md` prints: those that
 * Debian has are fetched, the others are run where the machine has them.
 */
import { spawnSync } from 'node:child_process'
import { appendFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ensureSyslogNg } from '../../deploy/setup/syslog-ng.mjs'
import { type Ask, askAs } from '../support/ask.js'
import { codeBlocks, ROOT, textOf } from '../support/docs.js'
import { launchCommand } from '../support/processes.js'
import { atEnd } from '../support/run/at-end.js'
import { launchService, type RunningService } from '../support/service.js'

const BATCH = 50
const BATCHES = 6
const DEADLINE = { timeout: 60_000, interval: 300 }

let service: RunningService
let ask: Ask

beforeAll(async () => {
  service = await launchService()
  ask = askAs(service.baseUrl, { 'x-api-key': service.credentials.api_key })
})
afterAll(() => service.stop())

interface Program {
  readonly program: string
  readonly env?: Record<string, string>
  readonly args?: readonly string[]
}

/** @returns the program, if the machine has it */
async function onPath(program: string): Promise<Program> {
  if (spawnSync(program, ['--version']).status === 0) return { program }
  throw new Error(`${program} is not installed, and Debian has no package of it`)
}

interface Shipper {
  readonly name: string
  /** Where its configuration is on the page. */
  readonly heading: string
  readonly find: () => Promise<Program>
  readonly args: (configuration: string, folder: string) => readonly string[]
  /** What the test needs else in its configuration. */
  readonly adapt: (configuration: string, folder: string) => string
}

const SHIPPERS: readonly Shipper[] = [
  {
    name: 'syslog-ng',
    heading: 'syslog-ng',
    find: () => ensureSyslogNg(ROOT),
    args: (configuration, folder) => [
      ...['-F', '--no-caps', '-f', configuration],
      ...['-R', join(folder, 'state'), '-p', join(folder, 'pid'), '-c', join(folder, 'control')],
    ],
    adapt: (configuration, folder) =>
      configuration
        .replace('disk-buffer(', `disk-buffer(dir("${folder}") `)
        .replace('batch-lines(2000)', `batch-lines(${BATCH})`),
  },
  {
    name: 'fluent-bit',
    heading: 'Fluent Bit',
    find: () => onPath('fluent-bit'),
    args: (configuration) => ['-c', configuration],
    adapt: (configuration, folder) => configuration.replaceAll('/var/lib/fluent-bit', folder),
  },
  {
    name: 'vector',
    heading: 'Vector',
    find: () => onPath('vector'),
    args: (configuration) => ['--config-yaml', configuration],
    adapt: (configuration, folder) =>
      configuration.replace('/var/lib/vector', folder).replace('max_events: 2000', `max_events: ${BATCH}`),
  },
]

const BAD = [
  'Traceback (most recent call last):',
  '[2026-11-28 22:00:00] started, 2 workers',
  '{"requested_model":"gpt-4o","provider":"open',
  '{"requested_model":"gpt-4o","provider":"openai","ingestion_layer":"application","time":"yesterday"}',
]

/** The lines of as many batches, of which each has a bad first, middle and last one. */
function linesOf(service: string, batches: number, from = 0): readonly string[] {
  return Array.from({ length: batches * BATCH }, (_, i) => {
    const at = i % BATCH
    if (at === 0 || at === BATCH / 2 || at === BATCH - 1) return BAD[(from + i) % BAD.length] as string
    return JSON.stringify({
      time: new Date(Date.now() - 60_000 + from + i).toISOString().replace('Z', '+00:00'),
      level: 'info',
      message: 'model call finished',
      ingestion_layer: 'application',
      provider: 'openai',
      requested_model: 'gpt-4o-mini',
      served_model: '',
      input_tokens: 1_000 + from + i,
      output_tokens: 20,
      latency_ms: 12.5,
      estimated_cost_usd: 0.00042,
      attributed_service: service,
    })
  })
}

async function inputsOf(service: string): Promise<readonly number[]> {
  const inputs: number[] = []
  let cursor: string | undefined
  do {
    const page = `/v1/attribution?limit=200&filter[service][eq]=${service}${cursor ? `&cursor=${cursor}` : ''}`
    const { json } = await ask('GET', page)
    inputs.push(...json.data.map(({ input_tokens }: { input_tokens: number }) => input_tokens))
    cursor = json.page.next_cursor
  } while (cursor !== undefined)
  return inputs.sort((one, other) => one - other)
}

async function rejected(): Promise<number> {
  const { json } = await ask('GET', '/api/v1/sources?limit=200')
  return json.data.reduce((sum: number, row: { rejected: { count: number } }) => sum + row.rejected.count, 0)
}

for (const shipper of SHIPPERS) {
  test(`through ${shipper.name} each call of a log is one record, whatever is beside it, however often it is read`, async (context) => {
    const found = await shipper.find().catch((cause: Error) => cause)
    if (found instanceof Error) return context.skip(found.message)
    const folder = mkdtempSync(join(tmpdir(), 'attribution-shipper-'))
    atEnd(() => rm(folder, { recursive: true, force: true }))
    const log = join(folder, 'calls.log')
    const name = `by-${shipper.name}`
    const written: string[] = []
    const write = (batches: number): void => {
      const lines = linesOf(name, batches, written.length)
      written.push(...lines)
      appendFileSync(log, `${lines.join('\n')}\n`)
    }
    const before = await rejected()
    const allThere = () =>
      expect.poll(async () => (await inputsOf(name)).length, DEADLINE).toBe(inputsIn(written).length)

    write(BATCHES)
    const first = launch(shipper, found, folder, log)
    await allThere()
    await expect.poll(async () => (await rejected()) - before, DEADLINE).toBe(written.length - inputsIn(written).length)
    await first.kill('SIGTERM')
    write(1)
    const second = launch(shipper, found, folder, log)
    await allThere()
    await second.kill('SIGKILL')
    // Without what it knows of the file, it reads all of it again.
    for (const state of ['state', 'calls.db', 'calls']) rmSync(join(folder, state), { recursive: true, force: true })
    write(1)
    const third = launch(shipper, found, folder, log)
    await allThere()
    await third.kill('SIGTERM')

    expect(await inputsOf(name)).toEqual(inputsIn(written))
  }, 200_000)
}

const inputsIn = (lines: readonly string[]): readonly number[] =>
  lines.flatMap((line) => /"input_tokens":(\d+)/.exec(line)?.slice(1).map(Number) ?? [])

function launch(shipper: Shipper, { program, env, args = [] }: Program, folder: string, log: string) {
  const page = textOf('deploy/docs/intake/shippers.md')
  const [, section = ''] = page.split(`\n## ${shipper.heading}\n`)
  const printed = codeBlocks(section)[0]?.code ?? ''
  const configuration = join(folder, 'configuration')
  writeFileSync(
    configuration,
    shipper
      .adapt(printed, folder)
      .replace('/var/log/app/calls.log', log)
      .replace(/(127\.0\.0\.1:|port )8080/, `$1${service.port}`)
      .replace('ak_live_...', service.credentials.api_key),
  )
  return launchCommand(program, { args: [...args, ...shipper.args(configuration, folder)], env: env ?? {} })
}
