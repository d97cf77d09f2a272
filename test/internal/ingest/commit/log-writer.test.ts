import { setTimeout as sleep } from 'node:timers/promises'
import { beforeAll, beforeEach, expect, test } from 'vitest'
import { readLog } from '../../../../internal/broker/log.js'
import { createLogWriter, type LogWriter } from '../../../../internal/ingest/commit/log-writer.js'
import { encodeEntry, encodeGroup } from '../../../../internal/invocations/invocation-group.js'
import { createLog } from '../../../../internal/telemetry/log.js'
import { INVOCATIONS, invocationsSubject } from '../../../../streams/invocations.js'
import { observationsSubject } from '../../../../streams/observations.js'
import { UNCONFIRMED, UNCONFIRMED_SUBJECT } from '../../../../streams/unconfirmed.js'
import { idOf, NOW_MS, validEvent } from '../../../support/invocations.js'
import { type LogBroker, launchLogBroker } from '../../../support/planned-logs.js'
import { open, temporaryFolder } from '../../../support/spool.js'

const SUBJECT = invocationsSubject('a', 0)

let broker: LogBroker
let isUp = true
let isAlone = false

beforeAll(async () => {
  broker = await launchLogBroker()
})

beforeEach(async () => {
  isUp = true
  isAlone = false
  for (const { name } of [INVOCATIONS, UNCONFIRMED]) await broker.manager.streams.purge(name)
})

const messageOf = (...events: readonly number[]): Uint8Array =>
  encodeGroup(
    events.map((event) =>
      encodeEntry({ tenantId: 'tnt_one', principal: 'key_one', id: idOf(event), receivedAtMs: NOW_MS }, validEvent()),
    ),
  )

async function writer(onCaughtUp: (waitedMs: number) => void = () => undefined): Promise<LogWriter> {
  const { spool } = await open(await temporaryFolder())
  const log = createLog('test', 'silent')
  return createLogWriter({ publisher: broker, spool, isBrokerUp: () => isUp, isAlone: () => isAlone, onCaughtUp, log })
}

const read = (stream: string, subject: string) =>
  readLog(broker.manager, { stream, subject, from: 1, messagesMax: 100, bytesMax: 1024 ** 2 })

const announced = async () => (await read(UNCONFIRMED.name, UNCONFIRMED_SUBJECT)).map(({ data }) => Buffer.from(data))

async function untilDrained(from: LogWriter): Promise<void> {
  while (!from.isCaughtUp) await sleep(10)
}

test('ids that nobody has confirmed are stored before the message, and others are not stored', async () => {
  const log = await writer()
  const unconfirmed = [idOf(1), idOf(2)]

  expect(await log.store(SUBJECT, messageOf(3), 'm.0', [])).toEqual({ kind: 'stored', sequence: expect.any(Number) })
  expect(await log.store(SUBJECT, messageOf(1, 2, 4), 'm.1', unconfirmed)).toMatchObject({ kind: 'stored' })

  expect(await announced()).toEqual([Buffer.concat(unconfirmed)])
  const [, message] = await read(INVOCATIONS.name, SUBJECT)
  const [notice] = await read(UNCONFIRMED.name, UNCONFIRMED_SUBJECT)
  expect((notice?.storedAt ?? '') < (message?.storedAt ?? '')).toBe(true)
  await log.close()
})

test('a message whose ids could not be stored first goes to the spool, behind them', async () => {
  const refusing = await broker.manager.streams.info(UNCONFIRMED.name)
  await broker.manager.streams.delete(UNCONFIRMED.name)
  const log = await writer()

  expect(await log.store(SUBJECT, messageOf(1), 'n.0', [idOf(1)])).toEqual({ kind: 'stored' })
  expect(await read(INVOCATIONS.name, SUBJECT)).toEqual([])

  await broker.manager.streams.add(refusing.config)
  await untilDrained(log)
  expect(await announced()).toEqual([Buffer.from(idOf(1))])
  expect(await read(INVOCATIONS.name, SUBJECT)).toHaveLength(1)
  await log.close()
})

test.each([
  { name: 'all events that wait in the spool are announced before they reach the log', alone: false, ids: [1, 2] },
  { name: 'a gateway without others announces none of them', alone: true, ids: [] },
])('$name', async ({ alone, ids }) => {
  isUp = false
  isAlone = alone
  const log = await writer()
  await log.store(SUBJECT, messageOf(1, 2), `o.${alone}`)
  await log.store(observationsSubject('tnt_one'), messageOf(3), `p.${alone}`)

  isUp = true
  await untilDrained(log)

  expect(Buffer.concat(await announced())).toEqual(Buffer.concat(ids.map(idOf)))
  expect(await read(INVOCATIONS.name, SUBJECT)).toHaveLength(1)
  await log.close()
})

test('it is said once that the log holds what was spooled, with how long the first of it waited', async () => {
  const said: number[] = []
  const log = await writer((waitedMs) => said.push(waitedMs))

  await log.store(SUBJECT, messageOf(1), 'late.0')
  isUp = false
  const startedAtMs = performance.now()
  await log.store(SUBJECT, messageOf(2), 'late.1')
  await sleep(50)
  await log.store(SUBJECT, messageOf(3), 'late.2')
  isUp = true
  while (said.length === 0) await sleep(10)
  const waitedMs = performance.now() - startedAtMs
  await log.close()

  expect(said).toEqual([expect.any(Number)])
  expect(said[0]).toBeGreaterThanOrEqual(50)
  expect(said[0]).toBeLessThanOrEqual(waitedMs)
  expect((await read(INVOCATIONS.name, SUBJECT)).length).toBe(3)
})
