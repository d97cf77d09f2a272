import fc from 'fast-check'
import { expect, test } from 'vitest'
import { joined } from '../../../../internal/ingest/commit/joined-records.js'
import { AdmittedKeys, readAdmittedKeys, SENDER_BYTES } from '../../../../internal/ingest/keys/admitted-keys.js'
import type { SpoolRecord } from '../../../../internal/ingest/spool/spool-record.js'
import { invocationsSubject, LANE_GROUP_BYTES_MAX } from '../../../../streams/invocations.js'
import { KEYS_SUBJECT } from '../../../../streams/keys.js'

const PARTITIONS = 2
const [ONE, OTHER, GONE] = [0, 1, 7].map((partition) => invocationsSubject('a', partition)) as [string, string, string]
const LANE = invocationsSubject('l', 0)
const OBSERVATION = 'observations.tnt_one'

const groupOf = (subject: string, ...events: readonly number[]): SpoolRecord => ({
  subject,
  messageId: `m.${events.join('.')}`,
  payload: Buffer.from(JSON.stringify(events)),
})

function keysOf(sender: number, ...keys: readonly number[]): SpoolRecord {
  const message = new AdmittedKeys(new Uint8Array(SENDER_BYTES).fill(sender))
  for (const key of keys)
    message.add({ hash: Buffer.alloc(16, key), fingerprint: Buffer.alloc(8, key), flags: key % 256 })
  return { subject: KEYS_SUBJECT, messageId: '', payload: message.payload as Uint8Array }
}

const textOf = ({ payload }: SpoolRecord): string => Buffer.from(payload).toString()

test('groups of a mailbox share a message, and the keys come last', () => {
  const records = [
    groupOf(ONE, 1, 2),
    keysOf(1, 1),
    groupOf(OTHER, 3),
    groupOf(ONE, 4),
    groupOf(GONE, 5),
    keysOf(1, 4),
    keysOf(2, 9),
  ]

  const messages = joined(records, PARTITIONS)

  expect(messages.map(({ subject }) => subject)).toEqual([ONE, OTHER, KEYS_SUBJECT, KEYS_SUBJECT])
  expect(messages.slice(0, 2).map(textOf)).toEqual(['[1,2,4]', '[3,5]'])
  const keys = messages.slice(2).map(({ payload }) => Array.from(readAdmittedKeys(payload), ({ flags }) => flags))
  // Of one sender each: a gateway knows its own by it.
  expect(keys).toEqual([[1, 4], [9]])
})

test('keys whose events are in the log come first, and messages in the order of their first records', () => {
  const half = (subject: string, event: number): SpoolRecord => ({
    ...groupOf(subject, event),
    payload: Buffer.from(JSON.stringify([event, 'x'.repeat(60 * 1024)])),
  })
  const records = [keysOf(1, 1), half(ONE, 1), half(OTHER, 2), half(ONE, 3), half(ONE, 4), half(OTHER, 5), keysOf(1, 2)]

  const messages = joined(records, PARTITIONS)

  const places = messages.map(({ parts }) => parts.map((part) => records.indexOf(part)))
  expect(places).toEqual([[0], [1, 3], [2, 5], [4], [6]])
})

test('observations of a tenant share a message', () => {
  const records = [1, 2, 3, 4].map((i) => groupOf(i === 3 ? 'observations.tnt_two' : OBSERVATION, i))

  const messages = joined(records, PARTITIONS)

  expect(messages.map((message) => [message.subject, textOf(message), message.messageId])).toEqual([
    [OBSERVATION, '[1,2,4]', expect.stringMatching(/^m\.1\+/)],
    ['observations.tnt_two', '[3]', 'm.3'],
  ])
})

test('a message that is alone keeps its id: the log may have it already', () => {
  expect(joined([groupOf(ONE, 1)], PARTITIONS)).toEqual([{ ...groupOf(ONE, 1), parts: [groupOf(ONE, 1)] }])
})

test('a joined message has an id that no record has, and another one with other parts', () => {
  const some = [1, 2, 3].map((event) => groupOf(ONE, event))
  const idOf = (records: readonly SpoolRecord[]) => joined(records, PARTITIONS)[0]?.messageId

  const ids = [some, some.slice(0, 2), some.slice(1)].map(idOf)

  expect(new Set([...ids, ...some.map(({ messageId }) => messageId)]).size).toBe(6)
  expect(idOf(some)).toBe(ids[0])
})

test('an id names the parts of a message: of two layouts, one may join others to the same first one', () => {
  const large = (subject: string, event: number): SpoolRecord => ({
    ...groupOf(subject, event),
    payload: Buffer.from(JSON.stringify([event, 'x'.repeat(50 * 1024)])),
  })
  const records = [large(GONE, 1), large(OTHER, 2), large(GONE, 3)]

  const [before, after, again] = [8, PARTITIONS, PARTITIONS].map((partitions) => joined(records, partitions)[0])

  expect(after?.messageId).not.toBe(before?.messageId)
  expect(after?.messageId).toBe(again?.messageId)
})

test('a message of the lane stays small, and what is no array stays alone', () => {
  const large = groupOf(LANE, ...Array.from({ length: 3_000 }, (_, i) => 1_000 + i))
  const odd: SpoolRecord = { subject: ONE, messageId: 'odd', payload: Buffer.from('{') }

  expect(large.payload.length).toBeGreaterThan(LANE_GROUP_BYTES_MAX / 2)
  expect(joined([large, large], PARTITIONS)).toHaveLength(2)
  expect(joined([groupOf(ONE, 1), odd, groupOf(ONE, 2)], PARTITIONS).map(textOf)).toEqual(['[1]', '{', '[2]'])
})

test('whatever waits, each event and observation comes once, in the order of its mailbox', () => {
  const subjects = fc.constantFrom(ONE, OTHER, GONE, LANE, OBSERVATION)
  const many = fc.array(fc.tuple(subjects, fc.integer({ min: 1, max: 400 })), { maxLength: 60 })
  const eventsOf = (records: readonly SpoolRecord[], among: readonly string[]): unknown[] =>
    records.filter(({ subject }) => among.includes(subject)).flatMap((record) => JSON.parse(textOf(record)))
  fc.assert(
    fc.property(many, (drawn) => {
      let next = 1_000_000
      const records = drawn.map(([subject, count]) => groupOf(subject, ...Array.from({ length: count }, () => next++)))

      const messages = joined(records, PARTITIONS)

      for (const mailbox of [[ONE], [OTHER, GONE], [LANE], [OBSERVATION]])
        expect(eventsOf(messages, mailbox)).toEqual(eventsOf(records, mailbox))
      expect(messages.length).toBeLessThanOrEqual(records.length)
    }),
  )
})
