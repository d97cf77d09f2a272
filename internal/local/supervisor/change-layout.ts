import { setTimeout as sleep } from 'node:timers/promises'
import type { Broker } from '../../broker/connect.js'
import { changedLayout, contradictions, observedLayout, readLayout, type WantedLayout } from '../../broker/layout.js'
import { applyLayout, obstaclesTo } from '../../broker/layout-changes.js'
import { ConfigError } from '../../config/settings.js'

/** The heartbeat of a gateway that was killed lives for five seconds. */
const OBSTACLES_MS_MAX = 6_000
const LOOK_EVERY_MS = 500

/**
 * Changes the layout of an instance's own broker to the settings that `up` is started with, as `attribution streams
 * apply` does: no other process uses that broker, and this one starts all roles.
 *
 * @throws ConfigError when the change is not possible; nothing is changed then
 */
export async function changeLayout(broker: Broker, wanted: WantedLayout, print: (line: string) => void): Promise<void> {
  const found = await readLayout(broker)
  const before = found?.layout ?? (await observedLayout(broker))
  const faults = before === undefined ? [] : contradictions(before, wanted)
  if (before === undefined || faults.length === 0) return
  const after = changedLayout(before, wanted)
  const until = performance.now() + OBSTACLES_MS_MAX
  let obstacles = await obstaclesTo(broker, before, after)
  while (obstacles.length > 0 && performance.now() < until) {
    await sleep(LOOK_EVERY_MS)
    obstacles = await obstaclesTo(broker, before, after)
  }
  if (obstacles.length > 0) throw new ConfigError(`${faults.join('; ')}; it cannot change now: ${obstacles.join('; ')}`)
  await applyLayout(broker, found, after)
  print('the layout of the broker has changed as the options say')
}
