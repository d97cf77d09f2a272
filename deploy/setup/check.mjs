/** `npm run check`: the linter and the compiler, over the sources, the tests and the console. */
import { join } from 'node:path'
import { ensureApiTypes } from './api-types.mjs'
import { compiler } from './build.mjs'
import { foreground } from './commands.mjs'
import { ROOT } from './setup.mjs'
import { runSetUpMain } from './steps.mjs'

await runSetUpMain(() => ensureApiTypes(ROOT))
const packages = join(ROOT, 'node_modules')
const biome = join(packages, '@biomejs', 'biome', 'bin', 'biome')
const tsc = compiler(ROOT)
for (const command of [
  [biome, 'ci', '.'],
  [...tsc, '-p', '.', '--noEmit'],
  [...tsc, '-p', join('internal', 'console', 'app')],
]) {
  const code = await foreground(process.execPath, command, { cwd: ROOT })
  if (code !== 0) process.exit(code)
}
