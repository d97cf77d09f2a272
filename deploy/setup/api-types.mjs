/**
 * dist/sdk/api.d.ts: the types of the API, written from its description. Sources import them, so that they are written
 * before anything is compiled, and again when a file changes that they are written from.
 */
import { existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { runSource } from './run-source.mjs'

export const API_TYPES = join('dist', 'sdk', 'api.d.ts')
const PROGRAM = join('cmd', 'gateway', 'api-types.ts')

/** Records the files that the types were written from by their stamps. */
const RECORD = join('dist', '.api-types.json')

/** @param {string} root the project's folder */
export async function ensureApiTypes(root) {
  if (areApiTypesCurrent(root)) return
  const record = join(root, RECORD)
  rmSync(record, { force: true })
  const sources = await runSource(root, PROGRAM, [join(root, API_TYPES)])
  writeFileSync(record, JSON.stringify(Object.fromEntries(sources.map((source) => [source, stampOf(root, source)]))))
}

/**
 * @param {string} root
 * @returns {boolean} also where nothing is written from: a project without the program
 */
export function areApiTypesCurrent(root) {
  if (!existsSync(join(root, PROGRAM))) return true
  const record = join(root, RECORD)
  if (!existsSync(record) || !existsSync(join(root, API_TYPES))) return false
  const stamps = Object.entries(JSON.parse(readFileSync(record, 'utf8')))
  return stamps.every(([source, stamp]) => stampOf(root, source) === stamp)
}

/**
 * @param {string} root
 * @param {string} source
 */
function stampOf(root, source) {
  const stat = statSync(join(root, source), { throwIfNoEntry: false })
  return stat === undefined ? '' : `${stat.size} ${stat.mtimeMs}`
}
