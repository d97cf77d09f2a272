import { beforeAll, beforeEach, expect, test } from 'vitest'
import { OtherPartitions } from '../../../../internal/attribution/actor/other-partitions.js'
import { partitionsHeld } from '../../../../internal/broker/partitions.js'
import { publishOrThrow } from '../../../../internal/broker/publisher.js'
import {
  type AdmissionKey,
  encodeEntry,
  encodeGroup,
  type Position,
  WAS_DUPLICATE,
} from '../../../../internal/invocations/invocation-group.js'
import type { RecordSource } from '../../../../internal/store/queries/records/sources.js'
import { INVOCATIONS, invocationsSubject, type StageName } from '../../../../streams/invocations.js'
import { idOf, NOW_MS, validEvent } from '../../../support/invocations.js'
import { type LogBroker, launchLogBroker } from '../../../support/planned-logs.js'

const LOG_ID = 1_700_000_000
const OWN = 0

let broker: LogBroker
let records: RecordSource[]
let messages = 0

beforeAll(async () => {
  broker = await launchLogBroker()
})

beforeEach(async () => {
  records = []
  await broker.manager.streams.purge(INVOCATIONS.name)
  for (const key of ['a.1', 'b.1', 'c.1']) await broker.deps.checkpoints.delete(key)
})

interface Entry {
  readonly event: number
  readonly key?: AdmissionKey
  /** Where the event first was, for an entry of a later stage. */
  readonly from?: Position
}

/** Writes one message. @returns the positions of its entries */
async function write(stage: StageName, partition: number, ...entries: readonly Entry[]): Promise<Position[]> {
  const texts = entries.map(({ event, key, from }) =>
    encodeEntry(
      { tenantId: 'tnt_one', principal: 'key_one', id: idOf(event), receivedAtMs: NOW_MS, key },
      validEvent(),
      from,
    ),
  )
  const subject = invocationsSubject(stage, partition)
  await publishOrThrow(broker.publish, subject, encodeGroup(texts), `test.${++messages}`)
  const { last_seq: sequence } = (await broker.manager.streams.info(INVOCATIONS.name)).state
  return entries.map((_, index) => ({ sequence, index }))
}

const done = async (key: string, { sequence }: Position): Promise<void> => {
  await broker.deps.checkpoints.put(key, JSON.stringify({ done: sequence }))
}

const others = (): OtherPartitions =>
  new OtherPartitions(OWN, {
    ...broker.deps,
    held: () => partitionsHeld(broker.manager),
    recordSourcesOf: async (ids) => records.filter(({ id }) => ids.some((wanted) => Buffer.compare(wanted, id) === 0)),
    logId: LOG_ID,
    partitions: 2,
  })

const ask = (of: OtherPartitions, ...events: readonly (readonly [event: number, position: Position | undefined])[]) =>
  of.haveFirst(
    events.map(([event, position]) => {
      if (position === undefined) throw new Error('the event has no position')
      return { id: idOf(event), position }
    }),
    NOW_MS,
  )

test('an event that stands earlier in the mailbox of another partition is that one’s, a later one is not', async () => {
  const [earlier] = await write('a', 1, { event: 1 })
  const [first, second, third] = await write('a', OWN, { event: 1 }, { event: 2 }, { event: 3 })
  const [later] = await write('a', 1, { event: 2 })

  expect(await ask(others(), [1, first], [2, second], [3, third])).toEqual([true, false, false])
  // The same question from the other side: of the two, exactly one is kept.
  const ofTheOther = new OtherPartitions(1, {
    ...broker.deps,
    held: async () => [0, 1],
    recordSourcesOf: async () => [],
    logId: LOG_ID,
    partitions: 2,
  })
  expect(await ask(ofTheOther, [1, earlier], [2, later])).toEqual([false, true])
})

test('an entry that is there for its key alone has no event', async () => {
  const key = { hash: new Uint8Array(16), fingerprint: new Uint8Array(8), flags: WAS_DUPLICATE }
  await write('a', 1, { event: 1, key })
  const [own] = await write('a', OWN, { event: 1 })

  expect(await ask(others(), [1, own])).toEqual([false])
})

test('an event that another partition has processed is its own, wherever it stood', async () => {
  const [one, two, three] = await write('a', OWN, { event: 1 }, { event: 2 }, { event: 3 })
  const [later = { sequence: 0, index: 0 }] = await write('a', 1, { event: 1 }, { event: 2 })
  await write('b', 1, { event: 1, from: later })
  await write('c', 1, { event: 2, from: { ...later, index: 1 } })
  await done('a.1', later)

  expect(await ask(others(), [1, one], [2, two], [3, three])).toEqual([true, true, false])
})

test('an event with a record is another partition’s, unless the record is its own', async () => {
  const [one, two, three] = await write('a', OWN, { event: 1 }, { event: 2 }, { event: 3 })
  if (one === undefined || two === undefined) throw new Error('unreachable')
  const source = { validFromMs: NOW_MS, logId: LOG_ID }
  records = [
    { ...source, id: idOf(1), position: { sequence: one.sequence + 1, index: 0 } },
    { ...source, id: idOf(2), position: two },
    { ...source, id: idOf(3), position: { sequence: 0, index: 0 }, logId: 0 },
  ]

  expect(await ask(others(), [1, one], [2, two], [3, three])).toEqual([true, false, true])
})

test('the only partition asks nobody', async () => {
  const [own] = await write('a', OWN, { event: 1 })
  const only = new OtherPartitions(OWN, {
    ...broker.deps,
    held: () => partitionsHeld(broker.manager),
    recordSourcesOf: () => {
      throw new Error('the read model must not be asked')
    },
    logId: LOG_ID,
    partitions: 1,
  })

  expect(await ask(only, [1, own])).toEqual([false])
})

test('what was read of a mailbox serves the next batch, until its partition has processed it', async () => {
  const of = others()
  const [earlier = { sequence: 0, index: 0 }] = await write('a', 1, { event: 1 }, { event: 2 })
  const [one] = await write('a', OWN, { event: 1 })
  expect(await ask(of, [1, one])).toEqual([true])

  const [two] = await write('a', OWN, { event: 2 })
  expect(await ask(of, [2, two])).toEqual([true])

  // Quarantined: neither held nor recorded.
  await done('a.1', earlier)
  expect(await ask(of, [2, two])).toEqual([false])
  of.forget()
  await write('a', 1, { event: 3 })
  const [three] = await write('a', OWN, { event: 3 })
  expect(await ask(of, [3, three])).toEqual([true])
})
