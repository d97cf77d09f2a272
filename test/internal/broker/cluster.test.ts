import { beforeAll, expect, test } from 'vitest'
import { type Broker, connectBroker } from '../../../internal/broker/connect.js'
import { readLog } from '../../../internal/broker/log.js'
import { createPublisher, publishOrThrow } from '../../../internal/broker/publisher.js'
import { AUDIT, auditSubject } from '../../../streams/audit.js'
import { addStream, type Cluster, launchCluster } from '../../support/cluster.js'

const connect = (url: string): Promise<Broker> => connectBroker({ url, user: '', password: '', name: 'test' })

let cluster: Cluster
beforeAll(async () => {
  cluster = await launchCluster()
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
  const range = { stream: AUDIT.name, subject: 'audit.*', from: 1, messagesMax: 10, bytesMax: 2 ** 20 }
  const read = async (): Promise<string> =>
    readLog(broker.manager, range).then(
      (entries) => entries.map(({ messageId }) => messageId).join(),
      (cause: unknown) => String(cause),
    )

  await expect.poll(read, { timeout: 60_000 }).toBe('one,two,three')
  await broker.close()
}, 120_000)
