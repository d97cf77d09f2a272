import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Broker, connectBroker } from '../../../internal/broker/connect.js'
import { firstSequenceSince, nineDigits, readLog, readLogToItsEnd } from '../../../internal/broker/log.js'
import { createPublisher } from '../../../internal/broker/publisher.js'
import { AUDIT, auditSubject } from '../../../streams/audit.js'
import { type Buckets, launchBuckets } from '../../support/buckets.js'
import { linkTo } from '../../support/silent-link.js'

let buckets: Buckets
let broker: Broker
const publish = async (tenantId: string, text: string): Promise<void> => {
  await createPublisher(broker.connection).publish(auditSubject(tenantId), Buffer.from(text), text, 2_000)
}
const read = (from: number, subject = 'audit.*') =>
  readLog(broker.manager, { stream: AUDIT.name, subject, from, messagesMax: 3, bytesMax: 2 ** 20 })

beforeAll(async () => {
  buckets = await launchBuckets()
  broker = await buckets.connect()
  for (const text of ['one', 'two', 'three', 'four']) await publish(text === 'three' ? 'tnt_two' : 'tnt_one', text)
})
afterAll(() => buckets.close())

test('reading a log returns the requested number of messages starting at a sequence, or none at its end', async () => {
  const [first, ...others] = await read(1)

  expect(first).toEqual({
    sequence: 1,
    subject: 'audit.tnt_one',
    storedAt: expect.stringMatching(/\.\d{9}Z$/),
    messageId: 'one',
    data: Buffer.from('one'),
  })
  expect(others.map(({ sequence }) => sequence)).toEqual([2, 3])
  expect((await read(2, 'audit.tnt_one')).map(({ sequence }) => sequence)).toEqual([2, 4])
  expect(await read(5)).toEqual([])
})

test('a follower that lacks the newest messages does not hide them, where the end of the log matters', async () => {
  const { manager } = broker
  const { streams } = manager
  let reads = 0
  /** It has the first two messages only. */
  const behind = {
    streams,
    direct: {
      getBatch: async (stream: string, query: Parameters<typeof manager.direct.getBatch>[1] & { seq: number }) => {
        reads++
        if (query.seq > 2) {
          query.callback?.({} as never, undefined as never)
          return { stop: () => undefined }
        }
        return manager.direct.getBatch(stream, { ...query, batch: 3 - query.seq } as typeof query)
      },
    },
  } as unknown as typeof manager
  const range = { stream: AUDIT.name, subject: 'audit.*', messagesMax: 3, bytesMax: 2 ** 20 }
  const found: number[] = []
  for (let from = 1; ; ) {
    const entries = await readLogToItsEnd(behind, { ...range, from })
    const last = entries.at(-1)
    if (last === undefined) break
    found.push(...entries.map(({ sequence }) => sequence))
    from = last.sequence + 1
  }

  expect(found).toEqual([1, 2, 3, 4])
  expect(reads).toBe(4)
  expect((await readLog(behind, { ...range, from: 3 })).map(({ sequence }) => sequence)).toEqual([])
})

test('reading a log leaks no subscription', async () => {
  // The client does not report its open subscriptions; count them in its internals.
  const open = () =>
    (broker.connection as unknown as { protocol: { subscriptions: { subs: Map<number, unknown> } } }).protocol
      .subscriptions.subs.size
  const before = open()

  for (let i = 0; i < 20; i++) {
    await read(1)
    await read(9)
    await firstSequenceSince(broker.manager, AUDIT.name, 0)
  }

  expect(open()).toBe(before)
})

test('a reader requests a batch again within a second when its replies are lost', async () => {
  const link = await linkTo(Number(new URL(buckets.url).port))
  const behind = await connectBroker({ url: link.url, user: '', password: '', name: 'test' })
  link.fallSilent()
  const askedAt = performance.now()
  const reading = readLog(behind.manager, {
    stream: AUDIT.name,
    subject: 'audit.*',
    from: 1,
    messagesMax: 3,
    bytesMax: 2 ** 20,
  })
  link.cut()

  expect((await reading).map(({ sequence }) => sequence)).toEqual([1, 2, 3])
  expect(performance.now() - askedAt).toBeLessThan(4_000)
  await behind.close()
})

test('the first sequence since a time is MAX_SAFE_INTEGER when there is no later message', async () => {
  expect(await firstSequenceSince(broker.manager, AUDIT.name, 0)).toBe(1)
  expect(await firstSequenceSince(broker.manager, AUDIT.name, Date.now() + 60_000)).toBe(Number.MAX_SAFE_INTEGER)
})

test('stored timestamps have nine fractional digits, so that they sort as text', () => {
  expect(['2026-11-21T09:30:00Z', '2026-11-21T09:30:00.5Z', '2026-11-21T09:30:00.123456789Z'].map(nineDigits)).toEqual([
    '2026-11-21T09:30:00.000000000Z',
    '2026-11-21T09:30:00.500000000Z',
    '2026-11-21T09:30:00.123456789Z',
  ])
})
