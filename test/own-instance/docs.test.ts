/**
 * Runs the commands of the documents as they are printed, from a folder that looks like a checkout, against an instance
 * that the README's `npm start` has started. Blocks that are marked as needing a cluster or an outside service are left
 * out. The inner ring runs those of the README, and of the documents whose blocks of code have changed since both rings
 * passed.
 */
import { execFile, spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isDeepStrictEqual, promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { lastFullRun } from '../../deploy/setup/last-full-run.mjs'
import { BACKGROUND_ROLES } from '../../internal/config/settings.js'
import { freePort } from '../../internal/local/supervisor/supervised-instance.js'
import { type CodeBlock, codeBlocks, DOCUMENTS, ROOT, textOf } from '../support/docs.js'
import { localEnvironment } from '../support/local-environment.js'
import { type Launched, launchCommand } from '../support/processes.js'
import { RUNS_BOTH_RINGS } from '../support/run/rings.js'

const run = promisify(execFile)

/** A folder with everything of the checkout, and with data of its own. */
function checkout(): string {
  const folder = mkdtempSync(join(tmpdir(), 'attribution-docs-'))
  for (const name of readdirSync(ROOT)) {
    if (name !== '.git' && !name.startsWith('.data')) symlinkSync(join(ROOT, name), join(folder, name))
  }
  return folder
}

/** All of them where git cannot tell. */
function changedDocuments(): readonly string[] {
  const last = lastFullRun(ROOT)
  if (RUNS_BOTH_RINGS || last === undefined) return DOCUMENTS
  const git = (...args: string[]) => spawnSync('git', args, { cwd: ROOT, encoding: 'utf8' })
  const diff = git('diff', '--name-only', last.commit, '--', ...DOCUMENTS)
  if (diff.status !== 0) return DOCUMENTS
  return diff.stdout
    .split('\n')
    .filter(Boolean)
    .filter((document) => {
      const before = git('show', `${last.commit}:${document}`)
      return before.status !== 0 || !isDeepStrictEqual(codeBlocks(before.stdout), codeBlocks(textOf(document)))
    })
}

const changed = changedDocuments()
const others = DOCUMENTS.slice(1).filter((document) => changed.includes(document))
/** The commands of the README need the others only. Each background role costs a process. */
const roles = others.length > 0 ? {} : { ATTRIBUTION_WITHOUT_ROLES: BACKGROUND_ROLES.join() }
const folder = checkout()
const started: Launched[] = []
let port: number
let intakePort: number

/** Starts what a block starts, on a free port, and resolves when it says that it is ready. */
async function start({ code }: CodeBlock, onIntakePort = 0): Promise<number> {
  const onPort = await freePort()
  const process = launchCommand('bash', {
    args: ['-c', `exec ${code.trim()}`],
    cwd: folder,
    env: { ...roles, ATTRIBUTION_PORT: String(onPort), ATTRIBUTION_INTAKE_PORT: String(onIntakePort) },
  })
  started.push(process)
  await process.line(/is ready/)
  return onPort
}

const isStart = ({ code }: CodeBlock): boolean => code.startsWith('npm start')
const isRun = ({ language, mark }: CodeBlock): boolean => language === 'sh' && mark === ''

beforeAll(async () => {
  const first = codeBlocks(textOf('README.md')).find(isStart)
  if (first === undefined) throw new Error('the README does not start the service')
  intakePort = await freePort()
  port = await start(first, intakePort)
})

afterAll(async () => {
  for (const process of started) await process.kill('SIGTERM')
})

/** Ids and times differ from one instance to the next; all else must be as shown. */
const withoutIdsAndTimes = (value: unknown): unknown =>
  JSON.parse(
    JSON.stringify(value)
      .replaceAll(/"([a-z]+)_[0-9a-z]{26}"/g, '"$1_"')
      .replaceAll(/"(since|materialized_at|created_at)":"[^"]*"/g, '"$1":""'),
  )

/** Where `npx attribution` runs as npm runs it. Elsewhere the program that it names runs, in a third of the time. */
const WITH_NPX = 'deploy/docs/intake/README.md'

/** What each block prints, run one after the other in one shell that ends at the first command that fails. */
async function outputsOf(blocks: readonly CodeBlock[], isWithNpx = true): Promise<string[]> {
  const outputs = mkdtempSync(join(tmpdir(), 'attribution-docs-'))
  const script = [
    'set -eo pipefail',
    'curl() { command curl --fail-with-body "$@"; }',
    ...(isWithNpx ? [] : ['npx() { shift; node deploy/setup/attribution.mjs "$@"; }']),
    textOf('README.md').match(/^export API_KEY=.*$/m)?.[0],
    ...blocks.map(({ code }, at) => `{ ${code.trim()}\n} > ${outputs}/${at}`),
  ].join('\n')
  const own = script
    .replaceAll('127.0.0.1:8080', `127.0.0.1:${port}`)
    .replaceAll('127.0.0.1:4318', `127.0.0.1:${intakePort}`)
  await run('bash', ['-c', own], { cwd: folder, env: localEnvironment() })
  return blocks.map((_, at) => readFileSync(join(outputs, String(at)), 'utf8'))
}

describe.sequential('the commands that documents print', () => {
  test('the commands of the README run as printed and print what it shows', async () => {
    const blocks = codeBlocks(textOf('README.md')).filter((block) => !isStart(block))
    const commands = blocks.filter(isRun)
    const shown = blocks.filter(({ language }) => language === 'json').map(({ code }) => JSON.parse(code) as unknown)

    // All but the last two need no record; these are repeated until it is there.
    const first = await outputsOf(commands.slice(0, -2))
    const second = await untilRecorded(() => outputsOf(commands.slice(-2)))

    expect(commands).toHaveLength(4)
    expect([...first, ...second].map((output) => withoutIdsAndTimes(JSON.parse(output)))).toEqual(
      shown.map(withoutIdsAndTimes),
    )
  })

  test.each(others)('the commands of %s run as printed and print what it shows', async (document) => {
    const blocks = codeBlocks(textOf(document)).filter(({ mark, language }) => language !== 'sh' || mark === '')
    const before = started.length
    for (const block of blocks.filter((block) => isRun(block) && isStart(block))) await start(block)
    const commands = blocks.filter((block) => isRun(block) && !isStart(block))

    const outputs = await outputsOf(commands, document === WITH_NPX)
    // It would take processor time from the commands of the next documents.
    for (const process of started.splice(before)) await process.kill('SIGTERM')

    commands.forEach((command, at) => {
      const next = blocks[blocks.indexOf(command) + 1]
      if (next?.language !== 'json' || next.mark !== '') return
      expect(withoutIdsAndTimes(JSON.parse(outputs[at] ?? ''))).toMatchObject(
        withoutIdsAndTimes(JSON.parse(next.code)) as object,
      )
    })
  })
})

async function untilRecorded(attempt: () => Promise<string[]>): Promise<string[]> {
  for (;;) {
    const outputs = await attempt().catch((cause: unknown) => {
      // Without a record the second command has no id to ask for.
      if (!(cause instanceof Error && 'stdout' in cause)) throw cause
      return undefined
    })
    if (outputs !== undefined && !outputs[0]?.includes('"data":[]')) return outputs
  }
}
