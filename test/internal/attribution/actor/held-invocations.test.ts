import { beforeAll, expect, test, vi } from 'vitest'
import { type HeldDeps, heldFinder } from '../../../../internal/attribution/actor/held-invocations.js'
import type { SeenEvent } from '../../../../internal/attribution/actor/seen-events.js'
import { partitionsHeld } from '../../../../internal/broker/partitions.js'
import { publishOrThrow } from '../../../../internal/broker/publisher.js'
import { idHex } from '../../../../internal/ids/ids.js'
import { encodeEntry, encodeGroup, type Position } from '../../../../internal/invocations/invocation-group.js'
import { invocationsSubject, type StageName } from '../../../../streams/invocations.js'
import { idOf, NOW_MS, validEvent } from '../../../support/invocations.js'
import { type LogBroker, launchLogBroker } from '../../../support/planned-logs.js'

const PARTITIONS = 3
const HELD = 10_000
const PER_MESSAGE = 100

let broker: LogBroker
let sent = 0

beforeAll(async () => {
  broker = await launchLogBroker()
  const numbers = Array.from({ length: HELD }, (_, i) => i)
  for (let from = 0; from < HELD; from += PER_MESSAGE) {
    const stage = (['t', 'b', 'c'] as const)[(from / PER_MESSAGE) % 3] ?? 't'
    await hold(stage, (from / PER_MESSAGE) % PARTITIONS, numbers.slice(from, from + PER_MESSAGE))
  }
})

const positionOf = (number: number): Position => ({ sequence: 1_000_000 + number, index: number % 7 })
const wanting = (...numbers: readonly number[]): ((id: string) => boolean) => {
  const ids = new Set(numbers.map((number) => idHex(idOf(number))))
  return (id) => ids.has(id)
}
const found = (...numbers: readonly number[]): SeenEvent[] =>
  numbers.map((number) => ({ id: Buffer.from(idOf(number)), position: positionOf(number) }))

/** One message of events in a stage's mailbox, as the stage before has handed them over. */
async function hold(stage: StageName, partition: number, numbers: readonly number[]): Promise<number> {
  const entries = numbers.map((number) => {
    const admission = { tenantId: 'tnt_one', principal: 'key_one', id: idOf(number), receivedAtMs: NOW_MS }
    return encodeEntry(admission, validEvent({ tags: { i: idHex(idOf(number + 1)) } }), positionOf(number))
  })
  const subject = invocationsSubject(stage, partition)
  await publishOrThrow(broker.publish, subject, encodeGroup(entries), `held.${sent++}`)
  return (await broker.manager.direct.getMessage('INVOCATIONS', { last_by_subj: subject }))?.seq ?? 0
}

const finder = (deps: Partial<HeldDeps> = {}) => {
  const partitions = () => partitionsHeld(broker.manager, PARTITIONS)
  return heldFinder({ ...broker.deps, partitions, ...deps })
}

test('events that a later stage holds are found with their positions, whatever their mailbox, processed ones not', async () => {
  const last = await hold('b', 1, [20_000, 20_001])
  await broker.deps.checkpoints.put('b.1', JSON.stringify({ done: last }))
  const find = finder()

  expect(await find(wanting(5, 4_242, 9_999))).toEqual(found(5, 4_242, 9_999))
  expect(await find(wanting(20_001))).toEqual([])
  await broker.deps.checkpoints.delete('b.1')
  expect(await find(wanting(20_001))).toEqual(found(20_001))
})

test('events that a partition beyond those of the log holds are found, too', async () => {
  await hold('b', PARTITIONS, [30_000])
  await hold('c', PARTITIONS + 4, [30_001])

  expect(await finder()(wanting(30_000, 30_001))).toEqual(found(30_000, 30_001))
})

test('of ten thousand events that are held none is decoded in search of one that is not among them', async () => {
  const parse = vi.spyOn(JSON, 'parse')

  expect(await finder()(wanting(77_777))).toEqual([])
  expect(parse.mock.calls.filter(([text]) => text.includes('"tnt_one"'))).toHaveLength(0)
  expect(await finder()(wanting(77))).toEqual(found(77))
  // The message of the event; a tag of the one before looks like its id.
  expect(parse.mock.calls.filter(([text]) => text.includes('"tnt_one"'))).toHaveLength(1)
  parse.mockRestore()
})

test('all who ask during a search share the next one, and each gets its own events', async () => {
  let reads = 0
  const count: HeldDeps['readLog'] = (range) => {
    reads++
    return broker.deps.readLog(range)
  }
  const find = finder({ readLog: count })
  await find(wanting(1))
  const readsOfOne = reads
  reads = 0

  const first = find(wanting(1))
  await vi.waitFor(() => expect(reads).toBeGreaterThan(0))
  const others = await Promise.all([1, 2, 3, 4].map((number) => find(wanting(number))))

  expect(await first).toEqual(found(1))
  expect(others).toEqual([1, 2, 3, 4].map((number) => found(number)))
  expect(reads).toBe(2 * readsOfOne)
})

test('a search that fails fails for those who asked, and the next one works', async () => {
  let isAway = true
  const find = finder({
    async readLog(range) {
      if (isAway) throw new Error('the broker does not reply')
      return broker.deps.readLog(range)
    },
  })

  await expect(Promise.all([find(wanting(1)), find(wanting(2))])).rejects.toThrow('the broker does not reply')
  isAway = false
  expect(await find(wanting(1))).toEqual(found(1))
})
