/**
 * The skeleton that the roles share: settings, log, connections to the broker and the store, streams, membership, and a
 * stop in order. It lies in cmd/ because it wires broker, store and secrets together and reads the environment.
 */
import { randomBytes } from 'node:crypto'
import { setMaxListeners } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import type { ClickHouseClient } from '@clickhouse/client'
import { type Broker, connectBroker } from '../internal/broker/connect.js'
import { type Layout, openStreams, partitionsOf, watchPartitions } from '../internal/broker/layout.js'
import { joinMembers, type Membership } from '../internal/broker/members.js'
import { opened } from '../internal/broker/opened.js'
import {
  BROKER_SETTINGS,
  type Config,
  MASTER_KEY_SETTINGS,
  METRICS_SETTINGS,
  readConfig,
  requireMetricsToken,
  type SettingName,
  SPANS_SETTINGS,
  STORE_SETTINGS,
} from '../internal/config/settings.js'
import { unknownVariables } from '../internal/config/unknown-variables.js'
import { serviceVersion } from '../internal/config/version.js'
import { stopSignal, untilAvailable } from '../internal/process/main.js'
import { collectWhenIdle } from '../internal/process/memory.js'
import { type MasterKeys, readMasterKeys } from '../internal/secrets/master-keys.js'
import { signingKey } from '../internal/secrets/signing-keys.js'
import { connectStore, type StoreConnection } from '../internal/store/client.js'
import { setBuildInfo } from '../internal/telemetry/build-info.js'
import { createLog, type Logger } from '../internal/telemetry/log.js'
import { serveMetrics } from '../internal/telemetry/metrics-server.js'
import { openSpans, SPANS } from '../internal/telemetry/spans/spans.js'
import { MEMBERS, SIGNING_KEYS } from '../streams/buckets.js'

/** The settings that every role takes, besides its own. */
const SHARED_SETTINGS = [
  'logLevel',
  'logFormat',
  ...METRICS_SETTINGS,
  ...SPANS_SETTINGS,
  ...MASTER_KEY_SETTINGS,
  ...BROKER_SETTINGS,
  ...STORE_SETTINGS,
] as const
type SharedSetting = (typeof SHARED_SETTINGS)[number]
/** No role works without them; of several, one is enough. */
const REQUIRED_SETTINGS = [['natsUrl'], ['storeUrl'], MASTER_KEY_SETTINGS] as const

/** A role that knows its settings and has no connections yet. */
export interface ConfiguredRole<N extends SettingName> {
  readonly name: string
  /** Unique among the processes of the role: the setting `--member-name`, else random. */
  readonly member: string
  readonly config: Config<N | SharedSetting>
  readonly masterKeys: MasterKeys
  readonly clock: () => number
  readonly log: Logger
}

export interface Role<N extends SettingName> extends ConfiguredRole<N> {
  readonly broker: Broker
  /** Of the broker, as it was when the role started. */
  readonly layout: Layout
  readonly storeConnection: StoreConnection
  /** Connects with its first query. */
  readonly store: ClickHouseClient
  /** Aborts when the process is asked to stop; it may go on serving for a while (`stopped`). */
  readonly leaving: AbortSignal
  /** Aborts when the process stops. */
  readonly signal: AbortSignal
  /** Ends the process when a KV watch is lost, since its copy becomes stale. The supervisor restarts the process. */
  readonly onLost: (cause: unknown) => void
  /** Ends the process when the layout gets another number of partitions: the next start takes it. */
  readonly exitOnOtherPartitions: () => Promise<void>
  /** A key of the instance that derives or signs. It is created when it does not exist. */
  readonly signingKey: (name: Parameters<typeof signingKey>[2]) => Promise<Uint8Array>
  /** Joins the live processes of the role, which share its work. @param parts of the work, if not all of it */
  readonly join: (parts?: readonly string[]) => Promise<Membership>
  /**
   * Resolves when the process stops; `signal` has aborted then.
   *
   * @param drainSeconds how long it goes on serving after SIGTERM, until load balancers have noticed that it leaves
   * @returns whether it did
   */
  readonly stopped: (drainSeconds?: number) => Promise<boolean>
  /** Leaves the members and closes the connections. To be called when everything else is drained. */
  readonly close: () => Promise<void>
}

