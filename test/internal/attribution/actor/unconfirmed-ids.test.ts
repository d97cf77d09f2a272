import { beforeAll, beforeEach, expect, test } from 'vitest'
import { UnconfirmedIds } from '../../../../internal/attribution/actor/unconfirmed-ids.js'
import { publishOrThrow } from '../../../../internal/broker/publisher.js'
import { UNCONFIRMED, UNCONFIRMED_SUBJECT } from '../../../../streams/unconfirmed.js'
import { idOf } from '../../../support/invocations.js'
import { type LogBroker, launchLogBroker } from '../../../support/planned-logs.js'

const DAY_MS = 24 * 60 * 60 * 1000

let broker: LogBroker
let nowMs = 0

beforeAll(async () => {
  broker = await launchLogBroker()
})

beforeEach(async () => {
  nowMs = 0
  await broker.manager.streams.purge(UNCONFIRMED.name)
})

const ids = (): UnconfirmedIds => new UnconfirmedIds(broker.manager, () => nowMs)

const announce = (...events: readonly number[]): Promise<void> =>
  publishOrThrow(broker.publish, UNCONFIRMED_SUBJECT, Buffer.concat(events.map(idOf)), '')

test('an id is known from the first read after it was stored, and no other id is', async () => {
  const known = ids()
  await known.upToNow()
  await announce(1, 2)
  await announce(3)
  expect(known.mayHave(idOf(1))).toBe(false)

  await known.upToNow()

  expect([1, 2, 3, 4].map((event) => known.mayHave(idOf(event)))).toEqual([true, true, true, false])
})

test('a read begins after it was asked for, although another one is under way', async () => {
  const known = ids()
  const under = known.upToNow()
  await announce(5)
  await Promise.all([under, known.upToNow()])

  expect(known.mayHave(idOf(5))).toBe(true)
})

test('many messages are read, also from a stream whose first ones are gone', async () => {
  for (let event = 10; event < 1_300; event++) await announce(event)
  const { state } = await broker.manager.streams.info(UNCONFIRMED.name)
  await broker.manager.streams.purge(UNCONFIRMED.name, { seq: state.first_seq + 100 })

  const known = ids()
  await known.upToNow()

  expect([109, 110, 800, 1_299].map((event) => known.mayHave(idOf(event)))).toEqual([false, true, true, true])
})

test('an id is forgotten after a day, and a broker that does not answer fails the read', async () => {
  const known = ids()
  await announce(7)
  await known.upToNow()
  nowMs = DAY_MS + 2_000
  expect(known.mayHave(idOf(7))).toBe(false)

  await broker.connection.close()
  await expect(known.upToNow()).rejects.toThrow()
})
