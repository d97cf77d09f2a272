import { setTimeout as sleep } from 'node:timers/promises'
import { beforeAll, beforeEach, expect, test } from 'vitest'
import { readLog } from '../../../../internal/broker/log.js'
import type { PublishResult } from '../../../../internal/broker/publisher.js'
import { createLogWriter, deliverOrphans, type LogWriter } from '../../../../internal/ingest/commit/log-writer.js'
import { encodeEntry, encodeGroup } from '../../../../internal/invocations/invocation-group.js'
import { createLog } from '../../../../internal/telemetry/log.js'
import { INVOCATIONS, invocationsSubject } from '../../../../streams/invocations.js'
import { KEYS, KEYS_SUBJECT } from '../../../../streams/keys.js'
import { idOf, NOW_MS, validEvent } from '../../../support/invocations.js'
import { type LogBroker, launchLogBroker } from '../../../support/planned-logs.js'
import { open, temporaryFolder } from '../../../support/spool.js'

const SUBJECT = invocationsSubject('a', 0)
const log = createLog('test', 'silent')

let broker: LogBroker
let isUp = true
/** What happened, in order: a message at the broker, or the answer to a write. */
let happened: string[] = []
/** Of the next messages, by subject: what the broker does with them instead. */
let fails: Record<string, PublishResult['kind'] | undefined> = {}

beforeAll(async () => {
  broker = await launchLogBroker()
})

beforeEach(async () => {
  isUp = true
  happened = []
  fails = {}
  for (const { name } of [INVOCATIONS, KEYS]) await broker.manager.streams.purge(name)
})

const publisher: LogBroker['publish'] = async (subject, ...message) => {
  const failure = fails[subject]
  fails[subject] = undefined
  if (failure === 'unavailable') return { kind: 'unavailable', reason: 'timeout' }
  if (failure === 'refused') return { kind: 'refused', errorCode: 0, description: '' }
  const published = await broker.publish(subject, ...message)
  happened.push(`${subject} ${published.kind}`)
  return published
}

const messageOf = (...events: readonly number[]): Uint8Array =>
  encodeGroup(
    events.map((event) =>
      encodeEntry({ tenantId: 'tnt_one', principal: 'key_one', id: idOf(event), receivedAtMs: NOW_MS }, validEvent()),
    ),
  )
const keysOf = (byte: number): Uint8Array => new Uint8Array(33).fill(byte)

async function writer(): Promise<LogWriter> {
  const { spool } = await open(await temporaryFolder())
  return createLogWriter({ publisher: { publish: publisher }, spool, isBrokerUp: () => isUp, log })
}

const read = (stream: string, subject: string) =>
  readLog(broker.manager, { stream, subject, from: 1, messagesMax: 100, bytesMax: 1024 ** 2 })
const storedKeys = async () => (await read(KEYS.name, KEYS_SUBJECT)).map(({ data }) => Uint8Array.from(data))
const storedGroups = async () => (await read(INVOCATIONS.name, SUBJECT)).map(({ messageId }) => messageId)

async function untilDrained(from: LogWriter): Promise<void> {
  while (!from.isCaughtUp) await sleep(10)
}

test('the keys of a message are stored after it and before the answer, and a message without keys adds none', async () => {
  const from = await writer()

  const sequence = expect.any(Number)
  const first = await from.store(SUBJECT, messageOf(1), 'm.0', keysOf(1))
  happened.push('answered')
  expect(first).toEqual({ kind: 'stored', sequence })
  expect(await from.store(SUBJECT, messageOf(2), 'm.1')).toEqual({ kind: 'stored', sequence })

  expect(happened).toEqual([`${SUBJECT} stored`, `${KEYS_SUBJECT} stored`, 'answered', `${SUBJECT} stored`])
  expect(await storedKeys()).toEqual([keysOf(1)])
  const [kept] = await read(KEYS.name, KEYS_SUBJECT)
  expect(kept?.messageId).toBe('m.0.k')
  await from.close()
})

