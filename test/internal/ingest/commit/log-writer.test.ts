import { setTimeout as sleep } from 'node:timers/promises'
import { beforeAll, beforeEach, expect, test, vi } from 'vitest'
import { readLog } from '../../../../internal/broker/log.js'
import type { PublishResult } from '../../../../internal/broker/publisher.js'
import { createLogWriter, deliverOrphans, type LogWriter } from '../../../../internal/ingest/commit/log-writer.js'
import { SpoolDelivery } from '../../../../internal/ingest/commit/spool-delivery.js'
import { localFiles, type SpoolFiles } from '../../../../internal/ingest/spool/files.js'
import type { Spool } from '../../../../internal/ingest/spool/spool.js'
import { encodeEntry, encodeGroup } from '../../../../internal/invocations/invocation-group.js'
import { createLog } from '../../../../internal/telemetry/log.js'
import { METRICS } from '../../../../internal/telemetry/metrics.js'
import { INVOCATIONS, invocationsSubject } from '../../../../streams/invocations.js'
import { KEYS, KEYS_SUBJECT } from '../../../../streams/keys.js'
import { idOf, NOW_MS, validEvent } from '../../../support/invocations.js'
import { type LogBroker, launchLogBroker } from '../../../support/planned-logs.js'
import { open, systemError, temporaryFolder } from '../../../support/spool.js'

const SUBJECT = invocationsSubject('a', 0)
const log = createLog('test', 'silent')

let broker: LogBroker
let isUp = true
/** What happened, in order: a message at the broker, or the answer to a write. */
let happened: string[] = []
/** Of the next messages, by subject: what the broker does with them instead. */
let fails: Record<string, PublishResult['kind'] | undefined> = {}
/** The subjects whose messages the broker refuses. */
let refused: ReadonlySet<string> = new Set()

beforeAll(async () => {
  broker = await launchLogBroker()
})

beforeEach(async () => {
  isUp = true
  happened = []
  fails = {}
  refused = new Set()
  for (const { name } of [INVOCATIONS, KEYS]) await broker.manager.streams.purge(name)
})

