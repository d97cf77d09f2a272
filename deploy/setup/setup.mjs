/**
 * Prepares a machine that has only Node and npm to run the project: packages, nats-server, build. Needs no root and
 * does not change the system: everything goes into node_modules/, .local/ and dist/ of this folder. Skips what is
 * already there, so that a second start costs almost nothing.
 *
 * Must not import dependencies statically, since they are not installed yet.
 */
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { ensureBuild } from './build.mjs'
import { ensureDependencies, linkProgram, requireEngine } from './dependencies.mjs'
import { ensureNatsServer } from './nats-server.mjs'
import { explainFileError, SetUpError, together } from './steps.mjs'
import { isAtLeast } from './versions.mjs'

/** The project's folder. */
export const ROOT = dirname(dirname(dirname(fileURLToPath(import.meta.url))))

/**
 * @typedef {object} SetUpOptions
 * @property {boolean} [ownsNats] false: a nats-server elsewhere will be used
 * @property {boolean} [ownsStore] false: a ClickHouse elsewhere will be used
 * @property {() => Promise<unknown>} [beside] what needs the packages only, and runs beside the build
 */

/**
 * Runs the steps that are still missing, in order. Sets ATTRIBUTION_NATS_SERVER_BIN in the environment of this process,
 * for the roles that it starts.
 *
 * @param {SetUpOptions} [options]
 * @throws {SetUpError} one line that says how to correct it
 */
export async function setUp({ ownsNats = true, ownsStore = true, beside } = {}) {
  checkNode(process.version)
  try {
    // apt waits for its mirror while npm unpacks.
    const [natsServer] = await together([ownsNats ? ensureNatsServer(ROOT) : undefined, ensureDependencies(ROOT)])
    if (natsServer !== undefined) process.env.ATTRIBUTION_NATS_SERVER_BIN = natsServer
    linkProgram(ROOT)
    if (ownsStore) requireEngine(ROOT)
    await together([ensureBuild(ROOT), beside?.()])
  } catch (error) {
    throw explainFileError(error)
  }
}

/** @param {string} running */
function checkNode(running) {
  const { engines } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
  // Only the oldest version is checked here. Which newer ones run depends on the builds of the HTTP parser (`up` says
  // so).
  const [oldest] = engines.node.split(' || ')
  const least = oldest.replace('^', '')
  if (!isAtLeast(running, least)) throw new SetUpError(`this is Node ${running}; Node ${least} or newer is required`)
}
