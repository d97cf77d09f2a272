import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { INVOCATIONS } from '../../streams/invocations.js'
import { ROOT } from '../support/docs.js'
import type { SentEvent } from '../support/faults/calls.js'
import { launchFleet } from '../support/faults/fleet.js'
import { underLoad } from '../support/faults/load.js'
import { RATES } from '../support/faults/run.js'
import { command } from '../support/instance.js'

/** Of load before the change. */
const BEFORE_MS = 4_000
const AFTER_MS = 6_000
const GATEWAYS = ['gateway', 'gateway-2'] as const

test('partitions change under load as the documents say: no event is lost, none becomes two records', async () => {
  const members = ['attributor', ...GATEWAYS, 'store', 'exporter'] as const
  const fleet = await launchFleet(ROOT, members, ['--partitions', '2', ...RATES])
  const before = new Map<SentEvent, number>()
  let repeated = 0

  const { violations, accepted } = await underLoad(
    {
      ...{ ...fleet, seed: randomBytes(4).toString('hex'), webhooks: undefined, poisons: () => 0 },
      eventsPerSecond: 100,
      // So that repeats go back to before the change.
      repeats: { share: 0.6, among: 10_000 },
      print: console.log,
    },
    async ({ events }) => {
      await sleep(BEFORE_MS)
      await Promise.all(GATEWAYS.map(fleet.stop))
      for (const event of events) if (event.told.size > 0) before.set(event, event.history.length)
      const plan = async () => (await command(fleet.service, ['streams', 'plan', '--partitions', '5'])).lines.join('\n')
      await expect.poll(plan, { interval: 200 }).toContain('now stop the attributors; 1 run')
      await fleet.stop('attributor')
      expect(await command(fleet.service, ['streams', 'apply', '--partitions', '5'])).toMatchObject({ code: 0 })
      await Promise.all((['attributor', ...GATEWAYS] as const).map((member) => fleet.start(member, ROOT)))
      await sleep(AFTER_MS)
      repeated = [...before].filter(([{ history }, length]) => history.length > length).length
    },
  )

  // All of them are printed above.
  expect(violations.slice(0, 3)).toEqual([])
  expect(accepted).toBeGreaterThan(before.size)
  // Some hundreds; a busy machine sends fewer.
  expect(repeated).toBeGreaterThan(20)
  const { state } = await fleet.broker.manager.streams.info(INVOCATIONS.name, { subjects_filter: 'invocations.a.*' })
  expect(Object.keys(state.subjects ?? {}).sort()).toEqual([0, 1, 2, 3, 4].map((number) => `invocations.a.${number}`))
}, 400_000)
