/**
 * `npm run test:conformance`: the set-up, then programs of others, unmodified, on the built product. Each is a row of
 * `deploy/docs/conformance.md`, which the run writes. Where Python, Go, Java or a registry is absent, it says so and
 * passes over them. Further arguments go to vitest.
 */
import { join } from 'node:path'
import { foreground } from './commands.mjs'
import { ROOT, setUp } from './setup.mjs'
import { runSetUpMain } from './steps.mjs'

await runSetUpMain(() => setUp())

const vitest = join(ROOT, 'node_modules', 'vitest', 'vitest.mjs')
const given = process.argv.slice(2)
const files = given.some((arg) => arg.includes('/')) ? [] : ['test/conformance/']
process.exit(await foreground(process.execPath, [vitest, 'run', '--retry=0', ...files, ...given], { cwd: ROOT }))
