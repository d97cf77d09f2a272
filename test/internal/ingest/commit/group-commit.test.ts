import { expect, test, vi } from 'vitest'
import { turnNow } from '../../../../internal/http/turn-clock.js'
import { bytesOf } from '../../../../internal/ids/key-hash.js'
import type { Settler } from '../../../../internal/ingest/commit/commit-group.js'
import { GroupCommit } from '../../../../internal/ingest/commit/group-commit.js'
import type { Commit, LogWriter } from '../../../../internal/ingest/commit/log-writer.js'
import { isOfSender, readAdmittedKeys } from '../../../../internal/ingest/keys/admitted-keys.js'
import { decodeGroup } from '../../../../internal/invocations/invocation-group.js'
import { idOf, NOW_MS, validEvent } from '../../../support/invocations.js'

/** A log that answers on demand. */
function heldLog() {
  const writes: {
    subject: string
    payload: Uint8Array
    models: string[]
    messageId: string
    keys: Uint8Array | undefined
    settle: (commit: Commit) => void
  }[] = []
  const keyWrites: (() => void)[] = []
  const arrivals: (() => void)[] = []
  const writer: LogWriter = {
    store: (subject, payload, messageId, keys) =>
      new Promise((settle) => {
        const models = decodeGroup(payload, 1).map(({ event }) => event.requested_model)
        writes.push({ subject, payload, models, messageId, keys, settle })
        for (const arrived of arrivals.splice(0)) arrived()
      }),
    storeKeys: () =>
      new Promise((settle) => {
        keyWrites.push(settle)
        for (const arrived of arrivals.splice(0)) arrived()
      }),
    close: async () => undefined,
  }
  /** Of a message, or of keys. */
  const nextWrite = (): Promise<void> => new Promise((resolve) => arrivals.push(resolve))
  return { writer, writes, keyWrites, nextWrite }
}

const admission = { tenantId: 'tnt_one', principal: 'key_one', id: idOf(1), receivedAtMs: NOW_MS }
/** An event that differs from others by its id. */
const eventOf = (text: string) => ({ ...admission, id: idOf(text.charCodeAt(0)) })
/** The text of an event that differs from others by its model. */
const textOf = (model: string) => {
  const bytes = Buffer.from(JSON.stringify(validEvent({ requested_model: model })))
  return { bytes, start: 0, end: bytes.length }
}
const nobody = { foresee: () => undefined, settled: () => undefined }

test('events of one turn become one message per partition, and each event is notified', async () => {
  const { writer, writes, nextWrite } = heldLog()
  const groups = new GroupCommit(writer, 2)
  const told: string[] = []
  const settlerOf = (text: string): Settler => ({
    foresee: () => told.push(`${text} foreseen`),
    settled: ({ kind }) => told.push(`${text} ${kind}`),
  })
  const both = Promise.all([nextWrite(), nextWrite()])

  for (const [partition, text] of [
    [0, 'a'],
    [1, 'b'],
    [0, 'c'],
  ] as const) {
    groups.add(partition, eventOf(text), textOf(text), undefined, settlerOf(text))
  }
  await both
  for (const { settle } of writes) settle({ kind: 'stored' })
  await groups.idle()

  expect(writes.map(({ subject, models }) => [subject, models])).toEqual([
    ['invocations.a.0', ['a', 'c']],
    ['invocations.a.1', ['b']],
  ])
  // All of a group have what they need brought near before the first one uses it.
  expect(told.filter((line) => !line.startsWith('b'))).toEqual(['a foreseen', 'c foreseen', 'a stored', 'c stored'])
  expect(told.filter((line) => line.startsWith('b'))).toEqual(['b foreseen', 'b stored'])
})

