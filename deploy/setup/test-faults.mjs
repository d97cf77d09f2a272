/**
 * `npm run test:faults`: the set-up, then the random faults for ten minutes, or for as long as
 * ATTRIBUTION_FAULTS_MINUTES says. With the argument `upgrade`, the last released version is replaced under load
 * instead, with half a minute on each. Further arguments go to vitest.
 */
import { join } from 'node:path'
import { foreground } from './commands.mjs'
import { olderBuild } from './older-build.mjs'
import { ROOT, setUp } from './setup.mjs'
import { runSetUpMain } from './steps.mjs'

await runSetUpMain(() => setUp())

const isUpgrade = process.argv[2] === 'upgrade'
const { folder, reason } = isUpgrade ? await olderBuild(ROOT) : {}
if (reason !== undefined) {
  console.log(`No version to upgrade from: ${reason}.`)
  process.exit(1)
}
const env = {
  ATTRIBUTION_FAULTS_MINUTES: isUpgrade ? '1' : '10',
  ...(folder !== undefined && { ATTRIBUTION_FAULTS_OLDER_BUILD: folder }),
  ...process.env,
}
const vitest = join(ROOT, 'node_modules', 'vitest', 'vitest.mjs')
// A run that passes only the second time has found something.
const file = isUpgrade ? 'test/faults/upgrade-by-drain.test.ts' : 'test/faults/random-faults.test.ts'
const args = ['run', '--retry=0', file, ...process.argv.slice(isUpgrade ? 3 : 2)]
process.exit(await foreground(process.execPath, [vitest, ...args], { cwd: ROOT, env }))
