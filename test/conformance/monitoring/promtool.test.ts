/** Prometheus' own checker, on what we give to Prometheus. */
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { ensurePromtool } from '../../../deploy/setup/promtool.mjs'
import { conformance } from '../../support/conformance/program.js'
import { ROOT } from '../../support/docs.js'

const promtool = await ensurePromtool(ROOT)
const run = (...args: readonly string[]) =>
  spawnSync(promtool, args, { cwd: join(ROOT, 'deploy', 'monitoring'), encoding: 'utf8' })

conformance(
  {
    name: 'promtool',
    version: /version (\S+)/.exec(run('--version').stdout)?.[1] ?? '',
    tries: '`check rules` and `test rules` on the alerts',
  },
  async () =>
    new Map(
      [
        ['check', 'rules', 'alerts.yaml'],
        ['test', 'rules', 'alerts.test.yaml'],
      ].map((args) => {
        const { status, stdout, stderr } = run(...args)
        return [args.join(' '), status === 0 ? undefined : stdout + stderr]
      }),
    ),
)