test('a message is written with the keys of its events, and with none if they have none', async () => {
  const { writer, writes, nextWrite } = heldLog()
  const groups = new GroupCommit(writer, 2)
  const keyOf = (byte: number) => ({
    hash: Buffer.alloc(16, byte),
    fingerprint: Buffer.alloc(8, byte + 1),
    flags: byte,
  })
  const both = Promise.all([nextWrite(), nextWrite()])
  for (const [text, key] of [
    ['a', keyOf(3)],
    ['b', undefined],
    ['c', keyOf(7)],
  ] as const) {
    groups.add(0, { ...eventOf(text), key }, textOf(text), undefined, nobody)
    groups.add(1, eventOf(text), textOf(text), undefined, nobody)
  }
  await both
  for (const { settle } of writes) settle({ kind: 'stored' })
  await groups.idle()

  const keysOf = ({ keys = new Uint8Array() }: { readonly keys: Uint8Array | undefined }) =>
    Array.from(readAdmittedKeys(keys), ({ hash, fingerprint, flags }) => ({
      hash: Buffer.from(bytesOf(hash)),
      fingerprint: Buffer.from(bytesOf(fingerprint)),
      flags,
    }))
  const [own, other] = writes
  expect(own && keysOf(own)).toEqual([keyOf(3), keyOf(7)])
  expect(isOfSender(own?.keys ?? new Uint8Array(), groups.sender)).toBe(true)
  expect(isOfSender(own?.keys ?? new Uint8Array(), new GroupCommit(writer, 1).sender)).toBe(false)
  expect(other?.keys).toBeUndefined()
})

test('the number behind those of the partitions is the lane’s', async () => {
  const { writer, writes, nextWrite } = heldLog()
  const stored: number[][] = []
  const groups = new GroupCommit(writer, 3, (...message) => stored.push(message))
  const both = Promise.all([nextWrite(), nextWrite()])
  groups.add(3, eventOf('a'), textOf('slow'), undefined, nobody)
  groups.add(2, eventOf('b'), textOf('usual'), undefined, nobody)
  await both
  for (const [i, { settle }] of writes.entries()) settle({ kind: 'stored', sequence: 7 + i })
  await groups.idle()

  expect(writes.map(({ subject, models }) => [subject, models])).toEqual([
    ['invocations.a.2', ['usual']],
    ['invocations.l.0', ['slow']],
  ])
  expect(stored).toEqual([
    [2, 7],
    [3, 8],
  ])
  expect(() => groups.add(4, admission, textOf('a'), undefined, nobody)).toThrow(RangeError)
})

test('messages of the lane are small, so that others wait for little of it', async () => {
  const EVENTS = 400
  const sizesOf = async (partition: number): Promise<number[]> => {
    const { writer, writes } = heldLog()
    const store = writer.store
    const storing: LogWriter = {
      ...writer,
      store(...message) {
        void store(...message)
        return Promise.resolve({ kind: 'stored' })
      },
    }
    const groups = new GroupCommit(storing, 1)
    for (let i = 0; i < EVENTS; i++) groups.add(partition, admission, textOf('a'.repeat(200)), undefined, nobody)
    await groups.idle()
    expect(writes.flatMap(({ models }) => models)).toHaveLength(EVENTS)
    return writes.map(({ payload }) => payload.length)
  }

  expect(await sizesOf(0)).toHaveLength(1)
  const ofLane = await sizesOf(1)
  expect(Math.max(...ofLane)).toBeLessThanOrEqual(16 * 1024)
  expect(ofLane.length).toBeLessThan(20)
})

test('while a message is in flight the next group fills, and is sent after the acknowledgement', async () => {
  const { writer, writes, nextWrite } = heldLog()
  const groups = new GroupCommit(writer, 1)
  const first = nextWrite()
  groups.add(0, admission, textOf('a'), undefined, nobody)
  await first
  for (const text of ['b', 'c', 'd']) groups.add(0, admission, textOf(text), undefined, nobody)
  expect(writes.length).toBe(1)

  const second = nextWrite()
  writes[0]?.settle({ kind: 'stored' })
  await second
  writes[1]?.settle({ kind: 'stored' })
  await groups.idle()

  expect(writes.map(({ models }) => models)).toEqual([['a'], ['b', 'c', 'd']])
  expect(new Set(writes.map(({ messageId }) => messageId)).size).toBe(2)
})

/** Adds events with a key each, and notes what happens, in order. */
function withKeys(groups: GroupCommit, happened: string[]) {
  const key = { hash: Buffer.alloc(16), fingerprint: Buffer.alloc(8), flags: 0 }
  return (text: string): void => {
    groups.add(0, { ...eventOf(text), key }, textOf(text), undefined, {
      foresee: () => undefined,
      settled: ({ kind }) => happened.push(`${text} ${kind}`),
    })
  }
}

