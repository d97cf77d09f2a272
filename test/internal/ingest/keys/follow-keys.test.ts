import { beforeAll, beforeEach, expect, test } from 'vitest'
import type { KeyHash } from '../../../../internal/ids/key-hash.js'
import { bytesOf, hexOf } from '../../../../internal/ids/key-hash.js'
import { AdmittedKeys } from '../../../../internal/ingest/keys/admitted-keys.js'
import { followKeys } from '../../../../internal/ingest/keys/follow-keys.js'
import { openKeys } from '../../../../internal/ingest/keys/open-keys.js'
import type { AdmissionIndex, Verdict } from '../../../../internal/repeats/admission-index.js'
import { createLog } from '../../../../internal/telemetry/log.js'
import { KEYS, KEYS_SUBJECT } from '../../../../streams/keys.js'
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
  await broker.manager.streams.purge(KEYS.name)
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

/** A gateway's index once it has started to follow, the keys of which it reported a conflict, and gaps. */
async function follower(manager = broker.manager, startMsMax?: number) {
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
    manager,
    keys,
    sender: OWN,
    onConflict: (key: KeyHash) => void conflicts.push(hexOf(key)),
    missing: {
      onGap: (fromMs: number, toMs: number) => void gaps.push({ fromMs, toMs }),
      onCaughtUp: caughtUp,
    },
    log: createLog('test', 'silent'),
    signal: stopping.signal,
  }
  await followKeys(deps, startMsMax)
  return { keys, conflicts, gaps, whenCaughtUp }
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
  const deps = { ...broker, keys, sender: OWN, onConflict: () => undefined, missing }
  await followKeys({ ...deps, log: createLog('test', 'silent'), signal: stopping.signal })
  const other = await follower()

  stopping.abort()
  await admitted([30, 1])

  await expect.poll(() => verdict(other.keys, 30, 1)).toBe('same')
  expect(verdict(keys, 30, 1)).toBe('new')
})

test('a start that takes too long ends before all is read, and the rest is read afterwards', async () => {
  for (let i = 0; i < 200; i++) await admitted([i, 1])

  const { keys, whenCaughtUp } = await follower(broker.manager, 0)
  const before = keys.exactKeys
  await whenCaughtUp

  expect(before).toBeLessThan(200)
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
