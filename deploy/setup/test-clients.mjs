/** `npm run test:clients`: the set-up, then real clients of npm and PyPI. Further arguments go to vitest. */
import { join } from 'node:path'
import { foreground } from './commands.mjs'
import { ROOT, setUp } from './setup.mjs'
import { runSetUpMain } from './steps.mjs'

await runSetUpMain(() => setUp())

const vitest = join(ROOT, 'node_modules', 'vitest', 'vitest.mjs')
const files = ['test/own-instance/live-clients.test.ts', 'test/bench/prices/genai-package.test.ts']
const args = ['run', '--retry=0', ...files, ...process.argv.slice(2)]
const env = { ...process.env, TEST_LIVE_CLIENTS: '1' }
process.exit(await foreground(process.execPath, [vitest, ...args], { cwd: ROOT, env }))
