import { expect, test } from 'vitest'
import { readLog } from '../../../internal/broker/log.js'
import { type GroupPublisher, publishAllOrThrow } from '../../../internal/broker/publisher.js'
import { quarantine, REASON_HEADER } from '../../../internal/broker/quarantine.js'
import { messagesAfter } from '../../../internal/broker/stream-tail.js'
import { EVENTS, EVENTS_OF_ALL, eventsSubject } from '../../../streams/events.js'
import { QUARANTINE, quarantineSubject } from '../../../streams/quarantine.js'
import { dueSubject, RETRIES, retrySubject } from '../../../streams/retries.js'
import { countingPublisher } from '../../support/counting-publisher.js'
import { launchLogBroker } from '../../support/planned-logs.js'

const subject = eventsSubject('tnt_one', 'attribution.materialized')
const messageOf = (messageId: string) => ({ subject, payload: Buffer.alloc(600, messageId), messageId })

test.each([
  [10_174, 'groups are switched off, as on a stream of an older release'],
  [10_176, 'the group is incomplete'],
  [10_199, 'the group is larger than the operator allows'],
  [10_201, 'a message is known'],
  [10_210, 'too many groups are open'],
])('a group that the broker refuses (%i, %s) is published one by one', async (errorCode, description) => {
  const published: string[] = []
  const refusing: GroupPublisher = {
    publishTogether: async () => ({ kind: 'refused', errorCode, description }),
    async publish(_subject, _payload, messageId) {
      published.push(messageId)
      return { kind: 'stored', sequence: published.length, duplicate: false }
    },
  }
  const ids = Array.from({ length: 600 }, (_, i) => `evt_${i}`)

  await publishAllOrThrow(refusing, ids, messageOf)

  expect(published).toEqual(ids)
})

test('schedules are stored as a group, a later one replaces the first, and each comes once when it is due', async () => {
  const broker = await launchLogBroker()
  const { publisher, writes } = countingPublisher(broker)
  const ids = Array.from({ length: 100 }, (_, i) => `dlv_${i}`)
  const scheduled = (atMs: number, text: string) =>
    publishAllOrThrow(publisher, ids, (id) => ({
      subject: retrySubject(0, 'whk_one', id),
      payload: Buffer.from(`${text} ${id}`),
      messageId: '',
      more: { schedule: { atMs, subject: dueSubject(0) } },
    }))
  await scheduled(Date.now() + 3_600_000, 'first')
  await scheduled(Date.now() + 1_000, 'second')

  expect(writes()).toBe(2)
  const range = { stream: RETRIES.name, subject: 'retries.>', from: 1, messagesMax: 1_000, bytesMax: 2 ** 20 }
  const stored = async () =>
    (await readLog(broker.manager, range)).map(({ subject, data }) => [subject, Buffer.from(data).toString()]).sort()
  await expect.poll(stored, { timeout: 20_000 }).toEqual(ids.map((id) => [dueSubject(0), `second ${id}`]).sort())
})

test('poison messages are stored as a group, each with its own headers', async () => {
  const broker = await launchLogBroker()
  const { publisher, writes } = countingPublisher(broker)
  const poison = Array.from({ length: 300 }, (_, i) => {
    return { id: `a.${i}`, log: 'invocations.a.0', data: Buffer.from(`${i}`), reason: `rule_failed: Error${i}` }
  })

  await quarantine(publisher, quarantineSubject('a'), poison)

  expect(writes()).toBe(1)
  const stored: string[][] = []
  for await (const some of messagesAfter(broker.manager, { stream: QUARANTINE.name, subject: '>' }, 0, poison.length))
    stored.push(
      ...some.map(({ header, data }) => [
        header.get('Nats-Msg-Id'),
        header.get(REASON_HEADER),
        Buffer.from(data).toString(),
      ]),
    )
  expect(stored).toEqual(
    poison.map(({ id, reason, data }) => [`quarantine.${id}`, reason, Buffer.from(data).toString()]),
  )
})

test('groups that are repeated until they are stored are there once and in order, though the broker is killed', async () => {
  const broker = await launchLogBroker()
  const groups = Array.from({ length: 30 }, (_, group) => Array.from({ length: 200 }, (_, i) => `${group}.${i}`))
  const killed = [3, 12, 21]
  let restarting: Promise<void> | undefined

  for (const [at, group] of groups.entries()) {
    for (let isStored = false; !isStored; ) {
      const publishing = publishAllOrThrow(broker, group, messageOf)
      // Sent, and not acknowledged.
      if (killed.includes(at)) restarting = broker.connection.flush().then(() => broker.restart())
      if (killed.includes(at)) killed.shift()
      isStored = await publishing.then(
        () => true,
        () => false,
      )
      await restarting
    }
  }

  const range = { stream: EVENTS.name, subject: EVENTS_OF_ALL, from: 1, messagesMax: 10_000, bytesMax: 2 ** 26 }
  expect(killed).toEqual([])
  expect((await readLog(broker.manager, range)).map(({ messageId }) => messageId)).toEqual(groups.flat())
})
