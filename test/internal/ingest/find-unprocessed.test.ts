import { beforeAll, expect, test, vi } from 'vitest'
import { publishOrThrow } from '../../../internal/broker/publisher.js'
import { unprocessedSearch } from '../../../internal/ingest/find-unprocessed.js'
import { encodeEntry, encodeGroup } from '../../../internal/invocations/invocation-group.js'
import { INVOCATIONS, invocationsSubject, type StageName } from '../../../streams/invocations.js'
import { idOf, NOW_MS, validEvent } from '../../support/invocations.js'
import { type LogBroker, launchLogBroker } from '../../support/planned-logs.js'

const PARTITIONS = 2

let broker: LogBroker
let messages = 0

beforeAll(async () => {
  broker = await launchLogBroker()
  const { manager } = broker
  search = unprocessedSearch({ manager, doneOf: (mailbox) => progress.get(mailbox) ?? 0, partitions: PARTITIONS })
})

async function send(stage: StageName, partition: number, data: Uint8Array): Promise<number> {
  await publishOrThrow(broker.publish, invocationsSubject(stage, partition), data, `f${messages++}`)
  return (await broker.manager.streams.info(INVOCATIONS.name)).state.last_seq
}
const group = (...numbers: readonly number[]): Uint8Array =>
  encodeGroup(
    numbers.map((number) =>
      encodeEntry({ tenantId: 'tnt_one', principal: 'key_one', id: idOf(number), receivedAtMs: NOW_MS }, validEvent()),
    ),
  )
/** By mailbox. */
const progress = new Map<string, number>()
const done = (stage: StageName, partition: number, sequence: number) => progress.set(`${stage}.${partition}`, sequence)
let search: (id: Uint8Array) => Promise<boolean | undefined>
const isFound = (number: number): Promise<boolean | undefined> => search(idOf(number))

test.each([
  ['l', 0, 11],
  ['a', 0, 12],
  ['a', 1, 13],
  ['t', 1, 14],
  ['b', 0, 15],
  ['c', 1, 16],
  // Of an old spool, or from before the number of partitions changed.
  ['a', 1, 18],
  ['a', PARTITIONS + 3, 19],
  ['b', PARTITIONS, 20],
  ['c', PARTITIONS, 21],
] as const)(
  'an event waits in a mailbox of stage %s, partition %i, until it is processed there',
  async (...mailbox) => {
    const [stage, partition, number] = mailbox
    await send(stage, partition, group(1, 2))
    // What is no group holds no events.
    await send(stage, partition, Buffer.from('{"corrections":[]}'))
    const sequence = await send(stage, partition, group(3, number))

    expect(await isFound(number)).toBe(true)
    expect(await isFound(number + 100)).toBe(false)
    done(stage, partition, sequence)
    expect(await isFound(number)).toBe(false)
  },
)

test('while more waits than is searched, an event that was not found may be there', async () => {
  for (let i = 0; i < 1_000; i++) await send('b', 1, group(500))
  const last = await send('b', 1, group(501))

  expect(await isFound(500)).toBe(true)
  expect(await isFound(501)).toBeUndefined()
  done('b', 1, last - 1)
  expect(await isFound(501)).toBe(true)
})

test('a group that does not hold the event is not parsed', async () => {
  for (let i = 0; i < 50; i++) await send('c', 0, group(...Array.from({ length: 40 }, (_, j) => 600 + j)))
  const last = await send('c', 0, group(700, 701))
  const parse = vi.spyOn(JSON, 'parse')
  const groups = () => parse.mock.calls.filter(([text]) => text.includes('"i":"')).length

  expect(await isFound(702)).toBe(false)
  expect(groups()).toBe(0)
  expect(await isFound(701)).toBe(true)
  expect(groups()).toBe(1)
  parse.mockRestore()
  done('c', 0, last)
})

test('of many who ask at once, some are asked to come again', async () => {
  const found = await Promise.all(Array.from({ length: 6 }, () => isFound(800)))

  expect(found).toEqual([false, false, false, false, undefined, undefined])
  expect(await isFound(800)).toBe(false)
})
