import type { Mode } from '../../auth/api-keys.js'
import type { Broker } from '../../broker/connect.js'
import { connectBroker } from '../../broker/connect.js'
import { lastingObstacles } from '../../broker/drain.js'
import { changedLayout, contradictions, openStreams, readLayout, type WantedLayout } from '../../broker/layout.js'
import { applyLayout, obstaclesTo } from '../../broker/layout-changes.js'
import type { Config } from '../../config/settings.js'
import { ConfigError } from '../../config/settings.js'
import { serviceVersion } from '../../config/version.js'
import { untilAvailable } from '../../process/main.js'
import type { MasterKeys } from '../../secrets/master-keys.js'
import { createLog } from '../../telemetry/log.js'
import { reportWhileWaiting } from '../../telemetry/waiting-time.js'
import { bootstrapTenant, type Credentials } from './bootstrap.js'
import { answersAt } from './readiness.js'
import type { Addresses } from './role-addresses.js'
import type { InstanceFiles } from './supervised-instance.js'

export type PrepareConfig = { readonly mode: Mode } & Config<'logLevel'> & WantedLayout

/**
 * Creates streams, and the first tenant with its credentials, before any role needs them. Waits without a time limit
 * for a broker and a store that are not the instance's own, and prints so.
 *
 * @throws ConfigError when a setting contradicts the layout of the broker
 */
export async function prepareInstance(
  config: PrepareConfig,
  masterKeys: MasterKeys,
  files: InstanceFiles,
  { nats, store, baseUrl }: Addresses,
  print: (line: string) => void,
): Promise<Credentials> {
  const broker = await connectBroker({ url: nats.url, user: nats.user, password: nats.password, name: 'up' })
  const open = async (): Promise<void> => {
    if (nats.ownPort !== undefined) await changeLayout(broker, config, print)
    await openStreams(broker, config, true)
  }
  await untilAvailable('JetStream', open, createLog('up', config.logLevel, { version: serviceVersion() }))
  const credentials = await bootstrapTenant(broker, files, masterKeys, config.mode, baseUrl)
  await broker.close()
  if (store.ownPort === undefined) {
    const answers = answersAt(`${store.url}/ping`)(new AbortController().signal)
    await reportWhileWaiting('the store', store.url, answers, print)
  }
  return credentials
}

/**
 * Changes the layout of an instance's own broker to the settings that `up` is started with, as `attribution streams
 * apply` does: no other process uses that broker, and this one starts all roles.
 *
 * @throws ConfigError when the change is not possible; nothing is changed then
 */
async function changeLayout(broker: Broker, wanted: WantedLayout, print: (line: string) => void): Promise<void> {
  const found = await readLayout(broker)
  if (found === undefined) return
  const { layout: before } = found
  const faults = contradictions(before, wanted)
  if (faults.length === 0) return
  const after = changedLayout(before, wanted)
  const obstacles = await lastingObstacles(() => obstaclesTo(broker, before, after))
  if (obstacles.length > 0) throw new ConfigError(`${faults.join('; ')}; it cannot change now: ${obstacles.join('; ')}`)
  await applyLayout(broker, found, after)
  print('the layout of the broker has changed as the options say')
}
