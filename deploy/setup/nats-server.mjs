/** Finds a nats-server that is new enough, or fetches one. */
import { createHash } from 'node:crypto'
import { accessSync, constants, mkdirSync, readFileSync, renameSync, rmSync, statSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { collect } from './commands.mjs'
import { debianSuite, fetchDebianPackage } from './debian-package.mjs'
import { SetUpError, step } from './steps.mjs'
import { isAtLeast, parseVersion } from './versions.mjs'

/** Earlier ones of 2.12 can lose what they have acknowledged (`internal/broker/server-version.ts`). */
export const NATS_SERVER_LEAST = '2.12.5'

/** SHA-256 of the binaries of Debian's packages that the tests have run with. */
const KNOWN = new Set([
  // 2.15.1, amd64
  '25379e8f6ff59d0f9b96f06b3572da8c513dfe97fe54f693bb03aa802b87480c',
])

const SUITES = ['forky', 'sid']
const HOW =
  `install nats-server ${NATS_SERVER_LEAST} or newer (macOS: brew install nats-server) or name one in ` +
  'NATS_SERVER_BIN'

/**
 * @typedef {object} Candidate
 * @property {string} path
 * @property {boolean} isNamed named in the environment: no other one may replace it
 */

/**
 * The paths where a nats-server may be, in the order of the search.
 *
 * @param {Readonly<Record<string, string | undefined>>} env
 * @param {string} root the project's folder
 * @returns {Candidate[]}
 */
export function candidates(env, root) {
  const named = env.NATS_SERVER_BIN || env.ATTRIBUTION_NATS_SERVER_BIN
  if (named) return [{ path: named, isNamed: true }]
  const folders = (env.PATH ?? '').split(delimiter).filter((folder) => folder !== '')
  return [...folders, join(root, '.local', 'bin')].map((folder) => ({
    path: join(folder, 'nats-server'),
    isNamed: false,
  }))
}

/**
 * @param {readonly Candidate[]} list
 * @param {(path: string) => Promise<string | undefined>} versionOf the output of --version; undefined: cannot be run
 * @returns {Promise<string | undefined>} the path of the first that is new enough
 * @throws {SetUpError} when a named one is not new enough
 */
export async function firstNewEnough(list, versionOf) {
  for (const { path, isNamed } of list) {
    const version = await versionOf(path)
    if (version !== undefined && isAtLeast(version, NATS_SERVER_LEAST)) return path
    if (!isNamed) continue
    const what =
      version === undefined ? 'cannot be run' : `is ${parseVersion(version)?.join('.') ?? 'of no known version'}`
    throw new SetUpError(`NATS_SERVER_BIN: ${path} ${what}; ${NATS_SERVER_LEAST} or newer is required`)
  }
  return undefined
}

/**
 * @param {string} root the project's folder
 * @returns {Promise<string>} the path of a nats-server that is new enough
 */
export async function ensureNatsServer(root) {
  const found = await firstNewEnough(candidates(process.env, root), installedVersion)
  if (found !== undefined) return found
  if (debianSuite() === undefined) throw new SetUpError(HOW)
  return step('fetching nats-server from Debian (about 30 MB)', () => fetchNatsServer(root))
}

/** @param {string} path */
async function installedVersion(path) {
  try {
    accessSync(path, constants.X_OK)
    if (!statSync(path).isFile()) return undefined
  } catch {
    return undefined
  }
  const { code, output } = await collect(path, ['--version'])
  return code === 0 ? output : undefined
}

/** @param {string} root */
async function fetchNatsServer(root) {
  const local = join(root, '.local')
  const inside = join('usr', 'sbin', 'nats-server')
  const accepts = async (/** @type {string} */ folder) =>
    isAtLeast((await installedVersion(join(folder, inside))) ?? '', NATS_SERVER_LEAST)
  let folder
  try {
    folder = await fetchDebianPackage({ name: 'nats-server', suites: SUITES, into: join(local, 'debian'), accepts })
  } catch (cause) {
    if (!(cause instanceof SetUpError)) throw cause
    throw new SetUpError(`${cause.message}; else ${HOW}`, { cause })
  }
  const path = join(local, 'bin', 'nats-server')
  mkdirSync(join(local, 'bin'), { recursive: true })
  // Atomic: a partial file must never be found there.
  renameSync(join(folder, inside), path)
  rmSync(folder, { recursive: true, force: true })
  const note = noteOn(
    createHash('sha256').update(readFileSync(path)).digest('hex'),
    (await installedVersion(path)) ?? '',
  )
  if (note !== undefined) process.stderr.write(`set-up: ${note}\n`)
  return path
}

/**
 * What to say of a fetched binary. apt has checked the signature of its package, so a newer one is taken.
 *
 * @param {string} digest SHA-256 in hex
 * @param {string} version its output of --version
 * @returns {string | undefined} undefined for a known one
 */
export function noteOn(digest, version) {
  if (KNOWN.has(digest)) return undefined
  return (
    `the package of ${version.trim()} is signed by Debian, but not one that the tests have run with (SHA-256 ` +
    `${digest})`
  )
}
