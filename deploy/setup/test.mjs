/**
 * `npm test`: the set-up, then the linter over everything, then the tests; arguments go to vitest. Ends with the exit
 * code of the first that fails.
 */
import { join } from 'node:path'
import { ensureChromium } from './chromium.mjs'
import { foreground } from './commands.mjs'
import { ROOT, setUp } from './setup.mjs'
import { runSetUpMain } from './steps.mjs'

await runSetUpMain(async () => {
  await setUp()
  await ensureChromium(ROOT)
})

const packages = join(ROOT, 'node_modules')
// Biome colours each letter by itself where it takes a log for a terminal.
const colors = process.stdout.isTTY ? [] : ['--colors=off']
const commands = [
  [join(packages, '@biomejs', 'biome', 'bin', 'biome'), 'ci', ...colors, '.'],
  [join(packages, 'vitest', 'vitest.mjs'), 'run', ...process.argv.slice(2)],
]
for (const command of commands) {
  const code = await foreground(process.execPath, command, { cwd: ROOT })
  if (code !== 0) process.exit(code)
}
