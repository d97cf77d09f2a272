/** Every bucket on a real broker, for a test file. */
import type { KV } from '@nats-io/kv'
import { type Broker, connectBroker, ensureStreams } from '../../internal/broker/connect.js'
import type { Bucket } from '../../streams/buckets.js'
import { launchBroker } from './broker.js'

export interface Buckets {
  readonly url: string
  open(bucket: Bucket): Promise<KV>
  /** The connection of another process. */
  connect(): Promise<Broker>
  /** Ends the broker by `kill -9`, and starts it again. */
  restart(): Promise<void>
  close(): Promise<void>
}

export async function launchBuckets(): Promise<Buckets> {
  const { url, restart } = await launchBroker()
  const brokers: Broker[] = []
  const connect = async (): Promise<Broker> => {
    const broker = await connectBroker({ url, user: '', password: '', name: 'test' })
    brokers.push(broker)
    return broker
  }
  const first = await connect()
  await ensureStreams(first, { replicas: 1, invocationsBytesMax: 2 ** 20, observationsBytesMax: 2 ** 20 })
  return {
    url,
    open: (bucket) => first.bucket(bucket),
    connect,
    restart,
    async close() {
      await Promise.all(brokers.map((broker) => broker.close()))
    },
  }
}