test('a group is answered once the log has it: its keys are on their way by then, and not awaited', async () => {
  const { writer, writes, keyWrites, nextWrite } = heldLog()
  const happened: string[] = []
  const storeKeys: LogWriter['storeKeys'] = (keys) => {
    happened.push('keys written')
    return writer.storeKeys(keys)
  }
  const groups = new GroupCommit({ ...writer, storeKeys }, 1)
  const add = withKeys(groups, happened)
  const first = nextWrite()
  add('a')
  await first
  add('b')
  expect(happened).toEqual([])

  writes[0]?.settle({ kind: 'stored', sequence: 1 })
  await vi.waitFor(() => expect(writes.length).toBe(2))
  writes[1]?.settle({ kind: 'stored', sequence: 2 })
  await vi.waitFor(() => expect(groups.waiting).toBe(0))

  expect(happened).toEqual(['keys written', 'a stored', 'keys written', 'b stored'])
  expect(keyWrites.length).toBe(2)
})

test('a group that is answered takes one turn of the event loop, in which the clock is read once', async () => {
  const { writer, writes, nextWrite } = heldLog()
  const groups = new GroupCommit(writer, 1, () => void turnNow())
  const key = { hash: Buffer.alloc(16), fingerprint: Buffer.alloc(8), flags: 0 }
  const written = nextWrite()
  groups.add(0, { ...eventOf('a'), key }, textOf('a'), undefined, { ...nobody, settled: () => void turnNow() })
  await written
  const turns = vi.spyOn(globalThis, 'setImmediate')

  writes[0]?.settle({ kind: 'stored', sequence: 1 })
  await vi.waitFor(() => expect(groups.waiting).toBe(0))

  // What sends the keys, and the end of the clock's turn behind it.
  expect(turns).toHaveBeenCalledTimes(2)
  turns.mockRestore()
})

test('while KEYS does not answer, events are accepted as before; the end waits for their keys', async () => {
  const { writer, writes, keyWrites, nextWrite } = heldLog()
  const groups = new GroupCommit(writer, 1)
  const available = groups.eventsAvailable
  const add = withKeys(groups, [])
  for (let i = 0; i < 5; i++) {
    const written = nextWrite()
    add('a')
    await written
    writes[i]?.settle({ kind: 'stored', sequence: i })
    await vi.waitFor(() => expect([groups.waiting, keyWrites.length]).toEqual([0, i + 1]))
  }
  expect(groups.eventsAvailable).toBe(available)

  let isIdle = false
  const idle = groups.idle().then(() => {
    isIdle = true
  })
  for (const written of keyWrites.slice(1)) written()
  await new Promise(setImmediate)
  expect(isIdle).toBe(false)
  keyWrites[0]?.()
  await idle
})

test('group commit refuses events beyond its limit, and accepts them again below it', async () => {
  const { writer, writes, nextWrite } = heldLog()
  const groups = new GroupCommit(writer, 1)
  const available = groups.eventsAvailable
  const small = textOf('m')
  const first = nextWrite()
  for (let i = 0; i < available; i++) groups.add(0, admission, small, undefined, nobody)

  expect(groups.add(0, admission, small, undefined, nobody)).toBeUndefined()
  expect(groups.eventsAvailable).toBe(0)

  await first
  let settled = 0
  for (const idle = groups.idle(); settled < available; await Promise.race([idle, nextWrite()])) {
    const write = writes.at(-1)
    settled += write?.models.length ?? 0
    write?.settle({ kind: 'unavailable', detail: '' })
  }
  expect(groups.eventsAvailable).toBe(available)

  const second = nextWrite()
  expect(groups.add(0, admission, small, undefined, nobody)).toMatchObject({ events: 1 })
  await second
  writes.at(-1)?.settle({ kind: 'stored' })
  await groups.idle()
})

test('the buffer of a message is reused only after nobody holds it', async () => {
  const { writer, writes, nextWrite } = heldLog()
  const groups = new GroupCommit(writer, 1)
  const send = async (model: string, commit: Commit) => {
    const written = nextWrite()
    groups.add(0, admission, textOf(model), undefined, nobody)
    await written
    writes.at(-1)?.settle(commit)
    await groups.idle()
    return writes.at(-1)?.payload ?? new Uint8Array()
  }

  const held = await send('a', { kind: 'stored', areBytesHeld: true })
  const free = await send('b', { kind: 'stored' })
  const refused = await send('c', { kind: 'unavailable', detail: '' })
  const last = await send('d', { kind: 'stored' })

  expect(decodeGroup(held, 1).map(({ event }) => event.requested_model)).toEqual(['a'])
  expect(free.buffer).not.toBe(held.buffer)
  expect(refused.buffer).toBe(free.buffer)
  expect(last.buffer).toBe(free.buffer)
})
