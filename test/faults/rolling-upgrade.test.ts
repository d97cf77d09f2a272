/**
 * The last released version and this one side by side, under load. `npm run test:faults upgrade` builds the released
 * one and runs this; the suite does not. ATTRIBUTION_FAULTS_MINUTES (1) is the time over all replacements.
 */
import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { ROOT } from '../support/docs.js'
import { ALL_MEMBERS, launchFleet, type Member } from '../support/faults/fleet.js'
import { underLoad } from '../support/faults/load.js'
import { openWebhooks } from '../support/faults/readers.js'
import { RATES } from '../support/faults/run.js'

const { env } = process
const olderBuild = env['ATTRIBUTION_FAULTS_OLDER_BUILD']
const seed = env['ATTRIBUTION_FAULTS_SEED'] ?? randomBytes(4).toString('hex')
const EACH_MS = (Number(env['ATTRIBUTION_FAULTS_MINUTES'] ?? 1) * 60_000) / ALL_MEMBERS.length

test.skipIf(olderBuild === undefined)(
  'each role is replaced under load: each 202 is one record, totals are exact, webhooks arrive',
  async () => {
    const print = (line: string): void => void process.stdout.write(`${line}\n`)
    const webhooks = await openWebhooks()
    const fleet = await launchFleet(olderBuild as string, ALL_MEMBERS, [...webhooks.args, ...RATES])
    const replace = async (member: Member): Promise<void> => {
      const beganAt = performance.now()
      await fleet.stop(member)
      const stoppedAt = performance.now()
      await fleet.start(member, ROOT)
      const [stopping, starting] = [stoppedAt - beganAt, performance.now() - stoppedAt].map(Math.round)
      print(`${member}: ended after ${stopping} ms, works after ${starting} ms`)
      await sleep(EACH_MS)
    }

    const { violations, accepted } = await underLoad(
      {
        ...{ ...fleet, seed, webhooks, print },
        eventsPerSecond: Number(env['ATTRIBUTION_FAULTS_RATE'] ?? 100),
        poisons: () => 0,
      },
      async () => {
        await sleep(EACH_MS)
        for (const member of ALL_MEMBERS) await replace(member)
      },
    )

    // All of them are printed above.
    expect(violations.slice(0, 3)).toEqual([])
    expect(accepted).toBeGreaterThan(0)
  },
  1_800_000,
)
