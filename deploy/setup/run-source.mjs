/**
 * Runs a program of the sources although nothing is compiled yet, or the sources do not compile: types are stripped, not
 * checked.
 */
import { existsSync, rmSync } from 'node:fs'
import { join, relative, sep } from 'node:path'
import { pathToFileURL } from 'node:url'
import { collect } from './commands.mjs'
import { SetUpError } from './steps.mjs'

/**
 * @param {string} root the project's folder
 * @param {string} program relative to it
 * @param {readonly string[]} [args]
 * @returns {Promise<{ output: string, sources: string[] }>} what it printed, and the files it consists of, relative to the root
 * @throws {SetUpError} when it fails
 */
export async function runSource(root, program, args = []) {
  // Here, since the set-up runs before the packages are installed.
  const { rolldown } = await import('rolldown')
  const folder = join(root, 'dist', '.programs')
  const name = program.split(sep).join('-').replace(/\.ts$/, '.js')
  const bundle = await rolldown({
    input: join(root, program),
    platform: 'node',
    // Packages are loaded from node_modules.
    external: /^[^./]/,
    tsconfig: false,
    plugins: [sourceUrls],
  })
  const { output } = await bundle.write({ dir: folder, format: 'esm', entryFileNames: name })
  await bundle.close()
  const ran = await collect(process.execPath, [join(folder, name), ...args], { cwd: root })
  for (const { fileName } of output) rmSync(join(folder, fileName))
  if (ran.code !== 0)
    throw new SetUpError(`${program} fails; correct the sources and start again\n${ran.output.trim()}`)
  const sources = output
    .flatMap((chunk) => (chunk.type === 'chunk' ? chunk.moduleIds : []))
    .map((id) => relative(root, id))
    .filter((source) => existsSync(join(root, source)))
  return { output: ran.output, sources }
}

/**
 * Lets a module find the data files beside its source.
 *
 * @type {import('rolldown').Plugin}
 */
const sourceUrls = {
  name: 'source-urls',
  transform: {
    filter: { id: /\.ts$/, code: /import\.meta\.url/ },
    handler: (code, id) => ({
      code: code.replaceAll('import.meta.url', JSON.stringify(pathToFileURL(id).href)),
      map: null,
    }),
  },
}
