/**
 * `npm run test:containers`: the set-up, then the product on clusters, for two minutes each or for as long as
 * TEST_CLUSTERS_MINUTES says. Where no container engine or no registry is, it says what it passes over.
 */
import { join } from 'node:path'
import { foreground } from './commands.mjs'
import { ROOT, setUp } from './setup.mjs'
import { runSetUpMain } from './steps.mjs'

await runSetUpMain(() => setUp())

const vitest = join(ROOT, 'node_modules', 'vitest', 'vitest.mjs')
const args = ['run', '--retry=0', 'test/faults/clusters.test.ts', ...process.argv.slice(2)]
const env = { TEST_CLUSTERS_MINUTES: '2', ...process.env }
process.exit(await foreground(process.execPath, [vitest, ...args], { cwd: ROOT, env }))