export interface ConnectOptions {
  /** How long a query of the store may stay silent, in milliseconds. */
  readonly silenceMsMax?: number
  /** Whether the role decides the number of partitions of a layout that has none. */
  readonly decidesPartitions?: boolean
  /** Whether the role makes spans: the others need no exporter. */
  readonly makesSpans?: boolean
}

/** Reads the settings of a role. @throws ConfigError, HelpAsked */
export function configureRole<const N extends SettingName>(name: string, settings: readonly N[]): ConfiguredRole<N> {
  const wanted: readonly (N | SharedSetting)[] = [...new Set([...SHARED_SETTINGS, ...settings])]
  for (const line of unknownVariables(process.env)) process.stderr.write(`${name}: ${line}\n`)
  const config = readConfig(wanted, process.argv.slice(2), process.env, REQUIRED_SETTINGS)
  requireMetricsToken(config)
  const { memberName = '' } = config as Partial<Config<'memberName'>>
  return {
    name,
    member: memberName === '' ? randomBytes(8).toString('hex') : memberName,
    config,
    masterKeys: readMasterKeys(config),
    clock: Date.now,
    log: createLog(name, config.logLevel, { version: serviceVersion(), format: config.logFormat }),
  }
}

/**
 * Waits for the broker, as long as it takes, and creates the streams that are missing.
 *
 * @throws ConfigError when a setting contradicts the layout of the broker
 */
export async function connectRole<N extends SettingName>(
  configured: ConfiguredRole<N>,
  { decidesPartitions = false, makesSpans = false, ...options }: ConnectOptions = {},
): Promise<Role<N>> {
  const { name, member, masterKeys, log } = configured
  const config: Config<SharedSetting> = configured.config
  setBuildInfo(serviceVersion())
  collectWhenIdle()
  const metrics = await serveMetrics(name, config, log)
  if (makesSpans) await openSpans(config, { role: name, member, version: serviceVersion() }, log)
  const broker = await connectBroker({
    url: config.natsUrl,
    user: config.natsUser,
    password: config.natsPassword,
    name: `${name}-${member}`,
  })
  const layout = await untilAvailable('JetStream', () => openStreams(broker, config, decidesPartitions), log)
  const storeConnection = {
    url: config.storeUrl,
    user: config.storeUser,
    password: config.storePassword,
    database: config.storeDatabase,
    cluster: config.storeCluster,
  }
  const store = connectStore({ ...storeConnection, ...options })
  const signingKeys = await broker.bucket(SIGNING_KEYS)
  const leaving = new AbortController()
  const stopping = new AbortController()
  // Every loop that pauses listens to it.
  setMaxListeners(0, stopping.signal)
  const onLost = (cause: unknown): void => {
    if (stopping.signal.aborted) return
    log.fatal({ err: cause }, 'KV watch lost, exiting')
    process.exit(1)
  }
  let membership: Membership | undefined
  return {
    ...configured,
    broker,
    layout,
    storeConnection,
    store,
    leaving: leaving.signal,
    signal: stopping.signal,
    onLost,
    exitOnOtherPartitions: () =>
      watchPartitions(broker, partitionsOf(layout), onLost, (partitions) => {
        if (stopping.signal.aborted) return
        log.fatal({ partitions }, 'the layout has another number of partitions, exiting')
        process.exit(1)
      }),
    signingKey: (key) => opened(() => signingKey(signingKeys, masterKeys, key)),
    async join(parts) {
      membership = await joinMembers(await broker.bucket(MEMBERS), name, member, onLost, parts)
      return membership
    },
    async stopped(drainSeconds = 0) {
      let hasDrained = false
      await stopSignal(async () => {
        leaving.abort()
        if (drainSeconds === 0) return
        log.info({ drain_seconds: drainSeconds }, 'draining')
        await sleep(drainSeconds * 1_000)
        hasDrained = true
      })
      leaving.abort()
      stopping.abort()
      return hasDrained
    },
    async close() {
      await membership?.leave().catch((cause: unknown) => {
        log.warn({ err: cause }, 'could not deregister; peers will see the heartbeat expire')
      })
      await broker.close()
      await store.close()
      await SPANS.close()
      await metrics.close()
    },
  }
}

/** `configureRole`, then `connectRole`: for a role that has nothing to do before it is connected. */
export const startRole = async <const N extends SettingName>(
  name: string,
  settings: readonly N[],
  options?: ConnectOptions,
): Promise<Role<N>> => connectRole(configureRole(name, settings), options)
