/** The last run of `npm run test:all` that passed: a committed file, so that everybody sees when that was. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { collect } from './commands.mjs'

const FILE = 'test/support/run/last-full-run.json'
const DAY_MS = 86_400_000
const OLD_DAYS = 7

/**
 * @param {string} root the project's folder
 * @returns {import("./last-full-run.mjs").FullRun | undefined}
 */
export function lastFullRun(root) {
  const path = join(root, FILE)
  return existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')) : undefined
}

/**
 * The line for a run of the inner ring; undefined when the last full run is recent.
 *
 * @param {import("./last-full-run.mjs").FullRun | undefined} last
 * @param {Date} now
 * @returns {string | undefined}
 */
export function reminder(last, now) {
  if (last === undefined)
    return 'npm run test:all (everything, and ten minutes of random faults) has no recorded result.'
  const days = Math.floor((now.getTime() - Date.parse(last.date)) / DAY_MS)
  if (days <= OLD_DAYS) return undefined
  const duration = `${Math.round(last.seconds / 60)} min`
  return `npm run test:all last passed ${days} days ago (${last.date}, ${last.commit.slice(0, 12)}, ${duration}).`
}

/**
 * The commit that is about to be tested; undefined when what is tested is no commit.
 *
 * @param {string} root
 * @returns {Promise<string | undefined>}
 */
export async function testedCommit(root) {
  const status = await collect('git', ['status', '--porcelain'], { cwd: root })
  if (status.code !== 0 || status.output !== '') return undefined
  return (await collect('git', ['rev-parse', 'HEAD'], { cwd: root })).output.trim()
}

/**
 * @param {string} root
 * @param {import("./last-full-run.mjs").FullRun} run
 */
export function recordFullRun(root, run) {
  writeFileSync(join(root, FILE), `${JSON.stringify(run, null, 2)}\n`)
  console.log(`Recorded in ${FILE}; commit it.`)
}
