import { listeningUrl } from '../../config/listening-url.js'
import type { Config } from '../../config/settings.js'
import { readTls } from '../../http/tls.js'
import { freePort, type InstanceSecrets } from './supervised-instance.js'

const NATS_USER = 'attribution'

type AddressConfig = Config<
  | 'host'
  | 'port'
  | 'intakePort'
  | 'baseUrl'
  | 'natsUrl'
  | 'natsUser'
  | 'natsPassword'
  | 'storeUrl'
  | 'storePassword'
  | 'tlsCertFile'
  | 'tlsKeyFile'
>

/** Where the processes of an instance reach each other, and with which passwords. */
export interface Addresses {
  readonly nats: {
    readonly url: string
    readonly user: string
    readonly password: string
    /** Of a private nats-server; undefined when the settings name one. */
    readonly ownPort: number | undefined
  }
  readonly store: {
    readonly url: string
    readonly password: string
    /** Of a private store; undefined when the settings name one. */
    readonly ownPort: number | undefined
  }
  /** Where the gateway listens. */
  readonly listening: string
  /** Where it listens for what other systems send; undefined: nowhere. */
  readonly intake: string | undefined
  /** Under which callers reach the service. */
  readonly baseUrl: string
}

/** A private nats-server and store get free ports on loopback, unless the settings name others. */
export async function chooseAddresses(config: AddressConfig, secrets: InstanceSecrets): Promise<Addresses> {
  const natsPort = config.natsUrl === '' ? await freePort() : undefined
  const storePort = config.storeUrl === '' ? await freePort() : undefined
  const isTls = readTls(config) !== undefined
  const listening = listeningUrl(config.host, config.port, isTls)
  return {
    nats:
      natsPort === undefined
        ? { url: config.natsUrl, user: config.natsUser, password: config.natsPassword, ownPort: undefined }
        : { url: `nats://127.0.0.1:${natsPort}`, user: NATS_USER, password: secrets.natsPassword, ownPort: natsPort },
    store:
      storePort === undefined
        ? { url: config.storeUrl, password: config.storePassword, ownPort: undefined }
        : { url: `http://127.0.0.1:${storePort}`, password: secrets.storePassword, ownPort: storePort },
    listening,
    intake: config.intakePort === 0 ? undefined : listeningUrl(config.host, config.intakePort, isTls),
    baseUrl: config.baseUrl === '' ? listening : config.baseUrl,
  }
}
