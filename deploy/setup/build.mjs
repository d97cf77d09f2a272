/**
 * dist/: the compiled sources, the bundles of the roles, the console, the data files, and no outputs of deleted
 * sources.
 */
import { createHash } from 'node:crypto'
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { availableParallelism } from 'node:os'
import { dirname, join, sep } from 'node:path'
import { areApiTypesCurrent, ensureApiTypes } from './api-types.mjs'
import { bundledOutputs, ensureBundles } from './bundle.mjs'
import { collect } from './commands.mjs'
import { CONSOLE_APP, ensureConsole } from './console.mjs'
import { SetUpError, step } from './steps.mjs'

/** The folders of tsconfig.json's `include`. */
const SOURCE_FOLDERS = ['cmd', 'internal', 'streams', 'bench', 'test']

/**
 * The file in dist/ for a source; undefined for sources without one.
 *
 * @param {string} source relative to the project
 * @returns {string | undefined} relative to dist/
 */
export function outputOf(source) {
  // Scripts of a browser are bundled only.
  if (source.startsWith(join(CONSOLE_APP, sep))) return undefined
  if (source.endsWith('.d.ts')) return undefined
  if (source.endsWith('.ts')) return source.replace(/\.ts$/, '.js')
  return source.endsWith('.data.json') ? source : undefined
}

/** @param {string} root the project's folder */
export async function ensureBuild(root) {
  const dist = join(root, 'dist')
  const sources = SOURCE_FOLDERS.flatMap((folder) => filesUnder(root, folder))
  const outputs = new Map(sources.flatMap((source) => pairOf(source)))
  removeStale(dist, new Set([...outputs.keys(), ...bundledOutputs(root)]))

  const stamp = join(dist, '.built')
  const wanted = fingerprint(root, ['tsconfig.json', 'package-lock.json', ...outputs.values()])
  const isComplete = [...outputs.keys()].every((output) => existsSync(join(dist, output)))
  const isCurrent = isComplete && areApiTypesCurrent(root)
  if (isCurrent && existsSync(stamp) && readFileSync(stamp, 'utf8') === wanted) return ensureConsole(root)

  await step('building', async () => {
    // The compiler trusts its record and would not write a deleted output again.
    if (!isComplete) rmSync(join(dist, '.tsbuildinfo'), { force: true })
    rmSync(stamp, { force: true })
    await ensureApiTypes(root)
    const { code, output } = await collect(process.execPath, [...compiler(root), '-p', root], { cwd: root })
    if (code !== 0) throw new SetUpError(`the sources do not compile; correct them and start again\n${output.trim()}`)
    for (const [target, source] of outputs) {
      if (!source.endsWith('.data.json')) continue
      mkdirSync(dirname(join(dist, target)), { recursive: true })
      copyFileSync(join(root, source), join(dist, target))
    }
    await ensureBundles(root, sources)
    await ensureConsole(root)
    writeFileSync(stamp, wanted)
  })
}

/**
 * Each of the compiler's checkers works out the types that it meets by itself. On two processors its default of four
 * takes 43 s of processor time, one takes 27 s, and less wall time.
 */
const CHECKERS = Math.min(4, Math.ceil(availableParallelism() / 2))

/**
 * @param {string} root the project's folder
 * @returns {string[]} a script and its first arguments
 */
export const compiler = (root) => [
  join(root, 'node_modules', 'typescript', 'bin', 'tsc'),
  '--checkers',
  String(CHECKERS),
]

/**
 * @param {string} source
 * @returns {[string, string][]}
 */
function pairOf(source) {
  const output = outputOf(source)
  return output === undefined ? [] : [[output, source]]
}

/**
 * @param {string} dist
 * @param {ReadonlySet<string>} wanted
 */
function removeStale(dist, wanted) {
  for (const folder of SOURCE_FOLDERS) {
    for (const file of filesUnder(dist, folder)) {
      if (!wanted.has(file.replace(/\.map$/, ''))) rmSync(join(dist, file))
    }
  }
}

/**
 * @param {string} root
 * @param {string} folder
 * @returns {string[]} paths relative to the root
 */
function filesUnder(root, folder) {
  if (!existsSync(join(root, folder))) return []
  return readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) return entry.name === 'node_modules' ? [] : filesUnder(root, path)
    return entry.isFile() ? [path] : []
  })
}

/**
 * Changes with every file that is added, removed or written, without reading them.
 *
 * @param {string} root
 * @param {readonly string[]} files
 * @returns {string}
 */
function fingerprint(root, files) {
  const hash = createHash('sha256')
  for (const file of files) {
    const { size, mtimeMs } = statSync(join(root, file))
    hash.update(`${file}\0${size}\0${mtimeMs}\n`)
  }
  return hash.digest('hex')
}
