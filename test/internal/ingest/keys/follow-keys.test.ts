import type { StoredMsg } from '@nats-io/jetstream'
import { beforeAll, beforeEach, expect, test } from 'vitest'
import type { KeyHash } from '../../../../internal/ids/key-hash.js'
import { bytesOf, hexOf } from '../../../../internal/ids/key-hash.js'
import { ADMITTED_KEY_BYTES, AdmittedKeys, SENDER_BYTES } from '../../../../internal/ingest/keys/admitted-keys.js'
import { followKeys } from '../../../../internal/ingest/keys/follow-keys.js'
import { openKeys } from '../../../../internal/ingest/keys/open-keys.js'
import { encodeEntry, encodeGroup } from '../../../../internal/invocations/invocation-group.js'
import type { AdmissionIndex, Verdict } from '../../../../internal/repeats/admission-index.js'
import { createLog } from '../../../../internal/telemetry/log.js'
import { INVOCATIONS, invocationsSubject } from '../../../../streams/invocations.js'
import { KEYS, KEYS_SUBJECT } from '../../../../streams/keys.js'
import { idOf, NOW_MS, validEvent } from '../../../support/invocations.js'
import { type LogBroker, launchLogBroker } from '../../../support/planned-logs.js'
import { atEnd } from '../../../support/run/at-end.js'

const FLAGS = 3
const [OWN, OTHER] = [Buffer.alloc(8, 1), Buffer.alloc(8, 2)]

let broker: LogBroker
let published = 0

beforeAll(async () => {
  broker = await launchLogBroker()
})

beforeEach(async () => {
  for (const { name } of [KEYS, INVOCATIONS]) await broker.manager.streams.purge(name)
})

const hashOf = (key: number): KeyHash => Int32Array.from([key, -key, key, key])
const bodyOf = (body: number): Int32Array => Int32Array.from([body, -body])

/** One message, of keys with their bodies. */
const admitted = (...keys: readonly (readonly [key: number, body: number])[]): Promise<void> => admittedBy(OTHER, keys)

async function admittedBy(sender: Uint8Array, keys: readonly (readonly [key: number, body: number])[]): Promise<void> {
  const group = new AdmittedKeys(sender)
  for (const [key, body] of keys) {
    group.add({ hash: bytesOf(hashOf(key)), fingerprint: bytesOf(bodyOf(body)), flags: FLAGS })
  }
  await broker.publish(KEYS_SUBJECT, group.payload as Uint8Array, `m${published++}`, 5_000)
}

/** A group of events in the log whose keys KEYS does not have. */
async function logged(subject: string, ...keys: readonly (readonly [key: number, body: number])[]): Promise<void> {
  const entries = keys.map(([key, body]) => {
    const admissionKey = { hash: bytesOf(hashOf(key)), fingerprint: bytesOf(bodyOf(body)), flags: FLAGS }
    const admission = { tenantId: 'tnt_one', principal: 'key_one', id: idOf(key), receivedAtMs: NOW_MS }
    return encodeEntry({ ...admission, key: admissionKey }, validEvent())
  })
  await broker.publish(subject, encodeGroup(entries), `g${published++}`, 5_000)
}

/** A gateway's index once it has started to follow, the keys of which it reported a conflict, and gaps. */
async function follower(manager = broker.manager, startMsMax?: number, sender = OWN) {
  const stopping = new AbortController()
  atEnd(() => stopping.abort())
  const keys = openKeys(stopping.signal)
  const conflicts: string[] = []
  const gaps: { readonly fromMs: number; readonly toMs: number }[] = []
  let caughtUp = (): void => undefined
  const whenCaughtUp = new Promise<void>((resolve) => {
    caughtUp = resolve
  })
  const deps = {
    ...broker,
    manager,
    keys,
    sender,
    onConflict: (key: KeyHash) => void conflicts.push(hexOf(key)),
    missing: {
      onGap: (fromMs: number, toMs: number) => void gaps.push({ fromMs, toMs }),
      onCaughtUp: caughtUp,
    },
    storeKeys,
    log: createLog('test', 'silent'),
    signal: stopping.signal,
  }
  await followKeys(deps, startMsMax)
  return { keys, conflicts, gaps, whenCaughtUp }
}

/** A gateway's, on its connection. */
const storeKeys = async (keys: Uint8Array): Promise<void> => {
  await broker.publish(KEYS_SUBJECT, keys, '', 5_000)
}

/** When the broker got the newest message. */
const newestAtMs = async (): Promise<number> =>
  (await broker.manager.streams.getMessage(KEYS.name, { last_by_subj: KEYS_SUBJECT }))?.time.getTime() ?? 0

const verdict = (keys: AdmissionIndex, key: number, body: number): Verdict =>
  keys.lookup(hashOf(key), bodyOf(body), Date.now())