const publisher: LogBroker['publish'] = async (subject, ...message) => {
  const failure = refused.has(subject) ? 'refused' : fails[subject]
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

interface OpenWriter extends LogWriter {
  readonly spool: Spool
  readonly keySpool: Spool
  readonly delivery: SpoolDelivery
}

async function writer({ keyBytesMax = 2 ** 20, keyFiles = localFiles } = {}) {
  const { spool } = await open(await temporaryFolder())
  const { spool: keySpool } = await open(await temporaryFolder(), { bytesMax: keyBytesMax, files: keyFiles })
  const deps = { publisher: { publish: publisher }, spool, keySpool, isBrokerUp: () => isUp, partitions: 2, log }
  const delivery = new SpoolDelivery(deps)
  const { store, storeKeys, close } = createLogWriter({ ...deps, delivery })
  const storeBoth: LogWriter['store'] = async (subject, payload, messageId, keys) => {
    const stored = await store(subject, payload, messageId, keys)
    const isInLog = stored.kind === 'stored' && stored.sequence !== undefined
    if (!isInLog || keys === undefined) return stored
    await storeKeys(keys)
    return stored
  }
  return { store: storeBoth, storeKeys, close, spool, keySpool, delivery } satisfies OpenWriter
}

const read = (stream: string, subject: string) =>
  readLog(broker.manager, { stream, subject, from: 1, messagesMax: 1_000, bytesMax: 4 * 1024 ** 2 })
const storedKeys = async () => (await read(KEYS.name, KEYS_SUBJECT)).map(({ data }) => Uint8Array.from(data))
const storedGroups = async () => (await read(INVOCATIONS.name, SUBJECT)).map(({ messageId }) => messageId)

/** By the ids of the events, in the order of the log. */
async function storedEvents(): Promise<number[]> {
  const events = (await read(INVOCATIONS.name, SUBJECT)).flatMap(({ data }) => JSON.parse(Buffer.from(data).toString()))
  const ids = Array.from({ length: 1_000 }, (_, event) => Buffer.from(idOf(event)).toString('hex'))
  return events.map(({ i }: { readonly i: string }) => ids.indexOf(i))
}

async function untilDrained({ spool, keySpool }: Pick<OpenWriter, 'spool' | 'keySpool'>): Promise<void> {
  while (!spool.isEmpty || !keySpool.isEmpty) await sleep(10)
}

test('the keys of a message are stored after it, and a message without keys adds none', async () => {
  const from = await writer()

  const sequence = expect.any(Number)
  expect(await from.store(SUBJECT, messageOf(1), 'm.0', keysOf(1))).toEqual({ kind: 'stored', sequence })
  expect(await from.store(SUBJECT, messageOf(2), 'm.1')).toEqual({ kind: 'stored', sequence })

  expect(happened).toEqual([`${SUBJECT} stored`, `${KEYS_SUBJECT} stored`, `${SUBJECT} stored`])
  expect(await storedKeys()).toEqual([keysOf(1)])
  await from.close()
})

test('while the broker is unavailable both go to the spool, and they reach the log in order afterwards', async () => {
  isUp = false
  const from = await writer()

  expect(await from.store(SUBJECT, messageOf(1), 'n.0', keysOf(1))).toEqual({ kind: 'stored' })
  expect(await from.store(SUBJECT, messageOf(2), 'n.1', keysOf(2))).toEqual({ kind: 'stored' })
  expect(from.spool.isEmpty).toBe(false)
  expect(await storedGroups()).toEqual([])

  isUp = true
  await untilDrained(from)
  expect(await storedEvents()).toEqual([1, 2])
  expect(await storedKeys()).toEqual([keysOf(1), keysOf(2)])
  expect(happened).toEqual([SUBJECT, KEYS_SUBJECT, KEYS_SUBJECT].map((subject) => `${subject} stored`))
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

  expect([from.spool.isEmpty, from.keySpool.isEmpty]).toEqual([true, true])
  expect(await storedKeys()).toEqual([])
  await from.close()
})

/** A spool with these records, as a dead gateway left it. */
async function leftBehind(...records: readonly (readonly [subject: string, id: string, data: Uint8Array])[]) {
  const folder = await temporaryFolder()
  const { spool } = await open(folder)
  await spool.append(records.map(([subject, messageId, payload]) => ({ subject, messageId, payload })))
  return { folder, spool }
}

test('events do not wait for a stream that does not take their keys, which reach it later', async () => {
  const { spool } = await leftBehind([KEYS_SUBJECT, 't.k', keysOf(1)], [SUBJECT, 't.0', messageOf(1)])
  refused = new Set([KEYS_SUBJECT])
  const from = await writer()

  await deliverOrphans({ spools: [spool], delivery: from.delivery, log, signal: new AbortController().signal })
  const sequence = expect.any(Number)
  expect(await from.store(SUBJECT, messageOf(2), 't.1', keysOf(2))).toEqual({ kind: 'stored', sequence })
  expect(await from.store(SUBJECT, messageOf(3), 't.2', keysOf(3))).toEqual({ kind: 'stored', sequence })

  expect(await storedGroups()).toEqual(['t.0', 't.1', 't.2'])
  expect([from.spool.count, from.keySpool.count]).toEqual([0, 3])
  refused = new Set()
  await untilDrained(from)
  expect(await storedKeys()).toEqual([keysOf(1), keysOf(2), keysOf(3)])
  await from.close()
})

test.each(['has no space for', 'fails to take'])(
  'keys that the disk %s either are counted, and their events are accepted',
  async (what) => {
    refused = new Set([KEYS_SUBJECT])
    const from = await writer(what.startsWith('has') ? { keyBytesMax: 10 } : {})
    const failed = { kind: 'failed', error: systemError('EIO') } as const
    if (what.startsWith('fails')) vi.spyOn(from.keySpool, 'append').mockResolvedValue(failed)
    const lost = async (): Promise<number> => {
      const metrics = await METRICS.getMetricsAsJSON()
      return metrics.find(({ name }) => name === 'attribution_admission_keys_lost_total')?.values[0]?.value ?? 0
    }
    const before = await lost()

    expect(await from.store(SUBJECT, messageOf(1), `u.${what}`, keysOf(1))).toMatchObject({ kind: 'stored' })

    expect(await lost()).toBe(before + 1)
    await from.close()
  },
)

test('a record of a stream that no longer exists holds up no event, and is reported', async () => {
  const warn = vi.spyOn(log, 'warn')
  const ids = Buffer.alloc(32)
  const { folder, spool } = await leftBehind(
    ['unconfirmed', 'v.u', ids],
    [SUBJECT, 'v.0', messageOf(1)],
    ['unconfirmed', 'v.v', ids],
    [SUBJECT, 'v.1', messageOf(2)],
  )
  const { delivery } = await writer()

  await deliverOrphans({ spools: [spool], delivery, log, signal: new AbortController().signal })

  expect(await storedEvents()).toEqual([1, 2])
  expect(warn.mock.calls).toEqual([[{ subject: 'unconfirmed', messages: 2, folder }, expect.stringMatching('dropped')]])
  expect((await open(folder)).spool.isEmpty).toBe(true)
  warn.mockRestore()
})

test('events of a partition that the layout no longer has go to one that is read', async () => {
  const { spool } = await leftBehind([invocationsSubject('a', 6), 'w.0', messageOf(1)])
  const { delivery } = await writer()

  await deliverOrphans({ spools: [spool], delivery, log, signal: new AbortController().signal })

  expect(await storedGroups()).toEqual(['w.0'])
})

test('a spool that waits holds up no other, says what it waits for, and stays for the next gateway', async () => {
  const warn = vi.spyOn(log, 'warn')
  const blocked = invocationsSubject('a', 1)
  refused = new Set([blocked])
  const first = await leftBehind([blocked, 'x.0', messageOf(1)], [SUBJECT, 'x.1', messageOf(2)])
  const second = await leftBehind([SUBJECT, 'x.2', messageOf(3)])
  const { delivery } = await writer()
  const stopping = new AbortController()

  const spools = [first.spool, second.spool]
  const delivered = deliverOrphans({ spools, delivery, log, signal: stopping.signal })
  await vi.waitFor(() => expect(warn).toHaveBeenCalled())
  while (!second.spool.isEmpty) await sleep(10)
  stopping.abort()
  await delivered

  expect(await storedGroups()).toEqual(['x.2'])
  const { folder } = first
  const refusal = { kind: 'refused', errorCode: 0, description: '' }
  expect(warn.mock.calls).toEqual([[{ subject: blocked, folder, ...refusal }, expect.stringMatching('waits')]])
  expect((await open(folder)).spool.count).toBe(2)
  warn.mockRestore()
})

test('many small groups reach the log in few messages, and not again if the log refuses what follows', async () => {
  const events = Array.from({ length: 300 }, (_, event) => event)
  const blocked = invocationsSubject('a', 1)
  refused = new Set([blocked])
  const { spool } = await leftBehind(...events.map((event) => [SUBJECT, `z.${event}`, messageOf(event)] as const), [
    blocked,
    'z.blocked',
    messageOf(500),
  ])
  const { delivery } = await writer()
  const rounds = vi.spyOn(spool, 'drain')
  const stopping = new AbortController()

  const delivered = deliverOrphans({ spools: [spool], delivery, log, signal: stopping.signal })
  await vi.waitFor(() => expect(rounds.mock.calls.length).toBeGreaterThan(4), { timeout: 20_000 })
  stopping.abort()
  await delivered

  expect(spool.count).toBe(1)
  expect((await storedGroups()).length).toBeLessThan(5)
  expect(await storedEvents()).toEqual(events)
})

test.each(['it cannot be read', 'the keys in it cannot be written to a spool of their own'])(
  'a spool that a disk holds up says so once, not in every round: %s',
  async (what) => {
    const error = vi.spyOn(log, 'error')
    let isBroken = false
    const failing: SpoolFiles = {
      ...localFiles,
      async open(path) {
        if (isBroken) throw systemError('EIO')
        return localFiles.open(path)
      },
      async create(path) {
        if (isBroken) throw systemError('EIO')
        return localFiles.create(path)
      },
    }
    refused = new Set([KEYS_SUBJECT])
    const folder = await temporaryFolder()
    const { spool } = await open(folder, what.includes('keys') ? {} : { files: failing })
    const { delivery } = await writer({ keyFiles: failing })
    await spool.append([{ subject: KEYS_SUBJECT, messageId: '', payload: keysOf(1) }])
    isBroken = true
    const rounds = vi.spyOn(spool, 'drain')
    const stopping = new AbortController()

    const delivered = deliverOrphans({ spools: [spool], delivery, log, signal: stopping.signal })
    await vi.waitFor(() => expect(rounds.mock.calls.length).toBeGreaterThan(4), { timeout: 5_000 })
    stopping.abort()
    await delivered

    const err = expect.objectContaining({ code: 'EIO' })
    expect(error.mock.calls).toEqual([[{ err, folder }, expect.stringMatching('waits')]])
    error.mockRestore()
  },
)

test('a gateway that stops delivers what waits if the broker is up', async () => {
  isUp = false
  const from = await writer()
  await from.store(SUBJECT, messageOf(1), 'y.0', keysOf(1))
  isUp = true

  await from.close()

  expect(await storedGroups()).toEqual(['y.0'])
  expect(await storedKeys()).toEqual([keysOf(1)])
})

test('the spools of dead gateways reach the log with their keys, once the broker is back, and are released', async () => {
  const { folder, spool: left } = await leftBehind([SUBJECT, 'r.0', messageOf(1)], [KEYS_SUBJECT, 'r.0.k', keysOf(1)])
  isUp = false
  const { delivery } = await writer()
  const spools = [left, (await open(await temporaryFolder())).spool]
  const { signal } = new AbortController()

  const delivered = deliverOrphans({ spools, delivery, log, signal })
  await sleep(150)
  expect(await storedGroups()).toEqual([])
  isUp = true
  await delivered

  expect(await storedGroups()).toEqual(['r.0'])
  expect(await storedKeys()).toEqual([keysOf(1)])
  expect((await open(folder)).spool.isEmpty).toBe(true)
})

test('a gateway that stops leaves what it could not deliver of them to the next', async () => {
  isUp = false
  const { folder, spool } = await leftBehind([SUBJECT, 's.0', messageOf(1)])
  const { delivery } = await writer()
  const stopping = new AbortController()

  const delivered = deliverOrphans({ spools: [spool], delivery, log, signal: stopping.signal })
  stopping.abort()
  await delivered

  expect(await storedGroups()).toEqual([])
  expect((await open(folder)).spool.isEmpty).toBe(false)
})
