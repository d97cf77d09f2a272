import { Kvm } from '@nats-io/kv'
import { beforeAll, expect, test, vi } from 'vitest'
import { type Broker, connectBroker } from '../../../internal/broker/connect.js'
import { readLog } from '../../../internal/broker/log.js'
import { mirrorBucket } from '../../../internal/broker/mirror.js'
import { createPublisher, publishAllOrThrow, publishOrThrow } from '../../../internal/broker/publisher.js'
import { AUDIT, auditSubject } from '../../../streams/audit.js'
import { DIRECTORY } from '../../../streams/buckets.js'
import { EVENTS, eventsSubject } from '../../../streams/events.js'
import { addStream, type Cluster, launchCluster } from '../../support/cluster.js'

const connect = (url: string): Promise<Broker> => connectBroker({ url, user: '', password: '', name: 'test' })

const RANGE = { stream: AUDIT.name, subject: 'audit.*', from: 1, messagesMax: 10, bytesMax: 2 ** 20 }

let cluster: Cluster
beforeAll(async () => {
  cluster = await launchCluster()
}, 60_000)

test('three replicas store groups of messages in order, and those of a repeated group once', async () => {
  const broker = await connect(cluster.url)
  await addStream(broker, { ...EVENTS, subjects: [...EVENTS.subjects], num_replicas: 3 })
  const publisher = createPublisher(broker.connection)
  const ids = Array.from({ length: 600 }, (_, i) => `evt_${i}`)
  const subject = eventsSubject('tnt_one', 'attribution.materialized')
  const publish = (some: readonly string[]) =>
    publishAllOrThrow(publisher, some, (messageId) => ({ subject, payload: Buffer.from(messageId), messageId }))

  await publish(ids.slice(0, 300))
  await publish(ids)
  await publish(ids)

  const range = { stream: EVENTS.name, subject, from: 1, messagesMax: 1_000, bytesMax: 2 ** 20 }
  const read = async (): Promise<string[]> => (await readLog(broker.manager, range)).map(({ messageId }) => messageId)
  await expect.poll(read, { timeout: 10_000 }).toEqual(ids)
  await broker.close()
}, 60_000)

test('with one of the listed servers down, a role connects, and reads what all three have stored', async () => {
  const before = await connect(cluster.url)
  await addStream(before, { ...AUDIT, subjects: [...AUDIT.subjects], num_replicas: 3 })
  const publisher = createPublisher(before.connection)
  for (const text of ['one', 'two', 'three'])
    await publishOrThrow(publisher.publish, auditSubject('tnt_one'), Buffer.from(text), text)
  await before.close()

  await cluster.kill(0)
  const broker = await connect(cluster.url)
  const read = async (): Promise<string> =>
    readLog(broker.manager, RANGE).then(
      (entries) => entries.map(({ messageId }) => messageId).join(),
      (cause: unknown) => String(cause),
    )

  await expect.poll(read, { timeout: 60_000 }).toBe('one,two,three')
  await broker.close()
}, 120_000)

/** A connection to the server that leads the stream: that server answers its reads itself. */
async function connectToLeader(): Promise<{ readonly broker: Broker; readonly leader: number }> {
  for (;;) {
    const broker = await connect(cluster.url)
    // While they elect a leader, the servers do not answer.
    const state = await broker.manager.streams.info(AUDIT.name).then(
      (info) => info.cluster,
      () => undefined,
    )
    const leader = cluster.ports.findIndex((port) => broker.connection.getServer().endsWith(`:${port}`))
    if (state?.leader === `n${leader}` && state.replicas?.every(({ current }) => current)) return { broker, leader }
    await broker.close()
  }
}

test('a read whose leader dies before it answers is asked of another server, and is complete', async () => {
  cluster.start(0)
  const { broker, leader } = await connectToLeader()

  // It takes the request and answers nothing.
  process.kill(cluster.pid(leader), 'SIGSTOP')
  const reading = readLog(broker.manager, RANGE)
  await cluster.kill(leader)
  const diedAt = performance.now()
  expect((await reading).map(({ messageId }) => messageId)).toEqual(['one', 'two', 'three'])
  console.log(`read ${Math.round(performance.now() - diedAt)} ms after the leader had died`)
  await broker.close()
}, 120_000)

test('what a role opens while there is no majority is open once there is one', async () => {
  cluster = await launchCluster()
  const before = await connect(cluster.url)
  const bucket = await new Kvm(before.manager.jetstream()).create(DIRECTORY.name, { replicas: 3 })
  await bucket.put('tnt.services.a', '{"size":1}')
  await before.close()
  const broker = await connect(cluster.urls[0] as string)
  const opened = await broker.bucket(DIRECTORY)
  const others = [1, 2].map((server) => cluster.pid(server))

  const watch = vi.spyOn(opened, 'watch')

  for (const pid of others) process.kill(pid, 'SIGSTOP')
  const opening = mirrorBucket(opened, () => undefined)
  try {
    await vi.waitUntil(() => watch.mock.results.length > 1, { timeout: 30_000 })
  } finally {
    for (const pid of others) process.kill(pid, 'SIGCONT')
  }

  expect([...(await opening).entries()]).toEqual([['tnt.services.a', { size: 1 }]])
  await broker.close()
}, 120_000)