test('a gateway has all keys of the stream when its start ends, and then each new one', async () => {
  for (let i = 0; i < 500; i++) await admitted([2 * i, 1], [2 * i + 1, 2])

  const { keys } = await follower()

  expect(keys.exactKeys).toBe(1_000)
  expect([verdict(keys, 998, 1), verdict(keys, 999, 1), verdict(keys, 1_000, 1)]).toEqual(['same', 'conflict', 'new'])
  expect(keys.flags).toBe(FLAGS)
  await admitted([1_000, 1])
  await expect.poll(() => verdict(keys, 1_000, 1)).toBe('same')
})

test('a gateway starts although all messages of the stream have expired', async () => {
  await admitted([1, 1])
  await broker.manager.streams.purge(KEYS.name)

  const { keys } = await follower()
  await admitted([2, 1])

  expect(verdict(keys, 1, 1)).toBe('new')
  await expect.poll(() => verdict(keys, 2, 1)).toBe('same')
})

test('of a key with two bodies the first one counts, and it is reported once', async () => {
  const { keys, conflicts } = await follower()

  await admitted([7, 1])
  await admitted([7, 1])
  await admitted([7, 2])
  await admitted([8, 1])

  await expect.poll(() => verdict(keys, 8, 1)).toBe('same')
  expect(verdict(keys, 7, 1)).toBe('same')
  expect(conflicts).toEqual([hexOf(hashOf(7))])
})

test('what a gateway wrote itself is passed over: it knows its own keys', async () => {
  const { keys, conflicts } = await follower()
  keys.admit(hashOf(9), bodyOf(1), FLAGS, Date.now())

  await admittedBy(OWN, [
    [9, 2],
    [10, 1],
  ])
  await admitted([11, 1])

  await expect.poll(() => verdict(keys, 11, 1)).toBe('same')
  expect(verdict(keys, 10, 1)).toBe('new')
  expect(conflicts).toEqual([])
})

test('a gateway goes on where it was when the broker is back, with what was written before and after', async () => {
  const { keys, conflicts } = await follower()
  await admitted([20, 1])
  await expect.poll(() => verdict(keys, 20, 1)).toBe('same')

  await broker.restart()
  await expect.poll(() => admitted([21, 1]).then(() => verdict(keys, 21, 1))).toBe('same')
  await admitted([20, 2])
  await expect.poll(() => conflicts).toEqual([hexOf(hashOf(20))])
  // What was read before the restart is not read again.
  expect(keys.exactKeys).toBe(2)
})

test('a gateway that stops follows no more', async () => {
  const missing = { onGap: () => undefined, onCaughtUp: () => undefined }
  const stopping = new AbortController()
  const keys = openKeys(stopping.signal)
  const deps = { ...broker, keys, sender: OWN, storeKeys, onConflict: () => undefined, missing }
  await followKeys({ ...deps, log: createLog('test', 'silent'), signal: stopping.signal })
  const other = await follower()

  stopping.abort()
  await admitted([30, 1])

  await expect.poll(() => verdict(other.keys, 30, 1)).toBe('same')
  expect(verdict(keys, 30, 1)).toBe('new')
})

test('a start that takes too long ends before all is read, and the rest is read afterwards', async () => {
  for (let i = 0; i < 200; i++) await admitted([i, 1])
  const { manager } = broker
  const { consumers } = manager.jetstream()
  let begin = (): void => undefined
  const begun = new Promise<void>((resolve) => {
    begin = resolve
  })
  const get: typeof consumers.get = (...asked) => begun.then(() => consumers.get(...asked))
  const jetstream = () => ({ consumers: { get } })

  const { keys, whenCaughtUp } = await follower(Object.assign(Object.create(manager), { jetstream }), 0)
  const before = keys.exactKeys
  begin()
  await whenCaughtUp

  expect(before).toBe(0)
  expect(keys.exactKeys).toBe(200)
})

test('a conflict that the stream had at the start is not reported again', async () => {
  await admitted([40, 1])
  await admitted([40, 2])

  const { keys, conflicts } = await follower()

  expect([verdict(keys, 40, 1), conflicts]).toEqual(['same', []])
})

test('a gateway starts although all messages were purged after it had asked what the stream has', async () => {
  await admitted([50, 1])
  const { manager } = broker
  const info = manager.streams.info.bind(manager.streams)
  let isPurged = false
  const streams = Object.assign(Object.create(manager.streams), {
    async info(name: string) {
      const before = await info(name)
      if (!isPurged) await manager.streams.purge(name)
      isPurged = true
      return before
    },
  })

  const { keys } = await follower(Object.assign(Object.create(manager), { streams }))
  await admitted([51, 1])

  await expect.poll(() => verdict(keys, 51, 1)).toBe('same')
})

test('a gateway reads a stream that was made anew from its beginning', async () => {
  for (let i = 0; i < 3; i++) await admitted([60 + i, 1])
  const { keys, gaps } = await follower()
  const beforeMs = await newestAtMs()

  await broker.manager.streams.delete(KEYS.name)
  await broker.manager.streams.add({ ...KEYS, subjects: [...KEYS.subjects] })
  await admitted([70, 1])

  await expect.poll(() => verdict(keys, 70, 1), { timeout: 10_000 }).toBe('same')
  expect(gaps.at(-1)).toEqual({ fromMs: beforeMs, toMs: await newestAtMs() })
})

