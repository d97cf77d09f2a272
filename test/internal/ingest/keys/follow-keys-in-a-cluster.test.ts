import { expect, test } from 'vitest'
import { type Broker, connectBroker } from '../../../../internal/broker/connect.js'
import { createPublisher } from '../../../../internal/broker/publisher.js'
import { bytesOf } from '../../../../internal/ids/key-hash.js'
import { AdmittedKeys, SENDER_BYTES } from '../../../../internal/ingest/keys/admitted-keys.js'
import { followKeys } from '../../../../internal/ingest/keys/follow-keys.js'
import { openKeys } from '../../../../internal/ingest/keys/open-keys.js'
import { createLog } from '../../../../internal/telemetry/log.js'
import { INVOCATIONS } from '../../../../streams/invocations.js'
import { KEYS, KEYS_SUBJECT } from '../../../../streams/keys.js'
import { addStream, type Cluster, launchCluster } from '../../../support/cluster.js'
import { atEnd } from '../../../support/run/at-end.js'
import { fingerprintOf, keyOf } from './keys.js'

/** Follows KEYS over the first server. @returns the server that has the consumer */
async function follow({ connection, manager }: Broker, keys: ReturnType<typeof openKeys>): Promise<number> {
  const stopping = new AbortController()
  const missing = { onGap: () => undefined, onCaughtUp: () => undefined }
  await followKeys({
    connection,
    manager,
    keys,
    storeKeys: async () => undefined,
    sender: new Uint8Array(SENDER_BYTES),
    onConflict: () => undefined,
    missing,
    log: createLog('test', 'silent'),
    signal: stopping.signal,
  })
  const consumers = await manager.consumers.list(KEYS.name).next()
  const newest = consumers.sort((one, other) => other.created.localeCompare(one.created))[0]
  const server = Number(newest?.cluster?.leader?.slice(1))
  if (server !== 0) atEnd(() => stopping.abort())
  else stopping.abort()
  return server
}

test('a gateway goes on reading when the server with its consumer dies and its connection does not', async () => {
  const cluster: Cluster = await launchCluster()
  const broker = await connectBroker({ url: cluster.urls[0] ?? '', user: '', password: '', name: 'test' })
  for (const stream of [KEYS, INVOCATIONS]) {
    await addStream(broker, { ...stream, subjects: [...stream.subjects], num_replicas: 3 })
  }
  const { publish } = createPublisher(broker.connection)
  const admitted = async (number: number): Promise<void> => {
    const group = new AdmittedKeys(new Uint8Array(SENDER_BYTES).fill(7))
    group.add({ hash: bytesOf(keyOf(number)), fingerprint: bytesOf(fingerprintOf(number)), flags: 0 })
    while ((await publish(KEYS_SUBJECT, group.payload as Uint8Array, `m${number}`, 1_000)).kind !== 'stored');
  }
  await admitted(1)
  const keys = openKeys(AbortSignal.abort())
  let server = await follow(broker, keys)
  while (server === 0) server = await follow(broker, keys)

  await cluster.kill(server)
  await admitted(2)

  const storedAt = performance.now()
  await expect.poll(() => keys.lookup(keyOf(2), fingerprintOf(2), Date.now()), { timeout: 60_000 }).toBe('same')
  // By itself, the client notices it after 45 s.
  expect(performance.now() - storedAt).toBeLessThan(20_000)
  expect(broker.connection.isClosed()).toBe(false)
}, 180_000)
