import {
  type ConsumerConfig,
  type ConsumerInfo,
  DiscardPolicy,
  type JetStreamClient,
  type JetStreamManager,
  jetstreamManager,
  type StreamConfig,
  type StreamInfo,
} from '@nats-io/jetstream'
import { type KV, Kvm } from '@nats-io/kv'
import { type ObjectStore, Objm } from '@nats-io/obj'
import { connect, type NatsConnection } from '@nats-io/transport-node'
import { AUDIT } from '../../streams/audit.js'
import { BUCKETS, type Bucket, OBJECT_BUCKETS, type ObjectBucket } from '../../streams/buckets.js'
import { CHANGES } from '../../streams/changes.js'
import { DELIVERIES } from '../../streams/deliveries.js'
import { EVENTS } from '../../streams/events.js'
import { EXPORTERS, EXPORTS } from '../../streams/exports.js'
import { INVOCATIONS, PAYLOAD_BYTES_MIN } from '../../streams/invocations.js'
import { KEYS } from '../../streams/keys.js'
import { OBSERVATIONS } from '../../streams/observations.js'
import { QUARANTINE } from '../../streams/quarantine.js'
import { ATTEMPTS, DEADLETTERS, RETRIES } from '../../streams/retries.js'
import { ConfigError } from '../config/settings.js'
import { reportWhileWaiting } from '../telemetry/waiting-time.js'
import { brokerErrorCode, NO_SUCH_STREAM } from './errors.js'
import { opened } from './opened.js'
import { refusalOf } from './server-version.js'

export interface BrokerSettings {
  /** Of one server, or of several, comma-separated. */
  readonly url: string
  readonly user: string
  readonly password: string
  /** The connection's name in the broker's monitoring: the role and its process. */
  readonly name: string
}

export interface Broker {
  readonly connection: NatsConnection
  readonly manager: JetStreamManager
  bucket(bucket: Bucket): Promise<KV>
  objects(bucket: ObjectBucket): Promise<ObjectStore>
  close(): Promise<void>
}

/** For one attempt at one server. */
const CONNECT_MS_MAX = 3_000

/**
 * Connects to NATS, waits for it without a time limit (the terminal says so), and reconnects without one. A JetStream
 * request fails after 2 s, so that no caller hangs on an unavailable broker.
 *
 * @throws ConfigError when the broker's `max_payload` is too small, or its version
 */
export async function connectBroker({ url, user, password, name }: BrokerSettings): Promise<Broker> {
  const connecting = connect({
    servers: url.split(','),
    // One server of several that takes packets and does not answer must not hold up a start for the client's 20 s.
    timeout: CONNECT_MS_MAX,
    ...(user === '' ? {} : { user, pass: password }),
    name,
    waitOnFirstConnect: true,
    maxReconnectAttempts: -1,
    reconnectTimeWait: 200,
    reconnectJitter: 100,
    pingInterval: 5_000,
    maxPingOut: 2,
    // Capturing a stack trace per request takes half of the client's time (measured).
    noAsyncTraces: true,
  })
  const connection = await reportWhileWaiting('NATS', url, connecting)
  const refusal = refusalOf(connection.info?.version ?? '')
  if (refusal !== undefined) {
    await connection.close()
    throw new ConfigError(refusal)
  }
  const payloadBytesMax = connection.info?.max_payload ?? 0
  if (payloadBytesMax < PAYLOAD_BYTES_MIN) {
    await connection.close()
    throw new ConfigError(
      `the broker accepts messages of at most ${payloadBytesMax} bytes: set its max_payload to ` +
        `${PAYLOAD_BYTES_MIN} or more`,
    )
  }
  const manager = await jetstreamManager(connection, { timeout: 2_000, checkAPI: false })
  const kvm = new Kvm(withCheapWatches(manager.jetstream(), connection))
  const objm = new Objm(manager.jetstream())

  return {
    connection,
    manager,
    async bucket({ name: bucketName }) {
      // Its leader answers each read: a follower may lack what another process has just written.
      const bucket = await opened(() => kvm.open(bucketName, { allow_direct: false }))
      return openedOver(connection, bucket, async (keys) => {
        const query = { last_by_subj: `$KV.${bucketName}.${keys}` }
        return (await manager.streams.getMessage(`KV_${bucketName}`, query))?.seq ?? 0
      })
    },
    objects: (bucket) => opened(() => objm.open(bucket.name)),
    close: () => connection.drain(),
  }
}

