/**
 * Makes a fresh machine with nothing but Node and npm able to run the project: packages, nats-server, build. Without
 * root and without touching the system: everything goes into node_modules/, .local/ and dist/ of this folder. What is
 * already there is left alone, so that a second start costs next to nothing.
 *
 * No dependency may be imported here, since none is installed yet.
 */
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { ensureBuild } from './build.mjs'
import { ensureDependencies, linkProgram, requireEngine } from './dependencies.mjs'
import { ensureNatsServer } from './nats-server.mjs'
import { explainFileError, SetUpError } from './steps.mjs'
import { isAtLeast } from './versions.mjs'

/** The project's folder. */
export const ROOT = dirname(dirname(dirname(fileURLToPath(import.meta.url))))

/**
 * @typedef {object} SetUpOptions
 * @property {boolean} [ownsNats] false: a nats-server elsewhere will be used
 * @property {boolean} [ownsStore] false: a ClickHouse elsewhere will be used
 */

/**
 * Does what is still to be done, in order. Names the nats-server that was found in this process's environment, as
 * ATTRIBUTION_NATS_SERVER_BIN, for the roles that are started from here.
 *
 * @param {SetUpOptions} [options]
 * @throws {SetUpError} one line that says what to do
 */
export async function setUp({ ownsNats = true, ownsStore = true } = {}) {
  checkNode(process.version)
  try {
    await ensureDependencies(ROOT)
    linkProgram(ROOT)
    if (ownsStore) requireEngine(ROOT)
    if (ownsNats) process.env.ATTRIBUTION_NATS_SERVER_BIN = await ensureNatsServer(ROOT)
    await ensureBuild(ROOT)
  } catch (error) {
    throw explainFileError(error)
  }
}

/** @param {string} running */
function checkNode(running) {
  const { engines } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
  const least = engines.node.replace('>=', '')
  if (!isAtLeast(running, least)) throw new SetUpError(`this is Node ${running}; Node ${least} or newer is wanted`)
}
