import { expect, test, vi } from 'vitest'
import type { PublishResult } from '../../../../internal/broker/publisher.js'
import { SpoolDelivery } from '../../../../internal/ingest/commit/spool-delivery.js'
import { ADMITTED_KEY_BYTES, SENDER_BYTES } from '../../../../internal/ingest/keys/admitted-keys.js'
import type { SpoolRecord } from '../../../../internal/ingest/spool/spool-record.js'
import { seededRandom } from '../../../../internal/local/sandbox/random.js'
import { createLog } from '../../../../internal/telemetry/log.js'
import { invocationsSubject } from '../../../../streams/invocations.js'
import { KEYS_SUBJECT } from '../../../../streams/keys.js'
import { open, systemError, temporaryFolder } from '../../../support/spool.js'

const log = createLog('test', 'silent')
const STORED: PublishResult = { kind: 'stored', sequence: 1, duplicate: false }
const REFUSED: PublishResult = { kind: 'refused', errorCode: 0, description: '' }
const UNANSWERED: PublishResult = { kind: 'unavailable', reason: 'timeout' }

const groupOf = (event: number, partition = 0): SpoolRecord => ({
  subject: invocationsSubject('a', partition),
  messageId: `m.${event}`,
  payload: Buffer.from(JSON.stringify([event])),
})
const keys: SpoolRecord = { subject: KEYS_SUBJECT, messageId: '', payload: new Uint8Array(33) }

/** A spool with records, and what delivers it until `isOver`. @param publish what the broker answers to a message */
async function deliveryOf(
  records: readonly SpoolRecord[],
  publish: (subject: string, payload: Buffer, id: string) => PublishResult,
) {
  const { spool } = await open(await temporaryFolder())
  const { spool: keySpool } = await open(await temporaryFolder())
  await spool.append(records)
  const sent: { readonly id: string; readonly text: string }[] = []
  const publisher = {
    async publish(subject: string, payload: Uint8Array, id: string): Promise<PublishResult> {
      if (subject !== KEYS_SUBJECT) sent.push({ id, text: Buffer.from(payload).toString() })
      return publish(subject, Buffer.from(payload), id)
    },
  }
  const delivery = new SpoolDelivery({ publisher, keySpool, isBrokerUp: () => true, partitions: 2, log })
  const { signal } = new AbortController()
  const rounds = vi.spyOn(spool, 'drain')
  return {
    spool,
    keySpool,
    sent,
    roundsOf: (count: number) => delivery.deliverUntil(spool, () => rounds.mock.calls.length >= count, signal),
    toEnd: () => delivery.deliverUntil(spool, () => spool.isEmpty, signal),
  }
}

test('a message that is not answered is sent again under its id, and not the records in it', async () => {
  const answers: PublishResult[] = [UNANSWERED]
  const { sent, toEnd } = await deliveryOf(
    Array.from({ length: 50 }, (_, event) => groupOf(event)),
    () => answers.shift() ?? STORED,
  )

  await toEnd()

  expect(sent).toHaveLength(2)
  expect(sent[1]).toEqual(sent[0])
})

test('what precedes a message that is not taken is not sent again, and its keys are stored', async () => {
  const blocked = invocationsSubject('a', 1)
  let answer: PublishResult = REFUSED
  const { spool, keySpool, sent, roundsOf, toEnd } = await deliveryOf(
    [groupOf(1), keys, groupOf(2), groupOf(3, 1), keys, groupOf(4)],
    (subject) => (subject === blocked ? answer : STORED),
  )
  const append = vi.spyOn(keySpool, 'append')

  await roundsOf(5)
  const texts = sent.map(({ text }) => text)
  expect([texts[0], new Set(texts.slice(1))]).toEqual(['[1,2,4]', new Set(['[3]'])])
  expect([spool.count, append.mock.calls.length]).toEqual([3, 0])
  answer = STORED
  await toEnd()

  // What is behind it may come once more.
  expect(sent.slice(-2).map(({ text }) => text)).toEqual(['[3]', '[4]'])
})

test('a failure between messages costs no message per record', async () => {
  const answers: PublishResult[] = [STORED, STORED, UNANSWERED]
  const records = Array.from({ length: 400 }, (_, event) => ({
    ...groupOf(event, event % 2),
    payload: Buffer.from(JSON.stringify([event, 'x'.repeat(1024)])),
  }))
  const { sent, toEnd } = await deliveryOf(records, () => answers.shift() ?? STORED)

  await toEnd()

  expect(sent.length).toBeLessThan(10)
  const events = sent.flatMap(({ text }) => JSON.parse(text)).filter((each) => typeof each === 'number')
  expect(new Set(events).size).toBe(records.length)
})

test('while a disk does not take the keys of events that are stored, what follows is not sent again and again', async () => {
  const { spool, keySpool, sent, roundsOf, toEnd } = await deliveryOf(
    [keys, groupOf(1), keys, groupOf(2)],
    (subject) => (subject === KEYS_SUBJECT ? REFUSED : STORED),
  )
  const failed = { kind: 'failed', error: systemError('ENOSPC') } as const
  const append = vi.spyOn(keySpool, 'append').mockResolvedValue(failed)

  await roundsOf(3)
  expect([sent.length, spool.count]).toEqual([0, 4])
  append.mockResolvedValue({ kind: 'stored' })
  await toEnd()

  expect(sent.map(({ text }) => text)).toEqual(['[1,2]'])
})

test('whatever fails, the log gets each event in the order of its mailbox, and no key before its event', async () => {
  const random = seededRandom('spool-delivery')
  const numbers = Array.from({ length: 200 }, (_, number) => number)
  const records = numbers.flatMap((number) => [
    { ...groupOf(number, number % 3), payload: Buffer.from(JSON.stringify(Array(random.whole(1, 900)).fill(number))) },
    { ...keys, payload: Buffer.alloc(33, number).fill(0, 0, SENDER_BYTES) },
  ])
  const [stored, ids, keysStored] = [new Map<string, Set<number>>(), new Set<string>(), new Set<number>()]
  const store = (subject: string, payload: Buffer): void => {
    const events = stored.get(subject) ?? new Set()
    stored.set(subject, events)
    if (subject !== KEYS_SUBJECT) for (const event of JSON.parse(payload.toString())) events.add(event)
    else for (let at = SENDER_BYTES; at < payload.length; at += ADMITTED_KEY_BYTES) keyIsStored(payload[at] as number)
  }
  const keyIsStored = (key: number): void => {
    expect([...stored.values()].some((events) => events.has(key))).toBe(true)
    keysStored.add(key)
  }
  const { keySpool, sent, toEnd } = await deliveryOf(records, (subject, payload, id) => {
    if (random.happens(0.1)) return REFUSED
    if (id === '' || !ids.has(id)) store(subject, payload)
    ids.add(id)
    return random.happens(0.1) ? UNANSWERED : STORED
  })

  await toEnd()
  await vi.waitUntil(() => keySpool.isEmpty, { timeout: 20_000 })

  for (const partition of [0, 1]) {
    const expected = numbers.filter((number) => (number % 3) % 2 === partition)
    expect([...(stored.get(invocationsSubject('a', partition)) ?? [])]).toEqual(expected)
  }
  expect(sent.length).toBeLessThan(numbers.length)
  expect(keysStored.size).toBe(numbers.length)
})
