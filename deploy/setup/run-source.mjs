/**
 * Runs a program of the sources although nothing is compiled yet, or the sources do not compile: types are stripped,
 * not checked.
 */
import { existsSync, rmSync } from 'node:fs'
import { join, relative } from 'node:path'
import { pathToFileURL } from 'node:url'
import { collect } from './commands.mjs'
import { SetUpError } from './steps.mjs'

/**
 * @param {string} root the project's folder
 * @param {string} program relative to it
 * @param {readonly string[]} [args]
 * @returns {Promise<string[]>} the files that it consists of, relative to the root
 * @throws {SetUpError} when it fails
 */
export async function runSource(root, program, args = []) {
  const folder = join(root, 'dist', '.programs')
  const chunks = await bundled(root, program, folder).catch((cause) => {
    throw new SetUpError(`the sources do not compile; correct them and start again\n${cause.message}`)
  })
  const [main] = chunks
  const ran = await collect(process.execPath, [join(folder, main?.fileName ?? ''), ...args], { cwd: root })
  for (const { fileName } of chunks) rmSync(join(folder, fileName))
  if (ran.code !== 0)
    throw new SetUpError(`${program} fails; correct the sources and start again\n${ran.output.trim()}`)
  return chunks
    .flatMap((chunk) => (chunk.type === 'chunk' ? chunk.moduleIds : []))
    .map((id) => relative(root, id))
    .filter((source) => existsSync(join(root, source)))
}

/**
 * @param {string} root
 * @param {string} program
 * @param {string} folder
 */
async function bundled(root, program, folder) {
  // Here, since the set-up runs before the packages are installed.
  const { rolldown } = await import('rolldown')
  const bundle = await rolldown({
    input: join(root, program),
    platform: 'node',
    // Packages are loaded from node_modules.
    external: /^[^./]/,
    tsconfig: false,
    plugins: [sourceUrls],
  })
  // The entry comes first.
  const { output } = await bundle.write({ dir: folder, format: 'esm' })
  await bundle.close()
  return output
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
