import { expect, test } from 'vitest'
import { comparisonPublisher, correctionPublisher } from '../../../../internal/attribution/changes/publish-changes.js'
import { readMessages } from '../../../../internal/broker/log.js'
import { idHex } from '../../../../internal/ids/ids.js'
import { CHANGES, CHANGES_OF_ALL } from '../../../../streams/changes.js'
import { idOf } from '../../../support/invocations.js'
import { launchLogBroker } from '../../../support/planned-logs.js'
import { CORRELATED } from '../../../support/rows.js'

const correction = (number: number, cause: string) => ({
  tenantId: 'tnt_one',
  id: idOf(number),
  verdict: CORRELATED,
  cause,
})
const named = (number: number, cause: string): string => `7.${cause}.${idHex(idOf(number))}`

/** Message ids and groups of what is stored, in order. */
async function stored(broker: Awaited<ReturnType<typeof launchLogBroker>>) {
  const range = { stream: CHANGES.name, subject: CHANGES_OF_ALL, from: 1, messagesMax: 1_000, bytesMax: 2 ** 24 }
  const messages = await readMessages(broker.manager, range)
  return {
    ids: messages.map(({ header }) => header.get('Nats-Msg-Id')),
    groups: new Set(messages.map(({ header }) => header.get('Nats-Batch-Id'))).size,
  }
}

test('corrections of a batch are stored together, in order, also those of one record', async () => {
  const broker = await launchLogBroker()
  const corrections = Array.from({ length: 501 }, (_, i) => correction(i % 400, `a0.${i}`))
  const publish = correctionPublisher(broker, 7)

  await publish(corrections)
  await publish(corrections)

  // The last one is a group of its own.
  expect(await stored(broker)).toEqual({ ids: corrections.map(({ cause }, i) => named(i % 400, cause)), groups: 2 })
})

test('comparisons of a batch are stored together', async () => {
  const broker = await launchLogBroker()
  const calls = Array.from({ length: 20 }, (_, i) => {
    return { id: `call-${i}`, tenantId: 'tnt_one', members: [`${i}`], fromMs: 1, toMs: 2 }
  })

  await comparisonPublisher(broker)(calls)

  expect(await stored(broker)).toEqual({ ids: calls.map(({ id }) => `same.${id}`), groups: 1 })
})
