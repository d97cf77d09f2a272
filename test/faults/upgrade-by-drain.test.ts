/**
 * The last released version is replaced by this one under load, by a drain (`deploy/docs/upgrading.md`). `npm run
 * test:faults upgrade` builds the released one and runs this; the suite does not. ATTRIBUTION_FAULTS_MINUTES (1) is the
 * time of the load on both.
 */
import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { ROOT } from '../support/docs.js'
import { ALL_MEMBERS, launchFleet } from '../support/faults/fleet.js'
import { underLoad } from '../support/faults/load.js'
import { openWebhooks } from '../support/faults/readers.js'
import { RATES } from '../support/faults/run.js'
import { command } from '../support/instance.js'

const { env } = process
const olderBuild = env['ATTRIBUTION_FAULTS_OLDER_BUILD']
const seed = env['ATTRIBUTION_FAULTS_SEED'] ?? randomBytes(4).toString('hex')
const EACH_MS = (Number(env['ATTRIBUTION_FAULTS_MINUTES'] ?? 1) * 60_000) / 2
const GATEWAYS = ['gateway', 'gateway-2'] as const

test.skipIf(olderBuild === undefined)(
  'a version is replaced by a drain under load: each 202 is one record, totals are exact, webhooks arrive',
  async () => {
    const print = (line: string): void => void process.stdout.write(`${line}\n`)
    const webhooks = await openWebhooks()
    const fleet = await launchFleet(olderBuild as string, ALL_MEMBERS, [...webhooks.args, ...RATES])
    const plan = async () => (await command(fleet.service, ['streams', 'plan', '--partitions', '7'])).lines.join('\n')

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
        await expect.poll(plan, { interval: 200 }).toContain('now stop the attributors')
        await Promise.all(ALL_MEMBERS.map(fleet.stop))
        await fleet.start('store', ROOT)
        await Promise.all(ALL_MEMBERS.filter((one) => one !== 'store').map((member) => fleet.start(member, ROOT)))
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
