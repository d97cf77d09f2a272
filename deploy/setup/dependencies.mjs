/** The npm packages: there are exactly those of package-lock.json, or they are installed. */
import { accessSync, constants, existsSync, lstatSync, mkdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { collect } from './commands.mjs'
import { SetUpError, step } from './steps.mjs'

/**
 * npm notes in `node_modules/.package-lock.json` what it has installed, and does so last: the note is the stamp, and
 * it also holds after somebody's own `npm install`.
 *
 * @param {string} lockText package-lock.json
 * @param {string} noteText npm's note
 * @returns {boolean}
 */
export function isInstalled(lockText, noteText) {
  const locked = packagesOf(lockText)
  const installed = packagesOf(noteText)
  if (locked === undefined || installed === undefined) return false
  for (const [path, wanted] of Object.entries(locked)) {
    if (path === '') continue
    const there = installed[path]
    // Optional packages of other platforms are in the lock and never in the note.
    if (there === undefined ? !wanted.optional : !isSame(there, wanted)) return false
  }
  // Nor is every optional package in the lock: see `isPartial`.
  return Object.entries(installed).every(([path, there]) => path in locked || there.optional === true)
}

/**
 * Whether the lock lacks packages that other packages want for some platform. A registry mirror that has them for one
 * platform only makes such a lock; everything else in it counts, but `npm ci` refuses it as a whole.
 *
 * @param {string} lockText package-lock.json
 * @returns {boolean}
 */
export function isPartial(lockText) {
  const locked = packagesOf(lockText) ?? {}
  const names = new Set(Object.keys(locked).map((path) => path.replace(/^.*node_modules\//, '')))
  return Object.values(locked).some(({ optionalDependencies = {} }) =>
    Object.keys(optionalDependencies).some((name) => !names.has(name)),
  )
}

const isSame = (/** @type {Package} */ one, /** @type {Package} */ other) =>
  one.version === other.version && one.integrity === other.integrity

/** @typedef {{ version?: string, integrity?: string, optional?: boolean, optionalDependencies?: Record<string, string> }} Package */

/**
 * @param {string} text
 * @returns {Record<string, Package> | undefined}
 */
function packagesOf(text) {
  try {
    return JSON.parse(text).packages
  } catch {
    return undefined
  }
}

/** @param {string} root the project's folder */
export async function ensureDependencies(root) {
  const note = join(root, 'node_modules', '.package-lock.json')
  const lockText = readFileSync(join(root, 'package-lock.json'), 'utf8')
  if (existsSync(note) && isInstalled(lockText, readFileSync(note, 'utf8'))) return
  // `install --no-save` takes the same versions, checks the same hashes, and leaves the lock alone.
  const how = isPartial(lockText) ? ['install', '--no-save'] : ['ci']
  await step('installing the dependencies (0.2 GB to fetch)', () => install(root, how))
}

/**
 * Links the package's own program among those of its dependencies, so that npx finds it without a copy in npm's cache.
 *
 * @param {string} root the project's folder
 */
export function linkProgram(root) {
  const link = join(root, 'node_modules', '.bin', 'attribution')
  if (lstatSync(link, { throwIfNoEntry: false }) !== undefined) return
  mkdirSync(dirname(link), { recursive: true })
  symlinkSync(join('..', '..', 'deploy', 'setup', 'attribution.mjs'), link)
}

/** The package with the engine's library is 0.5 GB, and npm goes on without it when it cannot be fetched. */
export function requireEngine(/** @type {string} */ root) {
  const platform = `${process.platform}-${process.arch}`
  const folders = [`lib-${platform}`, `lib-${platform}-gnu`].map((name) => join(root, 'node_modules', '@chdb', name))
  if (folders.some((folder) => existsSync(folder))) return
  throw new SetUpError(
    `the embedded engine (npm package chdb) is not installed for ${platform}; run "npm install --include=optional", ` +
      'or set ATTRIBUTION_STORE_URL to a ClickHouse server',
  )
}

/**
 * @param {string} root
 * @param {readonly string[]} how npm's command
 */
async function install(root, how) {
  const npm = process.env.npm_execpath
  const [command, ...first] = npm === undefined ? ['npm'] : [process.execPath, npm]
  // npm's own pauses between attempts, 10 s and more for each package, would make minutes of a missing network.
  const attempts = ['--fetch-retries=2', '--fetch-retry-mintimeout=500', '--fetch-retry-maxtimeout=3000']
  const ownCache = hasNpmCache() ? undefined : join(root, '.local', 'npm-cache')
  const cache = ownCache === undefined ? [] : ['--cache', ownCache]
  const everything = ['--include=dev', '--include=optional', '--no-progress']
  const args = [...first, ...how, ...everything, ...attempts, ...cache]
  const { code, output } = await collect(command, args, { cwd: root })
  if (ownCache !== undefined) rmSync(ownCache, { recursive: true, force: true })
  if (code !== 0) throw new SetUpError(explainNpm(output))
}

/** An account without a home has none. */
function hasNpmCache() {
  const cache = process.env.npm_config_cache ?? join(process.env.HOME ?? '/nonexistent', '.npm')
  try {
    mkdirSync(cache, { recursive: true })
    accessSync(cache, constants.W_OK)
    return true
  } catch {
    return false
  }
}

const UNREACHABLE = new Set([
  'ENOTFOUND',
  'EAI_AGAIN',
  'ECONNREFUSED',
  'ECONNRESET',
  'ETIMEDOUT',
  'ERR_SOCKET_TIMEOUT',
  'ENETUNREACH',
  'EHOSTUNREACH',
])

/**
 * @param {string} output of a failed npm
 * @returns {string} one line
 */
export function explainNpm(output) {
  const errors = output.split('\n').flatMap((line) => /^npm (?:error|ERR!) (.+)/.exec(line)?.[1] ?? [])
  const code = errors.flatMap((line) => /^code (\S+)/.exec(line)?.[1] ?? [])[0]
  if (code !== undefined && UNREACHABLE.has(code)) {
    return `npm cannot reach its registry (${code}); check the network, or "npm config get registry" and the proxy settings`
  }
  if (code === 'EACCES' || code === 'EPERM' || code === 'EROFS') {
    return `npm cannot write (${code}); make this folder yours, or copy the project to one that is`
  }
  if (code === 'ENOSPC') return 'the disk is full; the dependencies take 0.8 GB'
  if (code === 'EUSAGE')
    return 'package.json and package-lock.json do not belong together; run "npm install" and commit both'
  const reason = errors.find((line) => !line.startsWith('code ')) ?? output.trim().split('\n')[0]
  return `npm failed: ${reason || 'it gave no reason'}`
}
