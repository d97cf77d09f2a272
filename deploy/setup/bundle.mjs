/**
 * Bundles in dist/: the main of each role, and the script of each worker thread, as one file that replaces what the
 * compiler wrote. Loading the several hundred modules of a role took half a second of processor time at each start.
 *
 * Everything else stays as the compiler wrote it, for tests and benchmarks that import single modules.
 */
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { dirname, join, relative, sep } from 'node:path'
import { fileURLToPath } from 'node:url'

/**
 * Packages that are loaded from node_modules: those with native code, and large ones that are imported only where they
 * are used.
 */
const EXTERNAL = ['ffi-rs', /^chdb(\/|$)/, /^@aws-sdk\//, /^@opentelemetry\//]

/** Records the sources and outputs of each bundle, so that an unchanged role is not bundled again. */
const RECORD = '.bundles.json'

/**
 * @typedef {object} Bundled
 * @property {string} settings of the bundler
 * @property {Record<string, string>} sources stamps by path, relative to the project
 * @property {Record<string, string>} outputs stamps by path, relative to dist/
 */

/**
 * @param {string} source relative to the project
 * @param {string} code
 * @returns {boolean}
 */
export const isEntry = (source, code) =>
  /^cmd\/[^/]+\/main\.ts$/.test(source.split(sep).join('/')) ||
  (source.startsWith('internal') && /\bparentPort\b.*from 'node:worker_threads'/.test(code))

/**
 * @param {string} root the project's folder
 * @param {readonly string[]} sources relative to it
 */
export async function ensureBundles(root, sources) {
  const entries = sources.filter((source) => isEntry(source, readFileSync(join(root, source), 'utf8')))
  const settings = [fileURLToPath(import.meta.url), join(root, 'package-lock.json')].map(stampOf).join()
  const before = readRecord(root)
  /** @type {Record<string, Bundled>} */
  const record = {}
  const stale = []
  for (const entry of entries) {
    const known = before[entry]
    if (known !== undefined && known.settings === settings && isCurrent(root, known)) record[entry] = known
    else stale.push(entry)
  }
  const work = async () => {
    for (let entry = stale.pop(); entry !== undefined; entry = stale.pop()) {
      record[entry] = { settings, ...(await bundle(root, entry)) }
    }
  }
  await Promise.all(Array.from({ length: availableParallelism() }, work))
  writeFileSync(join(root, 'dist', RECORD), JSON.stringify(record))
}

/**
 * @param {string} root the project's folder
 * @returns {string[]} the files of all bundles, relative to dist/
 */
export const bundledOutputs = (root) => Object.values(readRecord(root)).flatMap(({ outputs }) => Object.keys(outputs))

/**
 * @param {string} root
 * @returns {Record<string, Bundled>}
 */
function readRecord(root) {
  const file = join(root, 'dist', RECORD)
  return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : {}
}

/**
 * @param {string} root
 * @param {Bundled} bundled
 */
function isCurrent(root, { sources, outputs }) {
  const isSame = (/** @type {string} */ folder, /** @type {Record<string, string>} */ stamps) =>
    Object.entries(stamps).every(([file, stamp]) => stampOf(join(folder, file)) === stamp)
  return isSame(root, sources) && isSame(join(root, 'dist'), outputs)
}

/** @param {string} file */
function stampOf(file) {
  const stat = statSync(file, { throwIfNoEntry: false })
  return stat === undefined ? '' : `${stat.size} ${stat.mtimeMs}`
}

/**
 * @param {string} root
 * @param {string} entry
 */
async function bundle(root, entry) {
  // Here, since the set-up runs before the packages are installed.
  const { rolldown } = await import('rolldown')
  const folder = dirname(join('dist', entry))
  const built = await rolldown({
    input: { main: join(root, entry) },
    platform: 'node',
    external: EXTERNAL,
    tsconfig: false,
    plugins: [ownUrls(root, entry), oneByteText],
  })
  const { output } = await built.write({
    dir: join(root, folder),
    format: 'esm',
    sourcemap: true,
    // A process holds the text of its bundle for as long as it runs.
    comments: { jsdoc: false },
    entryFileNames: basenameOf(entry),
    chunkFileNames: `${basenameOf(entry, '')}.[name].js`,
  })
  await built.close()
  const sources = output
    .flatMap((chunk) => (chunk.type === 'chunk' ? chunk.moduleIds : []))
    .map((id) => relative(root, id))
    .filter((source) => !source.startsWith('..') && !source.includes('node_modules') && existsSync(join(root, source)))
  const files = output.map(({ fileName }) => relative('dist', join(folder, fileName)))
  const stamps = (/** @type {string} */ base, /** @type {string[]} */ names) =>
    Object.fromEntries(names.map((name) => [name, stampOf(join(base, name))]))
  return { sources: stamps(root, sources), outputs: stamps(join(root, 'dist'), files) }
}

const basenameOf = (/** @type {string} */ entry, extension = '.js') =>
  /** @type {string} */ (entry.split(sep).at(-1)).replace(/\.ts$/, extension)

/**
 * Lets a module in a bundle find the files beside it in dist/: data, and the scripts of its worker threads.
 *
 * @param {string} root
 * @param {string} entry
 * @returns {import('rolldown').Plugin}
 */
const ownUrls = (root, entry) => ({
  name: 'own-urls',
  transform: {
    filter: { id: /\.ts$/, code: /import\.meta\.url/ },
    handler(code, id) {
      const path = relative(dirname(join(root, entry)), id)
        .split(sep)
        .join('/')
        .replace(/\.ts$/, '.js')
      const url = `new URL(${JSON.stringify(path.startsWith('.') ? path : `./${path}`)}, import.meta.url).href`
      return { code: code.replaceAll('import.meta.url', url), map: null }
    },
  },
})

/**
 * Escapes what is beyond Latin-1: one such character, and V8 holds the whole text of a bundle with two bytes for each.
 *
 * @type {import('rolldown').Plugin}
 */
const oneByteText = {
  name: 'one-byte-text',
  generateBundle(_options, bundle) {
    for (const output of Object.values(bundle)) {
      if (output.type !== 'chunk') continue
      output.code = output.code.replace(
        /[^\0-\xff]/g,
        (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
      )
    }
  },
}
