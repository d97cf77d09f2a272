/**
 * `npm run test:all`: both rings of the suite, programs of others (`test-conformance.mjs`), then ten minutes of random
 * faults (`test-faults.mjs`). Records the commit, the date and the duration of a run that passes.
 */
import { join } from 'node:path'
import { foreground } from './commands.mjs'
import { recordFullRun, testedCommit } from './last-full-run.mjs'
import { ROOT } from './setup.mjs'

const run = (/** @type {string} */ script) =>
  foreground(process.execPath, [join(ROOT, 'deploy', 'setup', script)], {
    cwd: ROOT,
    env: { ...process.env, TEST_RING: 'all' },
  })

const startedAt = Date.now()
const commit = await testedCommit(ROOT)
const code = (await run('test.mjs')) || (await run('test-conformance.mjs')) || (await run('test-faults.mjs'))
if (code !== 0) process.exit(code)
if (commit === undefined) console.log('Not recorded: git is absent, or something is not committed.')
else {
  const seconds = Math.round((Date.now() - startedAt) / 1000)
  recordFullRun(ROOT, { commit, date: new Date().toISOString().slice(0, 10), seconds })
}
