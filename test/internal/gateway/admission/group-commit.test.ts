import { expect, test } from 'vitest'
import { createGroupCommit, type Settler } from '../../../../internal/gateway/admission/group-commit.js'
import type { Commit, LogWriter } from '../../../../internal/gateway/admission/log-writer.js'
import { decodeGroup } from '../../../../internal/invocations/group.js'
import { idOf, NOW_MS, validEvent } from '../../../support/invocations.js'

/** A log that answers when it is told to. */
function heldLog() {
  const writes: {
    subject: string
    payload: Uint8Array
    models: string[]
    messageId: string
    settle: (commit: Commit) => void
  }[] = []
  const arrivals: (() => void)[] = []
  const writer: LogWriter = {
    isCaughtUp: true,
    store: (subject, payload, messageId) =>
      new Promise((settle) => {
        const models = decodeGroup(payload, 1).map(({ event }) => event.requested_model)
        writes.push({ subject, payload, models, messageId, settle })
        for (const arrived of arrivals.splice(0)) arrived()
      }),
    close: async () => undefined,
  }
  const nextWrite = (): Promise<void> => new Promise((resolve) => arrivals.push(resolve))
  return { writer, writes, nextWrite }
}

const admission = { tenantId: 'tnt_one', principal: 'key_one', id: idOf(1), receivedAtMs: NOW_MS }
/** The text of an event that is told from others by its model. */
const textOf = (model: string) => {
  const bytes = Buffer.from(JSON.stringify(validEvent({ requested_model: model })))
  return { bytes, start: 0, end: bytes.length }
}
const nobody = { foresee: () => undefined, settled: () => undefined }

test('what comes in one turn is one message a partition, and each event hears of it', async () => {
  const { writer, writes, nextWrite } = heldLog()
  const groups = createGroupCommit(writer, 2)
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
    groups.add(partition, admission, textOf(text), undefined, settlerOf(text))
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

test('while a message is on its way the next group fills, and goes when it is answered', async () => {
  const { writer, writes, nextWrite } = heldLog()
  const groups = createGroupCommit(writer, 1)
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

test('beyond its bound it takes nothing, and again when there is room', async () => {
  const { writer, writes, nextWrite } = heldLog()
  const groups = createGroupCommit(writer, 1)
  const room = groups.room
  const small = textOf('m')
  const first = nextWrite()
  for (let i = 0; i < room; i++) groups.add(0, admission, small, undefined, nobody)

  expect(groups.add(0, admission, small, undefined, nobody)).toBeUndefined()
  expect(groups.room).toBe(0)

  await first
  let settled = 0
  for (const idle = groups.idle(); settled < room; await Promise.race([idle, nextWrite()])) {
    const write = writes.at(-1)
    settled += write?.models.length ?? 0
    write?.settle({ kind: 'unavailable', detail: '' })
  }
  expect(groups.room).toBe(room)

  const second = nextWrite()
  expect(groups.add(0, admission, small, undefined, nobody)).toMatchObject({ events: 1 })
  await second
  writes.at(-1)?.settle({ kind: 'stored' })
  await groups.idle()
})

test('the memory of a message is used again when nobody holds it any more, and left alone until then', async () => {
  const { writer, writes, nextWrite } = heldLog()
  const groups = createGroupCommit(writer, 1)
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
