import type { Mode } from '../../auth/api-keys.js'
import { connectBroker, ensureStreams } from '../../broker/connect.js'
import type { Config } from '../../config/settings.js'
import { untilAvailable } from '../../process/main.js'
import type { MasterKeys } from '../../secrets/master-keys.js'
import { createLog } from '../../telemetry/log.js'
import type { Addresses } from './addresses.js'
import { bootstrapTenant } from './bootstrap.js'
import type { InstanceFiles } from './instance.js'

export type PrepareConfig = { readonly mode: Mode } & Config<
  'logLevel' | 'streamReplicas' | 'invocationsBytesMax' | 'observationsBytesMax' | 'eventsBytesMax'
>

/** Creates streams, and the first tenant with its credentials, before any role needs them. */
export async function prepareInstance(
  config: PrepareConfig,
  masterKeys: MasterKeys,
  files: InstanceFiles,
  { nats, baseUrl }: Addresses,
): Promise<void> {
  const broker = await connectBroker({ url: nats.url, user: nats.user, password: nats.password, name: 'up' })
  await untilAvailable(
    'JetStream',
    () => ensureStreams(broker, { ...config, replicas: config.streamReplicas }),
    createLog('up', config.logLevel),
  )
  await bootstrapTenant(broker, files, masterKeys, config.mode, baseUrl)
  await broker.close()
}
