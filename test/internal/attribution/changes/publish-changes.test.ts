import { expect, test } from 'vitest'
import { correctionPublisher } from '../../../../internal/attribution/changes/publish-changes.js'
import type { Publisher, PublishResult } from '../../../../internal/broker/publisher.js'
import { idHex } from '../../../../internal/ids/ids.js'
import { idOf } from '../../../support/invocations.js'
import { CORRELATED } from '../../../support/rows.js'

/** A broker that acknowledges publishes only when `answerAll` is called. */
function manualBroker() {
  const inFlight: string[] = []
  const answers: ((result: PublishResult) => void)[] = []
  const publish: Publisher['publish'] = (_subject, _payload, messageId) => {
    inFlight.push(messageId)
    return new Promise((resolve) => answers.push(resolve))
  }
  const answerAll = async (): Promise<void> => {
    inFlight.length = 0
    for (const answer of answers.splice(0)) answer({ kind: 'stored', sequence: 1, duplicate: false })
    await new Promise(setImmediate)
  }
  return { publish, inFlight, answerAll }
}

const correction = (number: number, cause: string) => ({
  tenantId: 'tnt_one',
  id: idOf(number),
  verdict: CORRELATED,
  cause,
})
const named = (number: number, cause: string): string => `7.${cause}.${idHex(idOf(number))}`

test('at most five hundred corrections are in flight to the broker', async () => {
  const { publish, inFlight, answerAll } = manualBroker()
  const corrections = Array.from({ length: 501 }, (_, number) => correction(number, 'a0.1'))

  const done = correctionPublisher(publish, 7)(corrections)

  expect(inFlight).toHaveLength(500)
  await answerAll()
  expect(inFlight).toEqual([named(500, 'a0.1')])
  await answerAll()
  await done
})

test('the second of two corrections of a record is published only after the first is stored', async () => {
  const { publish, inFlight, answerAll } = manualBroker()
  const corrections = [correction(1, 'a0.1'), correction(2, 'a0.1'), correction(1, 'a0.9')]

  const done = correctionPublisher(publish, 7)(corrections)

  expect(inFlight).toEqual([named(1, 'a0.1'), named(2, 'a0.1')])
  await answerAll()
  expect(inFlight).toEqual([named(1, 'a0.9')])
  await answerAll()
  await done
})
