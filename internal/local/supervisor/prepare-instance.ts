import type { Mode } from '../../auth/api-keys.js'
import { connectBroker } from '../../broker/connect.js'
import { openStreams, type WantedLayout } from '../../broker/layout.js'
import type { Config } from '../../config/settings.js'
import { serviceVersion } from '../../config/version.js'
import { untilAvailable } from '../../process/main.js'
import type { MasterKeys } from '../../secrets/master-keys.js'
import { createLog } from '../../telemetry/log.js'
import { sayWhileWaiting } from '../../telemetry/waiting-time.js'
import { bootstrapTenant, type Credentials } from './bootstrap.js'
import { changeLayout } from './change-layout.js'
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
    await sayWhileWaiting('the store', store.url, answers, print)
  }
  return credentials
}
