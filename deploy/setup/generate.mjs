/**
 * `npm run generate`: writes what is generated, from sources that need not compile: the types of the API, which are not
 * committed, and what `test/support/generate.ts` writes, as the formatter wants it.
 */
import { join } from 'node:path'
import { ensureApiTypes } from './api-types.mjs'
import { collect } from './commands.mjs'
import { ensureDependencies, requireEngine } from './dependencies.mjs'
import { runSource } from './run-source.mjs'
import { ROOT } from './setup.mjs'
import { runSetUpMain, SetUpError, step } from './steps.mjs'

const FORMATTED = [
  join('test', 'baselines'),
  join('deploy', 'docs', 'access.md'),
  join('deploy', 'docs', 'energy.md'),
  join('deploy', 'docs', 'intake', 'clients.md'),
]

await runSetUpMain(async () => {
  await ensureDependencies(ROOT)
  requireEngine(ROOT)
  await step('generating', async () => {
    await ensureApiTypes(ROOT)
    await runSource(ROOT, join('test', 'support', 'generate.ts'))
    const biome = join(ROOT, 'node_modules', '@biomejs', 'biome', 'bin', 'biome')
    const { code, output } = await collect(process.execPath, [biome, 'format', '--write', ...FORMATTED], { cwd: ROOT })
    if (code !== 0) throw new SetUpError(`the formatter fails\n${output.trim()}`)
  })
})
