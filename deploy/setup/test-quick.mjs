/**
 * `npm run test:quick`: of an uncommitted change, within 20 seconds: the compiler, the linter, the layers and
 * documents, and those unit tests that stand in the folder of a changed file or import it themselves. Builds nothing
 * and starts no process of the product.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { compiler } from './build.mjs'
import { collect, foreground } from './commands.mjs'
import { ensureDependencies } from './dependencies.mjs'
import { ROOT } from './setup.mjs'
import { runSetUpMain, SetUpError } from './steps.mjs'

await runSetUpMain(() => ensureDependencies(ROOT))

/** @param {readonly string[]} args */
async function git(...args) {
  const { code, output } = await collect('git', args, { cwd: ROOT })
  if (code !== 0) throw new SetUpError(`test:quick asks git what has changed: ${output.trim()}`)
  return output.split('\n').filter(Boolean)
}

/** @type {string[]} */
let changed = []
await runSetUpMain(async () => {
  const lists = [git('diff', '--name-only', 'HEAD'), git('ls-files', '--others', '--exclude-standard')]
  changed = (await Promise.all(lists)).flat()
})

const testFiles = readdirSync(join(ROOT, 'test'), { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.test.ts'))
  .map((file) => ({ file: `test/${file}`, text: readFileSync(join(ROOT, 'test', file), 'utf8') }))

/**
 * @param {string} source
 * @returns {(test: { file: string, text: string }) => boolean}
 */
function isFor(source) {
  const folder = source.startsWith('test/') ? dirname(source) : join('test', dirname(source))
  const imported = `/${source.replace(/^test\//, '').replace(/\.ts$/, '.js')}'`
  return ({ file, text }) => file === source || dirname(file) === folder || text.includes(imported)
}

const conditions = changed.map(isFor)
const tests = testFiles.filter((test) => conditions.some((isWanted) => isWanted(test))).map(({ file }) => file)
/** The layers, the documents and the lists that must be complete. */
const always = testFiles.filter(({ file }) => dirname(file) === 'test').map(({ file }) => file)

const program = (/** @type {string} */ path) => join(ROOT, 'node_modules', path)
const tsc = [...compiler(ROOT), '--noEmit', '-p']
const checks = [
  [...tsc, '.'],
  ...(changed.some((file) => file.startsWith('internal/console/app/')) ? [[...tsc, 'internal/console/app']] : []),
  [
    program('@biomejs/biome/bin/biome'),
    'ci',
    '--colors=off',
    '--no-errors-on-unmatched',
    ...changed.filter((file) => existsSync(join(ROOT, file))),
  ],
].map((args) => collect(process.execPath, args, { cwd: ROOT }))

const vitest = [program('vitest/vitest.mjs'), 'run', '--project', 'unit', ...new Set([...always, ...tests])]
let code = await foreground(process.execPath, vitest, { cwd: ROOT })
for (const check of await Promise.all(checks)) {
  if (check.code === 0) continue
  console.log(check.output)
  code = check.code
}
console.log(`Changed files: ${changed.length}. Everything that imports them: npm test -- --changed`)
process.exit(code)