test('while the broker is away both go to the spool, and reach the log in their order once it is back', async () => {
  isUp = false
  const from = await writer()

  expect(await from.store(SUBJECT, messageOf(1), 'n.0', keysOf(1))).toEqual({ kind: 'stored' })
  expect(await from.store(SUBJECT, messageOf(2), 'n.1', keysOf(2))).toEqual({ kind: 'stored' })
  expect(from.isCaughtUp).toBe(false)
  expect(await storedGroups()).toEqual([])

  isUp = true
  await untilDrained(from)
  expect(await storedGroups()).toEqual(['n.0', 'n.1'])
  expect(await storedKeys()).toEqual([keysOf(1), keysOf(2)])
  expect(happened).toEqual([SUBJECT, KEYS_SUBJECT, SUBJECT, KEYS_SUBJECT].map((subject) => `${subject} stored`))
  await from.close()
})

test('a message that the broker does not answer goes to the spool with its keys', async () => {
  const from = await writer()
  fails = { [SUBJECT]: 'unavailable' }

  expect(await from.store(SUBJECT, messageOf(1), 'o.0', keysOf(1))).toEqual({ kind: 'stored', areBytesHeld: true })
  await untilDrained(from)

  expect(await storedGroups()).toEqual(['o.0'])
  expect(await storedKeys()).toEqual([keysOf(1)])
  await from.close()
})

test.each(['unavailable', 'refused'] as const)(
  'keys that could not be published after their message go to the spool alone: %s',
  async (failure) => {
    const from = await writer()
    fails = { [KEYS_SUBJECT]: failure }

    const sequence = expect.any(Number)
    expect(await from.store(SUBJECT, messageOf(1), `p.${failure}`, keysOf(1))).toEqual({ kind: 'stored', sequence })
    await untilDrained(from)

    expect(await storedGroups()).toEqual([`p.${failure}`])
    expect(await storedKeys()).toEqual([keysOf(1)])
    expect(happened).toEqual([`${SUBJECT} stored`, `${KEYS_SUBJECT} stored`])
    await from.close()
  },
)

test('of a message that the log refuses, no keys are known', async () => {
  const from = await writer()
  fails = { [SUBJECT]: 'refused' }

  expect(await from.store(SUBJECT, messageOf(1), 'q.0', keysOf(1))).toMatchObject({ kind: 'unavailable' })

  expect(from.isCaughtUp).toBe(true)
  expect(await storedKeys()).toEqual([])
  await from.close()
})

test('the spools of dead gateways reach the log with their keys, once the broker is back, and are released', async () => {
  const folder = await temporaryFolder()
  const { spool } = await open(folder)
  isUp = false
  const dead = createLogWriter({ publisher: { publish: publisher }, spool, isBrokerUp: () => isUp, log })
  await dead.store(SUBJECT, messageOf(1), 'r.0', keysOf(1))
  await dead.close()
  const { spool: left } = await open(folder)
  const spools = [left, (await open(await temporaryFolder())).spool]
  const { signal } = new AbortController()

  const delivered = deliverOrphans({ spools, publisher: { publish: publisher }, isBrokerUp: () => isUp, log, signal })
  await sleep(150)
  expect(await storedGroups()).toEqual([])
  isUp = true
  await delivered

  expect(await storedGroups()).toEqual(['r.0'])
  expect(await storedKeys()).toEqual([keysOf(1)])
  expect((await open(folder)).spool.isEmpty).toBe(true)
})

test('a gateway that stops leaves what it could not deliver of them to the next', async () => {
  const folder = await temporaryFolder()
  isUp = false
  const { spool } = await open(folder)
  await spool.append([{ subject: SUBJECT, payload: messageOf(1), messageId: 's.0' }])
  const stopping = new AbortController()

  const delivered = deliverOrphans({
    spools: [spool],
    publisher: { publish: publisher },
    isBrokerUp: () => isUp,
    log,
    signal: stopping.signal,
  })
  stopping.abort()
  await delivered

  expect(await storedGroups()).toEqual([])
  expect((await open(folder)).spool.isEmpty).toBe(false)
})
