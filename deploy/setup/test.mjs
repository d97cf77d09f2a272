/**
 * `npm test`: the set-up with the linter over everything unless the arguments name files, then the tests of the inner
 * ring (`test/support/run/rings.ts`), or those of both with TEST_RING=all; arguments go to vitest. Files that failed
 * run a second time, alone. Ends with the exit code of the first that fails.
 */
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ensureChromium } from './chromium.mjs'
import { foreground } from './commands.mjs'
import { lastFullRun, reminder } from './last-full-run.mjs'
import { processorSeconds } from './processor-time.mjs'
import { ensurePromtool } from './promtool.mjs'
import { ROOT, setUp } from './setup.mjs'
import { runSetUpMain, together } from './steps.mjs'

const packages = join(ROOT, 'node_modules')
// Biome colours each letter by itself where it takes a log for a terminal.
const colors = process.stdout.isTTY ? [] : ['--colors=off']
const biome = [join(packages, '@biomejs', 'biome', 'bin', 'biome'), 'ci', ...colors, '.']
const args = process.argv.slice(2)
const vitest = [join(packages, 'vitest', 'vitest.mjs'), 'run', ...args]

const run = (/** @type {readonly string[]} */ command, env = process.env) =>
  foreground(process.execPath, command, { cwd: ROOT, env })

/** More failed files than this are no accident. */
const REPEATED_FILES_MAX = 5

let linted = 0
// Of a few files the result is wanted at once.
const lint = async () => {
  if (!args.some((arg) => arg.includes('/'))) linted = await run(biome)
}
// They need the packages only.
const beside = () => together([lint(), ensureChromium(ROOT)])
await runSetUpMain(async () => void (await together([setUp({ beside }), ensurePromtool(ROOT)])))
if (linted !== 0) process.exit(linted)

const notes = mkdtempSync(join(tmpdir(), 'attribution-failed-'))
const failedFiles = join(notes, 'files')
// Which tests a change reaches is known from imports of sources.
const isOfChange = args.some((arg) => arg.startsWith('--changed'))
// Not ATTRIBUTION_…: what the tests start would name them as unknown variables.
const env = { ...process.env, ...(!isOfChange && { TEST_THE_BUILD: '1' }) }
const sharedSeconds = join(notes, 'shared-seconds')
let code = await run(vitest, { ...env, FAILED_TEST_FILES: failedFiles, SHARED_PROCESSOR_SECONDS: sharedSeconds })
// Interrupted, or failed outside a test: nothing is noted.
const failed = existsSync(failedFiles) ? readFileSync(failedFiles, 'utf8').split('\n').filter(Boolean) : []
const shared = existsSync(sharedSeconds) ? Number(readFileSync(sharedSeconds, 'utf8')) : 0
rmSync(notes, { recursive: true })
if (code === 1 && failed.length > 0 && failed.length <= REPEATED_FILES_MAX) {
  console.log(`\nThese files failed; they run again, alone:\n${failed.join('\n')}\n`)
  code = await run([...vitest, '--maxWorkers=1', ...failed], env)
  if (code === 0) console.log(failed.map((file) => `FLAKY  ${file} (the whole file)`).join('\n'))
}
const total = Math.round(processorSeconds() + shared)
if (total > 0) console.log(`\nProcessor time, with the set-up and what all workers share: ${total} s`)
const reminded = args.length === 0 && env.TEST_RING !== 'all' ? reminder(lastFullRun(ROOT), new Date()) : undefined
if (reminded !== undefined) console.log(reminded)
process.exit(code)
