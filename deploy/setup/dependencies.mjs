/** Installs the npm packages unless exactly those of package-lock.json are installed. */
import {
  accessSync,
  constants,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { collect } from './commands.mjs'
import { SetUpError, step } from './steps.mjs'

/**
 * npm writes `node_modules/.package-lock.json`, its record of installed packages, last. The record also holds after a
 * manual `npm install`.
 *
 * @param {string} lockText package-lock.json
 * @param {string} noteText npm's record
 * @returns {boolean}
 */
export function isInstalled(lockText, noteText) {
  const locked = packagesOf(lockText)
  const installed = packagesOf(noteText)
  if (locked === undefined || installed === undefined) return false
  for (const [path, wanted] of Object.entries(locked)) {
    if (path === '') continue
    const there = installed[path]
    // Optional packages of other platforms are in the lock and never in the record.
    if (there === undefined ? !wanted.optional : !isSame(there, wanted)) return false
  }
  // Nor is every optional package in the lock: see `isPartial`.
  return Object.entries(installed).every(([path, there]) => path in locked || there.optional === true)
}

/**
 * Whether the lock lacks packages that other packages need on some platforms. A registry mirror with the packages of
 * one platform leads to such a lock. Its versions and hashes are valid, but `npm ci` rejects it.
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

/**
 * @typedef {{ version?: string, integrity?: string, optional?: boolean, optionalDependencies?: Record<string, string>
 * }} Package
 */

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
  // `install --no-save` installs the same versions, verifies the same hashes, and does not change the lock.
  const how = isPartial(lockText) ? ['install', '--no-save'] : ['ci']
  await step('installing the dependencies (0.25 GB to fetch)', () => install(root, how))
  removeForeignBinaries(join(root, 'node_modules'))
}

/** Packages of the HTTP parser, with a binary for each system and version of Node in one package. */
const WITH_FOREIGN_BINARIES = ['@btc-vision/uwebsockets.js', 'uWebSockets.js/binaries']

/**
 * Removes the parser's binaries for other systems, 0.16 GB. Those for other versions of Node stay: Node may be updated
 * without a new installation.
 *
 * @param {string} modules the folder node_modules
 */
export function removeForeignBinaries(modules, system = `${process.platform}_${process.arch}`) {
  for (const name of WITH_FOREIGN_BINARIES) {
    const folder = join(modules, name)
    if (!existsSync(folder)) continue
    const binaries = readdirSync(folder).filter((file) => file.startsWith('uws_') && file.endsWith('.node'))
    for (const file of binaries) if (!file.startsWith(`uws_${system}_`)) rmSync(join(folder, file))
  }
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

/** The package of the engine's library (0.5 GB) is optional: npm continues when it cannot be fetched. */
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
  // With npm's default pauses, 10 s and more per package, a missing network would take minutes to report.
  const attempts = ['--fetch-retries=2', '--fetch-retry-mintimeout=500', '--fetch-retry-maxtimeout=3000']
  const ownCache = hasNpmCache() ? undefined : join(root, '.local', 'npm-cache')
  const cache = ownCache === undefined ? [] : ['--cache', ownCache]
  const everything = ['--include=dev', '--include=optional', '--no-progress', '--no-audit', '--no-fund']
  const args = [...first, ...how, ...everything, ...attempts, ...cache]
  const { code, output } = await collect(command, args, { cwd: root })
  if (ownCache !== undefined) rmSync(ownCache, { recursive: true, force: true })
  if (code !== 0) throw new SetUpError(explainNpm(output))
}

/** An account without a home folder has no npm cache. */
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
    return (
      `npm cannot reach its registry (${code}); check the network, or "npm config get registry" and the proxy ` +
      'settings'
    )
  }
  if (code === 'EACCES' || code === 'EPERM' || code === 'EROFS') {
    return `npm cannot write (${code}); change the owner of this folder, or copy the project to a folder of yours`
  }
  if (code === 'ENOSPC') return 'the disk is full; the dependencies take 0.8 GB'
  if (code === 'EUSAGE') return 'package.json and package-lock.json do not match; run "npm install" and commit both'
  const reason = errors.find((line) => !line.startsWith('code ')) ?? output.trim().split('\n')[0]
  return `npm failed: ${reason || 'it gave no reason'}`
}
