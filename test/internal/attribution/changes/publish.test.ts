import { expect, test } from 'vitest'
import { correctionPublisher } from '../../../../internal/attribution/changes/publish.js'
import type { Publisher, PublishResult } from '../../../../internal/broker/publisher.js'
import { idHex } from '../../../../internal/ids/ids.js'
import { idOf } from '../../../support/invocations.js'
import { CORRELATED } from '../../../support/rows.js'

/** A broker that answers when it is told to. */
function heldBroker() {
  const underWay: string[] = []
  const answers: ((result: PublishResult) => void)[] = []
  const publish: Publisher['publish'] = (_subject, _payload, messageId) => {
    underWay.push(messageId)
    return new Promise((resolve) => answers.push(resolve))
  }
  const answerAll = async (): Promise<void> => {
    underWay.length = 0
    for (const answer of answers.splice(0)) answer({ kind: 'stored', sequence: 1, duplicate: false })
    await new Promise(setImmediate)
  }
  return { publish, underWay, answerAll }
}

const correction = (number: number, cause: string) => ({
  tenantId: 'tnt_one',
  id: idOf(number),
  verdict: CORRELATED,
  cause,
})
const named = (number: number, cause: string): string => `7.${cause}.${idHex(idOf(number))}`

test('corrections go to the broker five hundred at a time', async () => {
  const { publish, underWay, answerAll } = heldBroker()
  const corrections = Array.from({ length: 501 }, (_, number) => correction(number, 'a0.1'))

  const done = correctionPublisher(publish, 7)(corrections)

  expect(underWay).toHaveLength(500)
  await answerAll()
  expect(underWay).toEqual([named(500, 'a0.1')])
  await answerAll()
  await done
})

test('of two corrections of a record the second waits until the first is stored', async () => {
  const { publish, underWay, answerAll } = heldBroker()
  const corrections = [correction(1, 'a0.1'), correction(2, 'a0.1'), correction(1, 'a0.9')]

  const done = correctionPublisher(publish, 7)(corrections)

  expect(underWay).toEqual([named(1, 'a0.1'), named(2, 'a0.1')])
  await answerAll()
  expect(underWay).toEqual([named(1, 'a0.9')])
  await answerAll()
  await done
})
