import { ConfigError, readConfig } from '../../internal/config/settings.js'
import { LISTEN_HOST } from '../../internal/store/engine/engine.js'

const STORE_PROCESS_SETTINGS = [
  'host',
  'dataDir',
  'storePort',
  'storeUser',
  'storePassword',
  'storeDatabase',
  'storeMemoryBytesMax',
  'durability',
] as const

/** @throws ConfigError for another host than loopback, and without a password */
export function readStoreConfig(argv: readonly string[], env: Readonly<Record<string, string | undefined>>) {
  // ATTRIBUTION_HOST is for the gateway. The store listens on loopback only.
  const { ATTRIBUTION_HOST: _, ...own } = env
  const config = readConfig(STORE_PROCESS_SETTINGS, argv, own, [['storePassword']])
  if (config.host !== LISTEN_HOST) throw new ConfigError(`--host must be ${LISTEN_HOST}: the store serves one machine`)
  return config
}
