/**
 * promtool, which checks metrics and alerts in tests: the machine's, or that of Debian's package prometheus (20 MB to
 * fetch).
 */
import { existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { fetchDebianPackage } from './debian-package.mjs'
import { step } from './steps.mjs'

/**
 * @param {string} root the project's folder; it is unpacked into `.local/` there
 * @returns {Promise<string>} the path of the program
 * @throws {import('./steps.mjs').SetUpError} when it cannot be fetched here
 */
export async function ensurePromtool(root) {
  const into = join(root, '.local')
  const folders = (process.env.PATH ?? '').split(delimiter).filter((folder) => folder !== '')
  const installed = folders.map((folder) => join(folder, 'promtool')).find((path) => existsSync(path))
  if (installed !== undefined) return installed
  const program = join(into, 'prometheus', 'usr', 'bin', 'promtool')
  if (!existsSync(program)) {
    await step('fetching promtool from Debian (about 20 MB)', () => fetchDebianPackage({ name: 'prometheus', into }))
  }
  return program
}
