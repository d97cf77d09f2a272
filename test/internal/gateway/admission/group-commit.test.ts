import { expect, test } from 'vitest'
import { createGroupCommit } from '../../../../internal/gateway/admission/group-commit.js'
import type { Commit, LogWriter } from '../../../../internal/gateway/admission/log-writer.js'

/** A log that answers when it is told to. */
function heldLog() {
  const writes: { subject: string; entries: string[]; messageId: string; settle: (commit: Commit) => void }[] = []
  const arrivals: (() => void)[] = []
  const writer: LogWriter = {
    isCaughtUp: true,
    store: (subject, payload, messageId) =>
      new Promise((settle) => {
        writes.push({ subject, entries: JSON.parse(Buffer.from(payload).toString()) as string[], messageId, settle })
        arrivals.shift()?.()
      }),
    close: async () => undefined,
  }
  const nextWrite = (): Promise<void> => new Promise((resolve) => arrivals.push(resolve))
  return { writer, writes, nextWrite }
}

const entry = (text: string): string => JSON.stringify(text)

test('what comes in one turn is one message a partition, and each event hears of it', async () => {
  const { writer, writes, nextWrite } = heldLog()
  const groups = createGroupCommit(writer, 2)
  const told: string[] = []
  const both = Promise.all([nextWrite(), nextWrite()])

  for (const [partition, text] of [
    [0, 'a'],
    [1, 'b'],
    [0, 'c'],
  ] as const) {
    groups.add(partition, entry(text), ({ kind }) => told.push(`${text} ${kind}`))
  }
  await both
  for (const { settle } of writes) settle({ kind: 'stored' })
  await groups.idle()

  expect(writes.map(({ subject, entries }) => [subject, entries])).toEqual([
    ['invocations.a.0', ['a', 'c']],
    ['invocations.a.1', ['b']],
  ])
  expect(told.sort()).toEqual(['a stored', 'b stored', 'c stored'])
})

test('while a message is on its way the next group fills, and goes when it is answered', async () => {
  const { writer, writes, nextWrite } = heldLog()
  const groups = createGroupCommit(writer, 1)
  const first = nextWrite()
  groups.add(0, entry('a'), () => undefined)
  await first
  for (const text of ['b', 'c', 'd']) groups.add(0, entry(text), () => undefined)
  expect(writes.length).toBe(1)

  const second = nextWrite()
  writes[0]?.settle({ kind: 'stored' })
  await second
  writes[1]?.settle({ kind: 'stored' })
  await groups.idle()

  expect(writes.map(({ entries }) => entries)).toEqual([['a'], ['b', 'c', 'd']])
  expect(new Set(writes.map(({ messageId }) => messageId)).size).toBe(2)
})

test('beyond its bound it takes nothing, and again when there is room', async () => {
  const { writer, writes, nextWrite } = heldLog()
  const groups = createGroupCommit(writer, 1)
  const room = groups.room
  const first = nextWrite()
  for (let i = 0; i < room; i++) groups.add(0, '1', () => undefined)

  expect(groups.add(0, '1', () => undefined)).toBe(false)
  expect(groups.room).toBe(0)

  await first
  writes[0]?.settle({ kind: 'unavailable', detail: '' })
  await groups.idle()
  expect(groups.room).toBe(room)

  const second = nextWrite()
  expect(groups.add(0, '1', () => undefined)).toBe(true)
  await second
  writes[1]?.settle({ kind: 'stored' })
  await groups.idle()
})
