/**
 * nginx, in front of two gateways in a test: the machine's, or that of Debian's package (0.5 MB to fetch).
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
export async function ensureNginx(root) {
  const into = join(root, '.local')
  const folders = [...(process.env.PATH ?? '').split(delimiter).filter((folder) => folder !== ''), '/usr/sbin']
  const installed = folders.map((folder) => join(folder, 'nginx')).find((path) => existsSync(path))
  if (installed !== undefined) return installed
  const program = join(into, 'nginx', 'usr', 'sbin', 'nginx')
  if (!existsSync(program)) {
    await step('fetching nginx from Debian (about 0.5 MB)', () => fetchDebianPackage({ name: 'nginx', into }))
  }
  return program
}