test('a gateway whose consumer has died with its broker, unnoticed, reads on within seconds', async () => {
  await admitted([80, 1])
  let consumers = 0
  const { manager } = broker
  const js = manager.jetstream()
  const get = js.consumers.get.bind(js.consumers)
  const dead = async () => {
    let stop = (): void => undefined
    const closed = new Promise<void>((resolve) => {
      stop = resolve
    })
    return { consume: async () => ({ stop, closed: () => closed }) }
  }
  const jetstream = () => ({
    consumers: { get: (...asked: Parameters<typeof get>) => (consumers++ === 0 ? dead() : get(...asked)) },
  })

  const { keys } = await follower(Object.assign(Object.create(manager), { jetstream }))

  expect([verdict(keys, 80, 1), consumers]).toEqual(['same', 2])
})

test('where the stream does not go on, keys may be missing: before its first message, and where it was purged', async () => {
  const startedAtMs = Date.now()
  const { keys, gaps } = await follower()
  await admitted([90, 1])
  await expect.poll(() => verdict(keys, 90, 1)).toBe('same')
  await admitted([91, 1])
  await expect.poll(() => verdict(keys, 91, 1)).toBe('same')
  const other = await follower()

  expect(gaps).toEqual([{ fromMs: 0, toMs: expect.closeTo(startedAtMs, -4) }])
  expect(other.gaps).toEqual([{ fromMs: 0, toMs: expect.closeTo(startedAtMs, -4) }])
  expect(other.keys.exactKeys).toBe(2)
})

test.each(['a', 'l'] as const)(
  'keys that KEYS never got are known from the end of the log, stage %s',
  async (stage) => {
    await admitted([100, 1])
    await logged(invocationsSubject(stage, 0), [101, 1], [102, 2])
    await logged(invocationsSubject('b', 0), [103, 1])

    const { keys } = await follower()

    expect([verdict(keys, 101, 1), verdict(keys, 102, 1), verdict(keys, 103, 1)]).toEqual(['same', 'conflict', 'new'])
    expect([verdict(keys, 100, 1), keys.exactKeys]).toEqual(['same', 3])
  },
)

test('what KEYS lacked of the log is in KEYS after a start, and only that: the next one finds it there', async () => {
  await admitted([110, 1])
  await logged(invocationsSubject('a', 0), [110, 1], [111, 1], [112, 1])
  await follower()
  await broker.manager.streams.purge(INVOCATIONS.name)

  const { keys } = await follower(broker.manager, undefined, Buffer.alloc(8, 3))

  expect([verdict(keys, 111, 1), verdict(keys, 112, 2)]).toEqual(['same', 'conflict'])
  const newest = await broker.manager.streams.getMessage(KEYS.name, { last_by_subj: KEYS_SUBJECT })
  expect(newest?.data.length).toBe(SENDER_BYTES + 2 * ADMITTED_KEY_BYTES)
})

test('a gateway that runs reads the end of the log when the broker is back', async () => {
  const { keys } = await follower()
  await admitted([120, 1])
  await expect.poll(() => verdict(keys, 120, 1)).toBe('same')
  await logged(invocationsSubject('a', 1), [121, 1])
  expect(verdict(keys, 121, 1)).toBe('new')

  await broker.restart()

  await expect.poll(() => verdict(keys, 121, 2), { timeout: 10_000 }).toBe('conflict')
})

test('a start ends although the end of the log cannot be read, which goes on', async () => {
  await logged(invocationsSubject('a', 0), [130, 1])
  const { manager } = broker
  let isAway = true
  const getBatch: typeof manager.direct.getBatch = (...query) =>
    isAway ? Promise.reject(new Error('the broker does not answer')) : manager.direct.getBatch(...query)

  const away = Object.assign(Object.create(manager), {
    direct: Object.assign(Object.create(manager.direct), { getBatch }),
  })
  const { keys, whenCaughtUp } = await follower(away, 50)
  expect(verdict(keys, 130, 1)).toBe('new')
  isAway = false
  await whenCaughtUp

  expect(verdict(keys, 130, 1)).toBe('same')
})

test('a log that goes on long after KEYS may have had keys meanwhile that KEYS lost', async () => {
  await admitted([140, 1])
  const newestMs = await newestAtMs()
  const { manager } = broker
  const laterMs = newestMs + 60_000
  const getMessage: typeof manager.streams.getMessage = async () => ({ time: new Date(laterMs) }) as StoredMsg
  const streams = Object.assign(Object.create(manager.streams), { getMessage })

  const { gaps } = await follower(Object.assign(Object.create(manager), { streams }))

  expect(gaps.at(-1)).toEqual({ fromMs: newestMs + 10_000, toMs: laterMs })
})
