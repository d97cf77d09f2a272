/**
 * `npm run client`: the JavaScript client library as a package of its own, packed in dist/client/ or the folder that is
 * named. Its version is that of the product, whose API it speaks.
 */
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { API_TYPES, ensureApiTypes } from './api-types.mjs'
import { collect } from './commands.mjs'
import { ensureDependencies } from './dependencies.mjs'
import { ROOT } from './setup.mjs'
import { runSetUpMain, SetUpError, step } from './steps.mjs'

const ENTRIES = { index: 'attribution', webhooks: 'webhooks' }
const SOURCES = join(ROOT, 'internal', 'sdk')
const PACKED = process.argv[2] ?? join(ROOT, 'dist', 'client')
const TARGET = join(PACKED, 'package')

await runSetUpMain(async () => {
  await ensureDependencies(ROOT)
  await step('packing the client library', async () => {
    await ensureApiTypes(ROOT)
    rmSync(TARGET, { recursive: true, force: true })
    await writeCode()
    await writeTypes()
    writeRest()
    await run('npm', ['pack', '--silent', '--pack-destination', PACKED], TARGET)
  })
})

/** The code is CommonJS, which both import: two copies in one process would each send at its end. */
async function writeCode() {
  const { rolldown } = await import('rolldown')
  const input = Object.fromEntries(Object.entries(ENTRIES).map(([name, file]) => [name, join(SOURCES, `${file}.ts`)]))
  const plugins = [{ name: 'tables', transform: withoutSources }]
  const built = await rolldown({ input, platform: 'neutral', external: /^node:/, tsconfig: false, plugins })
  const { output } = await built.write({ dir: join(TARGET, 'cjs'), format: 'cjs', minify: true })
  await built.close()
  mkdirSync(join(TARGET, 'esm'))
  for (const chunk of output) {
    if (chunk.type !== 'chunk') continue
    const names = chunk.exports.join(', ')
    const code = `import code from '../cjs/${chunk.fileName}'\n\nexport const { ${names} } = code\n`
    writeFileSync(join(TARGET, 'esm', chunk.fileName), code)
  }
}

/**
 * Where a row of a table is from is for its readers here: nothing reads it at run time.
 *
 * @param {string} code
 * @param {string} file
 */
function withoutSources(code, file) {
  return /(?:hosts|model-forms)\.ts$/.test(file) ? code.replaceAll(/\bsource: '[^'\n]*',?/g, '') : code
}

/** The declarations of the entries, and of what they name. */
async function writeTypes() {
  const emitted = join(TARGET, 'types')
  const entries = Object.values(ENTRIES).map((file) => join(SOURCES, `${file}.ts`))
  const compiler = join(ROOT, 'node_modules', 'typescript', 'bin', 'tsc')
  const options = '--ignoreConfig --declaration --emitDeclarationOnly --strict --skipLibCheck --target es2023'
  const modules = '--module nodenext --types node --lib es2023 --resolveJsonModule'
  const args = [compiler, ...`${options} ${modules}`.split(' '), '--outDir', emitted, '--rootDir', SOURCES, ...entries]
  await run(process.execPath, args, ROOT)
  for (const [file, text] of declarations(emitted)) {
    const name = file.replace(/^attribution\.d\.ts$/, 'index.d.ts')
    writeFileSync(join(TARGET, 'cjs', name), text.replaceAll('attribution-service/sdk/api', './api.js'))
  }
  // As the code is: what is imported is the CommonJS module.
  for (const name of Object.keys(ENTRIES))
    writeFileSync(join(TARGET, 'esm', `${name}.d.ts`), `export * from '../cjs/${name}.js'\n`)
  rmSync(emitted, { recursive: true })
  cpSync(join(ROOT, API_TYPES), join(TARGET, 'cjs', 'api.d.ts'))
}

/**
 * @param {string} folder
 * @returns {ReadonlyMap<string, string>} those that the entries name, by their files
 */
function declarations(folder) {
  const files = Object.values(ENTRIES).map((name) => `${name}.d.ts`)
  /** @type {Map<string, string>} */
  const found = new Map()
  for (let file = files.pop(); file !== undefined; file = files.pop()) {
    if (found.has(file)) continue
    const text = readFileSync(join(folder, file), 'utf8')
    found.set(file, text)
    for (const [, name] of text.matchAll(/from '\.\/([\w-]+)\.js'/g)) files.push(`${name}.d.ts`)
  }
  return found
}

function writeRest() {
  const templates = join(ROOT, 'deploy', 'clients', 'javascript')
  for (const file of ['README.md', 'CHANGELOG.md']) cpSync(join(templates, file), join(TARGET, file))
  // NOTICE names the sources of tables, none of which is in the client.
  cpSync(join(ROOT, 'LICENSE'), join(TARGET, 'LICENSE'))
  const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
  const described = JSON.parse(readFileSync(join(templates, 'package.json'), 'utf8'))
  writeFileSync(join(TARGET, 'package.json'), `${JSON.stringify({ ...described, version }, undefined, 2)}\n`)
  writeFileSync(join(TARGET, 'cjs', 'package.json'), '{"type":"commonjs"}\n')
}

/**
 * @param {string} command
 * @param {string[]} args
 * @param {string} cwd
 */
async function run(command, args, cwd) {
  const { code, output } = await collect(command, args, { cwd })
  if (code !== 0) throw new SetUpError(`the client library cannot be packed\n${output.trim()}`)
}
