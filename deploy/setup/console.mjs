/**
 * dist/console/: the page for people, from `internal/console/app/`. Scripts are bundled and split where they are
 * imported lazily; every file but the document has a hash of its content in its name, and stands there plain, as br and
 * as gz.
 */
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'

/** Where its sources are, relative to the project. */
export const CONSOLE_APP = join('internal', 'console', 'app')

/** Records the sources of the last build by their stamps, so that an unchanged console is not built again. */
const RECORD = join('dist', '.console.json')

/** @param {string} root the project's folder */
export async function ensureConsole(root) {
  const app = join(root, CONSOLE_APP)
  if (!existsSync(app)) return
  const files = readdirSync(app, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
  const own = [fileURLToPath(import.meta.url), join(root, 'package-lock.json'), ...files]
  const stampsOf = (/** @type {readonly string[]} */ paths) =>
    Object.fromEntries(paths.map((path) => [relative(root, path), stampOf(path)]).sort())
  const record = join(root, RECORD)
  const known = existsSync(record) ? JSON.parse(readFileSync(record, 'utf8')) : { imported: [] }
  const imported = known.imported.map((/** @type {string} */ path) => join(root, path))
  if (JSON.stringify(known.stamps) === JSON.stringify(stampsOf([...own, ...imported]))) return

  rmSync(record, { force: true })
  const modules = (await build(root)).filter((path) => path.startsWith(root) && existsSync(path))
  const others = modules.filter((path) => !path.includes('node_modules') && !own.includes(path))
  writeFileSync(
    record,
    JSON.stringify({ imported: others.map((path) => relative(root, path)), stamps: stampsOf([...own, ...others]) }),
  )
}

/** @param {string} file */
function stampOf(file) {
  const stat = statSync(file, { throwIfNoEntry: false })
  return stat === undefined ? '' : `${stat.size} ${stat.mtimeMs}`
}

/**
 * @param {string} root
 * @returns {Promise<string[]>} the paths of all modules
 */
async function build(root) {
  // Here, since the set-up runs before the packages are installed.
  const { rolldown } = await import('rolldown')
  const app = join(root, CONSOLE_APP)
  const out = join(root, 'dist', 'console')
  const assets = join(out, 'assets')
  rmSync(out, { recursive: true, force: true })
  mkdirSync(assets, { recursive: true })

  const built = await rolldown({
    input: { main: join(app, 'main.tsx') },
    platform: 'browser',
    tsconfig: false,
    resolve: { extensionAlias: { '.js': ['.tsx', '.ts', '.js'] } },
    transform: { target: 'es2022', jsx: { runtime: 'automatic', importSource: 'preact' } },
  })
  const { output } = await built.write({
    dir: assets,
    format: 'esm',
    minify: true,
    entryFileNames: '[name]-[hash].js',
    chunkFileNames: '[name]-[hash].js',
  })
  await built.close()
  const main = output.find((chunk) => chunk.type === 'chunk' && chunk.isEntry)?.fileName ?? ''

  const styles = join(app, 'styles')
  const sheets = readdirSync(styles).sort()
  const style = writeHashed(
    assets,
    'style.css',
    sheets.map((file) => readFileSync(join(styles, file), 'utf8')).join(''),
  )
  const icon = writeHashed(assets, 'icon.svg', readFileSync(join(app, 'icon.svg'), 'utf8'))
  const names = { main, style, icon }
  const document = readFileSync(join(app, 'index.html'), 'utf8').replace(
    /%(main|style|icon)%/g,
    (_, /** @type {keyof typeof names} */ name) => `/console/assets/${names[name]}`,
  )
  for (const file of readdirSync(assets)) compress(join(assets, file))
  writeFileSync(join(out, 'index.html'), document)
  return output.flatMap((chunk) => (chunk.type === 'chunk' ? chunk.moduleIds : []))
}

/**
 * @param {string} folder
 * @param {string} name
 * @param {string} text
 */
function writeHashed(folder, name, text) {
  const hash = createHash('sha256').update(text).digest('base64url').slice(0, 8)
  const file = name.replace('.', `-${hash}.`)
  writeFileSync(join(folder, file), text)
  return file
}

/** @param {string} file */
function compress(file) {
  const bytes = readFileSync(file)
  const params = { [constants.BROTLI_PARAM_QUALITY]: 11 }
  writeFileSync(`${file}.br`, brotliCompressSync(bytes, { params }))
  writeFileSync(`${file}.gz`, gzipSync(bytes, { level: 9 }))
}