interface OpenedBucket {
  readonly connection: NatsConnection
  readonly newestOf: NewestOf
}
type NewestOf = (keys: string) => Promise<number>
const OPENED = new WeakMap<KV, OpenedBucket>()

/** Notes over which connection a bucket was opened, and how its newest entry is found. @returns the bucket */
export function openedOver(connection: NatsConnection, bucket: KV, newestOf: NewestOf): KV {
  OPENED.set(bucket, { connection, newestOf })
  return bucket
}

/** The connection over which a bucket was opened. */
export const connectionOf = (bucket: KV): NatsConnection | undefined => OPENED.get(bucket)?.connection

/**
 * The newest revision that a bucket holds of some keys, by its leader; 0: none.
 *
 * @param keys a key, or a wildcard of them
 */
export const newestRevision = async (bucket: KV, keys: string): Promise<number> =>
  (await OPENED.get(bucket)?.newestOf(keys)) ?? 0

/**
 * The client makes the consumer of a watch in the stream's storage. On disk, the broker then writes a file, and renames
 * it, for nearly every message that a watch delivers: 40 % of what an idle broker used. A watch needs no state: after a
 * restart of the broker it begins again (`mirror.ts`).
 *
 * It also has every consumer say every half minute that it lives, by which the client notices that it ended with its
 * server: some eighty watches of an instance were a third of the messages at rest.
 */
function withCheapWatches(js: JetStreamClient, connection: NatsConnection): JetStreamClient {
  // The client overwrites the heartbeat of its options.
  const { api } = js.consumers as unknown as { readonly api: { add: AddConsumer } }
  const add: AddConsumer = api.add.bind(api)
  api.add = (stream, config) => {
    // Pull consumers have no heartbeat of their own.
    if (config.deliver_subject === undefined) return add(stream, config)
    const rare = isWholeBroker(connection.info) && { idle_heartbeat: WATCH_HEARTBEAT_NS }
    return add(stream, { ...config, mem_storage: true, ...rare })
  }
  return js
}

type AddConsumer = (stream: string, config: Partial<ConsumerConfig>) => Promise<ConsumerInfo>
/** Of a server that holds all consumers itself: none of them ends before it. */
const WATCH_HEARTBEAT_NS = 5 * 60 * 1_000_000_000

/** Whether a server is all of its broker. A leaf node without JetStream passes requests on to another broker. */
export const isWholeBroker = (server: NatsConnection['info']): boolean =>
  server?.jetstream === true && server.cluster === undefined

/** Where JetStream puts streams: a cluster of a supercluster, and tags that a server must have. */
export interface Placement {
  readonly cluster?: string
  readonly tags?: readonly string[]
}

/** What a layout (`layout.ts`) says about streams. */
export interface StreamSettings {
  readonly replicas: number
  /**
   * Maximum bytes of INVOCATIONS; at nine tenths (`stream-capacity.ts`) the gateway replies 503, and nothing is lost.
   */
  readonly invocationsBytesMax: number
  /** The same of OBSERVATIONS. */
  readonly observationsBytesMax: number
  /** Maximum bytes of EVENTS, which discards its oldest. */
  readonly eventsBytesMax?: number
  /** The same of KEYS. */
  readonly keysBytesMax?: number
  readonly placement?: Placement
}

type DeclaredStream = Partial<StreamConfig> & { readonly name: string; readonly subjects: readonly string[] }

/** Every stream besides those of buckets, with its size. */
export const declaredStreams = (settings: StreamSettings): readonly DeclaredStream[] => [
  { ...INVOCATIONS, max_bytes: settings.invocationsBytesMax },
  { ...OBSERVATIONS, max_bytes: settings.observationsBytesMax },
  QUARANTINE,
  AUDIT,
  CHANGES,
  { ...EVENTS, max_bytes: settings.eventsBytesMax ?? EVENTS.max_bytes },
  DELIVERIES,
  RETRIES,
  DEADLETTERS,
  ATTEMPTS,
  EXPORTS,
  { ...KEYS, max_bytes: settings.keysBytesMax ?? KEYS.max_bytes },
]

