import { expect, test } from 'vitest'
import type { Settler } from '../../../../internal/ingest/commit/commit-group.js'
import { GroupCommit } from '../../../../internal/ingest/commit/group-commit.js'
import type { Commit, LogWriter } from '../../../../internal/ingest/commit/log-writer.js'
import { decodeGroup } from '../../../../internal/invocations/invocation-group.js'
import { idOf, NOW_MS, validEvent } from '../../../support/invocations.js'

/** A log that answers on demand. */
function heldLog() {
  const writes: {
    subject: string
    payload: Uint8Array
    models: string[]
    messageId: string
    unconfirmed: readonly Uint8Array[] | undefined
    settle: (commit: Commit) => void
  }[] = []
  const arrivals: (() => void)[] = []
  const writer: LogWriter = {
    isCaughtUp: true,
    store: (subject, payload, messageId, unconfirmed) =>
      new Promise((settle) => {
        const models = decodeGroup(payload, 1).map(({ event }) => event.requested_model)
        writes.push({ subject, payload, models, messageId, unconfirmed, settle })
        for (const arrived of arrivals.splice(0)) arrived()
      }),
    close: async () => undefined,
  }
  const nextWrite = (): Promise<void> => new Promise((resolve) => arrivals.push(resolve))
  return { writer, writes, nextWrite }
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

test('a message is written with the ids of those of its events that must be announced', async () => {
  const { writer, writes, nextWrite } = heldLog()
  const groups = new GroupCommit(writer, 2)
  const written = nextWrite()
  for (const text of ['a', 'b', 'c']) {
    groups.add(0, { ...eventOf(text), ...(text !== 'b' && { isAnnounced: true }) }, textOf(text), undefined, nobody)
  }
  await written
  writes[0]?.settle({ kind: 'stored' })
  await groups.idle()

  expect(writes.map(({ unconfirmed }) => unconfirmed)).toEqual([
    [eventOf('a').id, eventOf('c').id].map((id) => Uint8Array.from(id)),
  ])
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

test.each<Commit>([{ kind: 'stored' }, { kind: 'unavailable', detail: '' }])(
  'an event that is under way goes to the partition of the first, until it is known what became of it: $kind',
  async (commit) => {
    const { writer, writes, nextWrite } = heldLog()
    const groups = new GroupCommit(writer, 2)
    const first = nextWrite()
    groups.add(1, eventOf('x'), textOf('one'), undefined, nobody)
    await first

    // It is settled while a repeat of it waits, which a third one follows.
    groups.add(0, eventOf('x'), textOf('two'), undefined, nobody)
    const second = nextWrite()
    writes[0]?.settle(commit)
    await second
    groups.add(0, eventOf('x'), textOf('three'), undefined, nobody)
    const third = nextWrite()
    writes[1]?.settle(commit)
    await third
    writes[2]?.settle(commit)
    await groups.idle()
    const own = nextWrite()
    groups.add(0, eventOf('x'), textOf('four'), undefined, nobody)
    await own
    writes[3]?.settle(commit)
    await groups.idle()

    expect(writes.map(({ subject, models }) => [subject, models])).toEqual([
      ['invocations.a.1', ['one']],
      ['invocations.a.1', ['two']],
      ['invocations.a.1', ['three']],
      ['invocations.a.0', ['four']],
    ])
  },
)

test('an event added again while its group is being settled joins the same partition', async () => {
  const { writer, writes, nextWrite } = heldLog()
  const groups = new GroupCommit(writer, 2)
  const again: Settler = {
    foresee: () => undefined,
    settled: () => void groups.add(0, eventOf('x'), textOf('again'), undefined, nobody),
  }
  const first = nextWrite()
  groups.add(1, eventOf('y'), textOf('y'), undefined, again)
  groups.add(1, eventOf('x'), textOf('x'), undefined, nobody)
  await first

  const second = nextWrite()
  writes[0]?.settle({ kind: 'unavailable', detail: '' })
  await second
  writes[1]?.settle({ kind: 'stored' })
  await groups.idle()

  expect(writes.map(({ subject, models }) => [subject, models])).toEqual([
    ['invocations.a.1', ['y', 'x']],
    ['invocations.a.1', ['again']],
  ])
})

test('a refused event is not in flight', async () => {
  const { writer, writes, nextWrite } = heldLog()
  const groups = new GroupCommit(writer, 2)
  const small = textOf('m')
  const first = nextWrite()
  while (groups.eventsAvailable > 0) groups.add(0, admission, small, undefined, nobody)
  expect(groups.add(1, eventOf('x'), small, undefined, nobody)).toBeUndefined()

  await first
  for (const idle = groups.idle().then(() => true); ; ) {
    const next = nextWrite()
    writes.at(-1)?.settle({ kind: 'stored' })
    if ((await Promise.race([idle, next])) === true) break
  }
  const own = nextWrite()
  groups.add(0, eventOf('x'), small, undefined, nobody)
  await own
  writes.at(-1)?.settle({ kind: 'stored' })
  await groups.idle()

  expect(writes.at(-1)?.subject).toBe('invocations.a.0')
})

test('a flush waits for the events that are waiting when it is asked for, and for none that come later', async () => {
  const { writer, writes, nextWrite } = heldLog()
  const groups = new GroupCommit(writer, 2)
  const begun = nextWrite()
  groups.add(0, eventOf('a'), textOf('a'), undefined, nobody)
  await begun
  groups.add(0, eventOf('b'), textOf('b'), undefined, nobody)
  let isFlushed = false
  const flushed = groups.flushed().then(() => {
    isFlushed = true
  })

  const second = nextWrite()
  writes[0]?.settle({ kind: 'stored' })
  await second
  expect(isFlushed).toBe(false)
  groups.add(0, eventOf('c'), textOf('c'), undefined, nobody)
  writes[1]?.settle({ kind: 'stored' })
  await flushed

  expect(groups.waiting).toBe(1)
  await new GroupCommit(writer, 2).flushed()
})
