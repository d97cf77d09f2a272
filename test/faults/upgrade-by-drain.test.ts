/**
 * The last released version is replaced by this one under load, by a drain: as `deploy/docs/upgrading.md` says, with
 * the command that it prints and the command line of the released version. `npm run test:faults upgrade` builds the
 * released one and runs this; the suite does not. ATTRIBUTION_FAULTS_MINUTES (1) is the time of the load on both.
 */
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { ROOT, textOf } from '../support/docs.js'
import { ALL_MEMBERS, launchFleet } from '../support/faults/fleet.js'
import { underLoad } from '../support/faults/load.js'
import { openWebhooks } from '../support/faults/readers.js'
import { RATES } from '../support/faults/run.js'
import { launch } from '../support/processes.js'

const { env } = process
const olderBuild = env['ATTRIBUTION_FAULTS_OLDER_BUILD']
const seed = env['ATTRIBUTION_FAULTS_SEED'] ?? randomBytes(4).toString('hex')
const EACH_MS = (Number(env['ATTRIBUTION_FAULTS_MINUTES'] ?? 1) * 60_000) / 2
const ATTRIBUTORS = ['attributor', 'attributor-2'] as const
const GATEWAYS = ['gateway', 'gateway-2'] as const
/** The arguments of the command that exits with 0 once all events are worked off. */
const DRAINED = /^ *npx attribution (streams plan .+)$/m.exec(textOf('deploy/docs/upgrading.md'))?.[1] ?? ''

test.skipIf(olderBuild === undefined)(
  'a version is replaced by a drain under load: each 202 is one record, totals are exact, webhooks arrive',
  async () => {
    const print = (line: string): void => void process.stdout.write(`${line}\n`)
    const webhooks = await openWebhooks()
    const fleet = await launchFleet(olderBuild as string, ALL_MEMBERS, [...webhooks.args, ...RATES])
    const olderCli = join(olderBuild as string, 'dist/cmd/attribution/main.js')
    const args = [...DRAINED.split(' '), '--data-dir', fleet.service.dataDir]
    const exitCode = async () => (await launch(olderCli, { args }).exited).code

    const { violations, accepted } = await underLoad(
      {
        ...{ ...fleet, seed, webhooks, print },
        eventsPerSecond: Number(env['ATTRIBUTION_FAULTS_RATE'] ?? 100),
        poisons: () => 0,
      },
      async () => {
        await sleep(EACH_MS)
        const stoppedAt = performance.now()
        await Promise.all(GATEWAYS.map(fleet.stop))
        await expect.poll(exitCode, { interval: 200 }).toBe(0)
        await Promise.all(ALL_MEMBERS.map(fleet.stop))
        const rest = ALL_MEMBERS.filter((one) => !['store', ...ATTRIBUTORS, ...GATEWAYS].includes(one))
        for (const members of [['store'] as const, ATTRIBUTORS, GATEWAYS, rest]) {
          await Promise.all(members.map((member) => fleet.start(member, ROOT)))
        }
        print(`replaced within ${Math.round(performance.now() - stoppedAt)} ms`)
        await sleep(EACH_MS)
      },
    )

    // All of them are printed above.
    expect(violations.slice(0, 3)).toEqual([])
    expect(accepted).toBeGreaterThan(0)
  },
  1_800_000,
)