/** The streams whose size belongs to the layout. */
export const SIZED_STREAMS: ReadonlySet<string> = new Set(
  [INVOCATIONS, OBSERVATIONS, EVENTS, KEYS].map(({ name }) => name),
)

/**
 * Creates the streams and buckets that are missing, as the layout says, and updates the others to their declared
 * configuration, except for what belongs to the layout: replicas, placement and sizes change by `applyLayout` only.
 * Safe to repeat, also by several roles concurrently.
 */
export async function ensureStreams(broker: Broker, settings: StreamSettings): Promise<void> {
  const declared = declaredStreams(settings)
  for (const stream of declared) await ensureStream(broker, stream, settings, declared)
  await broker.manager.consumers.add(EXPORTS.name, EXPORTERS)
  const { replicas } = settings
  const placed = placementOf(settings)
  const kvm = new Kvm(broker.manager.jetstream())
  for (const { name, history, ttlMs, expiryMarkMs } of BUCKETS) {
    const bucket = await kvm.create(name, {
      history,
      replicas,
      ...placed,
      ...(ttlMs === undefined ? {} : { ttl: ttlMs }),
      ...(expiryMarkMs === undefined ? {} : { markerTTL: expiryMarkMs }),
    })
    // One that an earlier version created may have another age.
    if (ttlMs !== undefined && (await bucket.status()).ttl !== ttlMs) {
      await broker.manager.streams.update(`KV_${name}`, { max_age: ttlMs * 1_000_000 })
    }
  }
  const objm = new Objm(broker.manager.jetstream())
  for (const { name } of OBJECT_BUCKETS) await objm.create(name, { replicas, ...placed })
}

/** Whether a stream that is full drops its oldest message; the others refuse new ones. */
export const discardsOldest = ({ config }: StreamInfo): boolean => config.discard === DiscardPolicy.Old

/** A stream's configuration and state; undefined when there is no such stream. */
export async function findStream(
  { manager }: Pick<Broker, 'manager'>,
  stream: string,
): Promise<StreamInfo | undefined> {
  try {
    return await manager.streams.info(stream)
  } catch (cause) {
    if (brokerErrorCode(cause) === NO_SUCH_STREAM) return undefined
    throw cause
  }
}

async function ensureStream(
  broker: Broker,
  stream: DeclaredStream,
  settings: StreamSettings,
  declared: readonly DeclaredStream[],
): Promise<void> {
  const { name } = stream
  const config = { ...stream, subjects: [...stream.subjects] }
  const found = await findStream(broker, name)
  if (found !== undefined) {
    const { max_bytes: _, ...unsized } = config
    const wanted: Partial<StreamConfig> = SIZED_STREAMS.has(name) ? unsized : config
    const has: Partial<StreamConfig> = found.config
    const isSame = (key: string): boolean =>
      JSON.stringify(has[key as keyof StreamConfig]) === JSON.stringify(wanted[key as keyof StreamConfig])
    if (!Object.keys(wanted).every(isSame)) await broker.manager.streams.update(name, wanted)
    return
  }
  try {
    await broker.manager.streams.add({ ...config, num_replicas: settings.replicas, ...placementOf(settings) })
  } catch (cause) {
    // Another process created it meanwhile. The broker checks the disk space before it checks whether the stream
    // exists.
    if ((await findStream(broker, name)) !== undefined) return
    throw brokerErrorCode(cause) === NO_ROOM ? new ConfigError(noRoomFor(stream, declared)) : cause
  }
}

/** As the client takes it. */
export const placementOf = ({ placement }: Pick<StreamSettings, 'placement'>) =>
  placement === undefined ? {} : { placement: { cluster: placement.cluster ?? '', tags: [...(placement.tags ?? [])] } }

function noRoomFor(config: Sized, all: readonly Sized[]): string {
  const bytes = all.reduce((sum, { max_bytes = 0 }) => sum + Math.max(0, max_bytes), 0)
  return `nats-server cannot reserve ${config.max_bytes} bytes of disk for stream ${config.name} \
(all streams need ${bytes}): it takes three quarters of the space that is free when it starts, unless max_file_store \
says otherwise; free some disk space, or make the largest stream smaller (--invocations-bytes-max)`
}
type Sized = { readonly name: string; readonly max_bytes?: number }

/** JetStream's error: insufficient storage to reserve. */
const NO_ROOM = 10_047
