import { expect, test } from 'vitest'
import { readLog } from '../../../internal/broker/log.js'
import { publishAllOrThrow } from '../../../internal/broker/publisher.js'
import { EVENTS, EVENTS_OF_ALL, eventsSubject } from '../../../streams/events.js'
import { launchLogBroker } from '../../support/planned-logs.js'

const subject = eventsSubject('tnt_one', 'attribution.materialized')
const messageOf = (messageId: string) => ({ subject, payload: Buffer.alloc(600, messageId), messageId })

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
