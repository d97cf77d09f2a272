import type { ClickHouseClient } from '@clickhouse/client'
import { Option } from 'commander'
import { type Broker, connectBroker } from '../../internal/broker/connect.js'
import {
  BROKER_SETTINGS,
  ConfigError,
  MASTER_KEY_SETTINGS,
  readConfig,
  STORE_SETTINGS,
} from '../../internal/config/settings.js'
import { environmentIn } from '../../internal/local/supervisor/supervised-instance.js'
import { connectStore, type StoreConnection } from '../../internal/store/client.js'

/** Names the instance of a command: by its data folder, or by the ATTRIBUTION_* variables. */
export const dataDirOption = (): Option =>
  new Option(
    '--data-dir <folder>',
    'data folder of an instance on this machine. Default: the ATTRIBUTION_* environment variables',
  )

export interface InstanceOption {
  readonly dataDir?: string
}

const CONNECT_MS_MAX = 5_000

/** The settings of the instance that a command works on. */
export const readInstanceConfig = ({ dataDir }: InstanceOption) =>
  readConfig(
    [...BROKER_SETTINGS, ...STORE_SETTINGS, ...MASTER_KEY_SETTINGS, 'mode'],
    [],
    dataDir === undefined ? process.env : { ...process.env, ...environmentIn(dataDir) },
  )

type InstanceConfig = ReturnType<typeof readInstanceConfig>

/** @throws ConfigError when the broker does not answer within five seconds */
export async function connectInstanceBroker(config: InstanceConfig): Promise<Broker> {
  if (config.natsUrl === '') throw new ConfigError('name an instance: --data-dir <folder>, or ATTRIBUTION_NATS_URL')
  const { natsUrl: url, natsUser: user, natsPassword: password } = config
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    const away = new ConfigError(`the broker at ${url} does not answer: is the service running?`)
    timer = setTimeout(() => reject(away), CONNECT_MS_MAX)
  })
  return Promise.race([connectBroker({ url, user, password, name: 'attribution-cli' }), late]).finally(() =>
    clearTimeout(timer),
  )
}

export const connectInstanceStore = (
  config: InstanceConfig,
  limits: Pick<StoreConnection, 'silenceMsMax'> = {},
): ClickHouseClient =>
  connectStore({
    url: config.storeUrl,
    user: config.storeUser,
    password: config.storePassword,
    database: config.storeDatabase,
    cluster: config.storeCluster,
    ...limits,
  })
