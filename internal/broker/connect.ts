import { type JetStreamManager, jetstreamManager } from '@nats-io/jetstream'
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
import { OBSERVATIONS } from '../../streams/observations.js'
import { QUARANTINE } from '../../streams/quarantine.js'
import { ATTEMPTS, DEADLETTERS, RETRIES } from '../../streams/retries.js'
import { ConfigError } from '../config/settings.js'
import { sayWhileWaiting } from '../telemetry/waiting.js'
import { brokerErrorCode } from './errors.js'

export interface BrokerSettings {
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

/**
 * Connects to NATS, waits for it without a time limit (the terminal says so), and reconnects without one. A JetStream request fails after 2 s,
 * so that no caller hangs on an unavailable broker.
 *
 * @throws ConfigError when the broker's `max_payload` is too small
 */
export async function connectBroker({ url, user, password, name }: BrokerSettings): Promise<Broker> {
  const connecting = connect({
    servers: url,
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
  const connection = await sayWhileWaiting('NATS', url, connecting)
  const payloadBytesMax = connection.info?.max_payload ?? 0
  if (payloadBytesMax < PAYLOAD_BYTES_MIN) {
    await connection.close()
    throw new ConfigError(
      `the broker accepts messages of at most ${payloadBytesMax} bytes: set its max_payload to ${PAYLOAD_BYTES_MIN} or more`,
    )
  }
  const manager = await jetstreamManager(connection, { timeout: 2_000, checkAPI: false })
  const kvm = new Kvm(manager.jetstream())
  const objm = new Objm(manager.jetstream())

  return {
    connection,
    manager,
    bucket: (bucket) => kvm.open(bucket.name),
    objects: (bucket) => objm.open(bucket.name),
    close: () => connection.drain(),
  }
}

export interface StreamSettings {
  readonly replicas: number
  /** Maximum bytes of INVOCATIONS; at nine tenths (`stream-capacity.ts`) the gateway replies 503, and nothing is lost. */
  readonly invocationsBytesMax: number
  /** The same of OBSERVATIONS. */
  readonly observationsBytesMax: number
  /** Maximum bytes of EVENTS, which discards its oldest. A stream that is larger keeps its size: shrinking it would drop events. */
  readonly eventsBytesMax?: number
}

/** Creates every stream and bucket, and updates existing ones to their declared configuration. Safe to repeat, also by several roles concurrently. */
export async function ensureStreams(broker: Broker, settings: StreamSettings): Promise<void> {
  const { replicas, invocationsBytesMax, observationsBytesMax, eventsBytesMax = EVENTS.max_bytes } = settings
  const declared = [
    { ...INVOCATIONS, max_bytes: invocationsBytesMax },
    { ...OBSERVATIONS, max_bytes: observationsBytesMax },
    QUARANTINE,
    AUDIT,
    CHANGES,
    { ...EVENTS, max_bytes: eventsBytesMax },
    DELIVERIES,
    RETRIES,
    DEADLETTERS,
    ATTEMPTS,
    EXPORTS,
  ]
  for (const stream of declared) {
    const config = { ...stream, subjects: [...stream.subjects], num_replicas: replicas }
    try {
      await broker.manager.streams.add(config)
    } catch (cause) {
      const code = brokerErrorCode(cause)
      if (code !== STREAM_NAME_IN_USE && code !== NO_ROOM) throw cause
      // The broker checks the disk space before it checks whether the stream already exists.
      if (code === NO_ROOM && !(await isThere(broker, config.name)))
        throw new Error(noRoomFor(config, declared), { cause })
      const kept = config.name === EVENTS.name ? { max_bytes: await atLeastAsNow(broker, eventsBytesMax) } : {}
      await broker.manager.streams.update(config.name, { ...config, ...kept })
    }
  }
  await broker.manager.consumers.add(EXPORTS.name, EXPORTERS)
  const kvm = new Kvm(broker.manager.jetstream())
  for (const { name, history, ttlMs, expiryMarkMs } of BUCKETS) {
    await kvm.create(name, {
      history,
      replicas,
      ...(ttlMs === undefined ? {} : { ttl: ttlMs }),
      ...(expiryMarkMs === undefined ? {} : { markerTTL: expiryMarkMs }),
    })
  }
  const objm = new Objm(broker.manager.jetstream())
  for (const { name } of OBJECT_BUCKETS) await objm.create(name, { replicas })
}

/** A role that is configured with a smaller size would otherwise drop the oldest events when it starts. */
async function atLeastAsNow(broker: Broker, bytesMax: number): Promise<number> {
  return Math.max(bytesMax, (await broker.manager.streams.info(EVENTS.name)).config.max_bytes)
}

async function isThere(broker: Broker, stream: string): Promise<boolean> {
  try {
    await broker.manager.streams.info(stream)
    return true
  } catch (cause) {
    if (brokerErrorCode(cause) === NO_SUCH_STREAM) return false
    throw cause
  }
}

function noRoomFor(config: Sized, all: readonly Sized[]): string {
  const bytes = all.reduce((sum, { max_bytes = 0 }) => sum + Math.max(0, max_bytes), 0)
  return `nats-server cannot reserve ${config.max_bytes} bytes of disk for stream ${config.name} (all streams need ${bytes}): \
free some disk space or set max_file_store; by default it uses three quarters of the space that is free when it starts`
}
type Sized = { readonly name: string; readonly max_bytes?: number }

/** JetStream's errors: a stream of that name has another configuration; insufficient storage to reserve; no such stream. */
const STREAM_NAME_IN_USE = 10_058
const NO_ROOM = 10_047
const NO_SUCH_STREAM = 10_059
