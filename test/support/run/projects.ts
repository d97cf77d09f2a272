/**
 * The projects of the suite. They share one queue (`sequence.ts`): a free worker runs the next file of any
 * project, so that no worker is idle before the end.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('../../..', import.meta.url))

/** In the order in which they run. */
export const PROJECTS = ['faults', 'own-instance', 'engine', 'product', 'conformance', 'unit'] as const
export type Project = (typeof PROJECTS)[number]

/** The projects of the whole product: each is a folder of `test/`. */
const FOLDERS = ['faults', 'own-instance', 'product', 'conformance'] as const

/**
 * The project of a test file: the folder's; elsewhere `unit`, unless the file starts processes by itself or through
 * `support/`: then `product` for the contract tests, and `engine` (a store, a broker, a command) for the others.
 *
 * @param file relative to the root, `test/internal/ids/ids.test.ts`
 */
export function projectOf(file: string): Project {
  const folder = FOLDERS.find((name) => file.startsWith(`test/${name}/`))
  if (folder !== undefined) return folder
  if (!startsProcesses(file)) return 'unit'
  return file.startsWith('test/contract/') ? 'product' : 'engine'
}

export const testFiles = (): string[] =>
  readdirSync(join(ROOT, 'test'), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.test.ts'))
    .map((file) => `test/${file}`)
    .sort()

const IMPORT = /^(?:import|export)\s+(?!type\b)(?:[\w$*\s{},]*?\s*from\s*)?['"]([^'"]+)['"]/gm
const known = new Map<string, boolean>()

/** Whether a file of `test/` imports `node:child_process` by value, directly or through other files of `test/`. */
function startsProcesses(file: string): boolean {
  const found = known.get(file)
  if (found !== undefined) return found
  known.set(file, false)
  const path = join(ROOT, file)
  const starts =
    existsSync(path) &&
    [...readFileSync(path, 'utf8').matchAll(IMPORT)].some(([, specifier = '']) => {
      if (specifier === 'node:child_process') return true
      if (!specifier.startsWith('.')) return false
      const imported = relative(ROOT, join(dirname(path), specifier.replace(/\.js$/, '.ts')))
      return imported.startsWith('test/') && startsProcesses(imported)
    })
  known.set(file, starts)
  return starts
}

export const SECONDS_FILE = join(ROOT, 'test/support/run/seconds.data.json')
const seconds = JSON.parse(readFileSync(SECONDS_FILE, 'utf8')) as Readonly<Record<string, number>>

/** The last recorded duration of a file in seconds. Durations under two seconds are not recorded. */
export const secondsOf = (file: string): number => seconds[file] ?? 1
