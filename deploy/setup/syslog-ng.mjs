/**
 * syslog-ng with its HTTP destination, which ships lines in a test: the machine's, or those of Debian's packages (2 MB
 * to fetch).
 */
import { existsSync, readdirSync } from 'node:fs'
import { basename, join } from 'node:path'
import { fetchDebianPackage } from './debian-package.mjs'
import { step } from './steps.mjs'

/** Besides what Debian's own curl needs. */
const LIBRARIES = ['libivykis0', 'libnet1', 'libpcre3', 'libwrap0']

/**
 * @param {string} root the project's folder; the packages are unpacked into `.local/` there
 * @returns {Promise<{ program: string, args: string[], env: Record<string, string> }>} what starts it
 * @throws {import('./steps.mjs').SetUpError} when it cannot be fetched here
 */
export async function ensureSyslogNg(root) {
  const isInstalled = modulesIn('/').some((folder) => existsSync(join(folder, 'libhttp.so')))
  if (isInstalled) return { program: '/usr/sbin/syslog-ng', args: [], env: {} }
  const name = 'syslog-ng-core'
  const folder = join(root, '.local', name)
  if (!existsSync(folder)) {
    await step('fetching syslog-ng from Debian (about 2 MB)', () =>
      fetchDebianPackage({ name, also: ['syslog-ng-mod-http', ...LIBRARIES], into: join(root, '.local') }),
    )
  }
  const libraries = ['lib', join('usr', 'lib')].flatMap((name) => foldersIn(join(folder, name)))
  return {
    program: join(folder, 'usr', 'sbin', 'syslog-ng'),
    args: [`--module-path=${modulesIn(folder).join(':')}`],
    env: { LD_LIBRARY_PATH: libraries.join(':') },
  }
}

/** One folder per version. @param {string} folder */
const modulesIn = (folder) =>
  foldersIn(join(folder, 'usr', 'lib', 'syslog-ng')).filter((path) => /^\d/.test(basename(path)))

/** @param {string} folder @returns {string[]} */
function foldersIn(folder) {
  if (!existsSync(folder)) return []
  const entries = readdirSync(folder, { withFileTypes: true })
  return entries.filter((entry) => entry.isDirectory()).map((entry) => join(folder, entry.name))
}
