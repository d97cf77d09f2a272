import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { bundledOutputs, ensureBundles, isEntry } from '../../../deploy/setup/bundle.mjs'
import { ROOT } from '../../../deploy/setup/setup.mjs'

let project: string
const MAIN = 'cmd/one/main.ts'
const OTHER_MAIN = 'cmd/other/main.ts'
const SOURCES = [MAIN, OTHER_MAIN, 'internal/facts/read.ts', 'internal/facts/lazy.ts']
const inDist = (file: string): string => join(project, 'dist', file)
const write = async (file: string, text: string): Promise<void> => {
  await mkdir(dirname(join(project, file)), { recursive: true })
  await writeFile(join(project, file), text)
}
const run = (): string => execFileSync(process.execPath, [inDist('cmd/one/main.js')], { encoding: 'utf8' }).trim()

beforeEach(async () => {
  project = await mkdtemp(join(tmpdir(), 'bundle-'))
  await symlink(join(ROOT, 'node_modules'), join(project, 'node_modules'))
  await write('package.json', '{"type":"module"}')
  await write('package-lock.json', '{}')
  await write('dist/internal/facts/facts.data.json', '{"usd":"1"}')
  await write(
    'internal/facts/read.ts',
    `import { readFileSync } from 'node:fs'
     export const facts = (): string => readFileSync(new URL('./facts.data.json', import.meta.url), 'utf8')\n`,
  )
  await write('internal/facts/lazy.ts', "export const lazy = 'lazy'\n")
  await write(
    MAIN,
    `import { facts } from '../../internal/facts/read.js'
     const { lazy } = await import('../../internal/facts/lazy.js')
     console.log(facts(), lazy)\n`,
  )
  await write(OTHER_MAIN, "console.log('other')\n")
})

afterEach(() => rm(project, { recursive: true, force: true }))

test('a bundled main finds the data files of its modules in dist/, and its lazy imports', async () => {
  await ensureBundles(project, SOURCES)

  expect(run()).toBe('{"usd":"1"} lazy')
  expect(existsSync(inDist('cmd/one/main.js.map'))).toBe(true)
  for (const output of bundledOutputs(project)) expect(existsSync(inDist(output))).toBe(true)
})

test('a bundle has neither docstrings nor a character beyond Latin-1, and says the same', async () => {
  await write(
    'internal/facts/lazy.ts',
    "/** Of \u2192. */\nexport const lazy = `\u2192 \u{1f600} \u00b5 ` + /[\u{1f600}]/u.test('\u{1f600}')\n",
  )

  await ensureBundles(project, SOURCES)

  expect(run()).toBe('{"usd":"1"} \u2192 \u{1f600} \u00b5 true')
  const scripts = bundledOutputs(project).filter((output) => output.endsWith('.js'))
  const texts = await Promise.all(scripts.map((output) => readFile(inDist(output), 'utf8')))
  expect(texts.join('')).not.toMatch(/[^\0-\xff]|\/\*\*/)
})

test('only the bundles of changed sources are built again', async () => {
  await ensureBundles(project, SOURCES)
  const builtAt = async (main: string): Promise<number> => (await stat(inDist(main))).mtimeMs
  const before = await builtAt('cmd/other/main.js')
  await write('internal/facts/lazy.ts', "export const lazy = 'changed'\n")

  await ensureBundles(project, SOURCES)

  expect(run()).toBe('{"usd":"1"} changed')
  expect(await builtAt('cmd/other/main.js')).toBe(before)
})

test('a bundle that the compiler has overwritten is built again', async () => {
  await ensureBundles(project, SOURCES)
  await write('dist/cmd/one/main.js', "import '../../internal/missing.js'\n")

  await ensureBundles(project, SOURCES)

  expect(run()).toBe('{"usd":"1"} lazy')
  expect(await readFile(inDist('cmd/one/main.js'), 'utf8')).not.toContain('missing.js')
})

test('mains of roles and scripts of worker threads are bundled, and no other modules', () => {
  const thread = "import { parentPort, workerData } from 'node:worker_threads'\n"

  expect(isEntry('cmd/gateway/main.ts', '')).toBe(true)
  expect(isEntry('internal/reports/worker.ts', thread)).toBe(true)
  expect(isEntry('internal/exports/export-worker.ts', '')).toBe(false)
  expect(isEntry('cmd/gateway/routes.ts', '')).toBe(false)
  expect(isEntry('test/internal/reports/thread.test.ts', thread)).toBe(false)
})
