import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  type FoundEvent,
  IN_ANOTHER_LOG,
  type SeenEvent,
  SeenEvents,
} from '../../../../internal/attribution/actor/seen-events.js'
import type { Position } from '../../../../internal/invocations/invocation-group.js'
import { idOf, NOW_MS } from '../../../support/invocations.js'

const DAY_MS = 86_400_000
const at = (sequence: number, index = 0): Position => ({ sequence, index })
const event = (number: number, position: Position): SeenEvent => ({ id: idOf(number), position })

/** All events fit into the exact table, so that any lookup is an error. */
const allExact = (): SeenEvents =>
  new SeenEvents({
    windowMs: 7 * DAY_MS,
    exactEventsMax: 100_000,
    filterBytesMax: () => Number.POSITIVE_INFINITY,
    find: async () => {
      throw new Error('unexpected lookup')
    },
  })

interface Arrival {
  readonly number: number
  readonly position: Position
}

/** Part of a log: batches of arrivals at increasing positions, with so few distinct events that many repeat. */
const logs = fc
  .array(fc.array(fc.integer({ min: 1, max: 12 }), { minLength: 1, maxLength: 8 }), { minLength: 1, maxLength: 8 })
  .map((messages) =>
    messages.map((numbers, m) => numbers.map((number, index): Arrival => ({ number, position: at(m + 1, index) }))),
  )

const verdictsOn = (seen: SeenEvents, arrivals: readonly Arrival[], nowMs = NOW_MS): Promise<readonly boolean[]> =>
  seen.duplicatesIn(
    arrivals.map(({ number, position }) => event(number, position)),
    nowMs,
  )

describe('duplicates', () => {
  test('an event seen at a different position, in another message or in the same one, is a duplicate', async () => {
    const seen = allExact()

    expect(await seen.duplicatesIn([event(1, at(5, 3)), event(1, at(5, 4))], NOW_MS)).toEqual([false, true])
    expect(await seen.duplicatesIn([event(1, at(6)), event(2, at(6, 1))], NOW_MS)).toEqual([true, false])
    expect(await seen.duplicatesIn([event(1, at(4))], NOW_MS)).toEqual([true])
  })

  test('an event read again at its own position is not a duplicate', async () => {
    const seen = allExact()
    await seen.duplicatesIn([event(1, at(5, 3))], NOW_MS)

    expect(await seen.duplicatesIn([event(1, at(5, 3))], NOW_MS)).toEqual([false])
  })

  test('an event seen in an earlier log is a duplicate at every position of the current log', async () => {
    const seen = allExact()
    seen.remember(idOf(1), IN_ANOTHER_LOG, NOW_MS)

    expect(await seen.duplicatesIn([event(1, at(1))], NOW_MS)).toEqual([true])
  })

  test('in any log, every arrival of an event except the first is a duplicate', async () => {
    await fc.assert(
      fc.asyncProperty(logs, async (log) => {
        const seen = allExact()
        const arrivals = log.flat()
        const first = arrivals.map(({ number }, i) => arrivals.findIndex((other) => other.number === number) === i)

        const verdicts: boolean[] = []
        for (const batch of log) verdicts.push(...(await verdictsOn(seen, batch)))

        expect(verdicts).toEqual(first.map((isFirst) => !isFirst))
      }),
    )
  })

  test('a repeated batch always has the same duplicates', async () => {
    await fc.assert(
      fc.asyncProperty(logs, fc.integer({ min: 1, max: 3 }), async (log, times) => {
        const seen = allExact()
        for (const batch of log) {
          const verdicts = await verdictsOn(seen, batch)
          for (let i = 0; i < times; i++) expect(await verdictsOn(seen, batch)).toEqual(verdicts)
        }
      }),
    )
  })
})

describe('remembered events', () => {
  test('event ids with different tenants or different keyed hashes are different events', async () => {
    const seen = allExact()
    await seen.duplicatesIn([event(1, at(1))], NOW_MS)

    for (let byte = 0; byte < 16; byte++) {
      const id = Buffer.from(idOf(1))
      id[byte] = 0xff
      expect(await seen.duplicatesIn([{ id, position: at(2 + byte) }], NOW_MS)).toEqual([false])
    }
  })

  test('an event is recognized whichever buffer its id is a view of', async () => {
    const seen = allExact()
    const memory = Buffer.concat([Buffer.alloc(3), idOf(1)])
    seen.remember(new Uint8Array(memory.buffer, memory.byteOffset + 3, 16), at(1), NOW_MS)

    expect(await seen.duplicatesIn([event(1, at(2))], NOW_MS)).toEqual([true])
  })

  test('positions are distinguished up to sequence 2^44 - 1 and index 2^20 - 1', async () => {
    const places = [1, 2 ** 20 - 1, 2 ** 31, 2 ** 32, 2 ** 32 + 1, 2 ** 43, 2 ** 44 - 1].flatMap((sequence) =>
      [0, 1, 2 ** 19, 2 ** 20 - 1].map((index) => at(sequence, index)),
    )
    const seen = allExact()
    for (const [i, position] of places.entries()) seen.remember(idOf(i + 1), position, NOW_MS)

    for (const [i, known] of places.entries()) {
      const batch = places.map((position) => event(i + 1, position))
      expect(await seen.duplicatesIn(batch, NOW_MS)).toEqual(places.map((position) => position !== known))
    }
  })

  test('an event is forgotten after the window', async () => {
    const seen = allExact()
    seen.remember(idOf(1), at(1), NOW_MS)

    expect(await seen.duplicatesIn([event(1, at(2))], NOW_MS + 7 * DAY_MS)).toEqual([true])
    expect(await seen.duplicatesIn([event(1, at(2))], NOW_MS + 7 * DAY_MS + 1_001)).toEqual([false])
  })
})

/** More events than the exact table holds: the older ones are in filters, and those with a record can be looked up. */
function overfilled(recorded: Map<string, FoundEvent>, filterBytesMax = () => Number.POSITIVE_INFINITY) {
  const lookups: number[] = []
  const seen = new SeenEvents({
    windowMs: 7 * DAY_MS,
    exactEventsMax: 256,
    filterBytesMax,
    async find(ids) {
      lookups.push(ids.length)
      return ids.flatMap((id) => recorded.get(Buffer.from(id).toString('hex')) ?? [])
    },
  })
  return { seen, lookups }
}

const record = (recorded: Map<string, FoundEvent>, { id, position }: SeenEvent, seenAtMs: number): void =>
  void recorded.set(Buffer.from(id).toString('hex'), { id, position, seenAtMs })

describe('events beyond the exact table', () => {
  const COUNT = 5_000
  const BATCH = 20

  /** A week in which each event arrives once, in batches, and gets its record after its batch. */
  async function afterAWeek() {
    const recorded = new Map<string, FoundEvent>()
    const { seen, lookups } = overfilled(recorded)
    const stepMs = (7 * DAY_MS) / (COUNT / BATCH)
    for (let from = 0; from < COUNT; from += BATCH) {
      const nowMs = NOW_MS + (from / BATCH) * stepMs
      const batch = Array.from({ length: BATCH }, (_, i) => event(from + i + 1, at(from + 1, i)))
      expect(await seen.duplicatesIn(batch, nowMs)).toEqual(batch.map(() => false))
      for (const one of batch) record(recorded, one, nowMs)
    }
    return { seen, lookups, recorded, endMs: NOW_MS + 7 * DAY_MS - stepMs }
  }

  test('every event of the window is a duplicate, and every other event is new', async () => {
    const { seen, endMs } = await afterAWeek()

    expect(seen.extent.exactEvents).toBeLessThanOrEqual(256)
    expect(seen.extent.filters).toBeGreaterThan(0)
    for (let from = 0; from < COUNT; from += BATCH) {
      const again = Array.from({ length: BATCH }, (_, i) => event(from + i + 1, at(1_000_000 + from, i)))
      expect(await seen.duplicatesIn(again, endMs)).toEqual(again.map(() => true))
      const other = Array.from({ length: BATCH }, (_, i) => event(1e8 + from + i, at(2_000_000 + from, i)))
      expect(await seen.duplicatesIn(other, endMs)).toEqual(other.map(() => false))
    }
  })

  test('an event at its own position is not a duplicate, even if only a filter knows it', async () => {
    const { seen, endMs } = await afterAWeek()

    const first = Array.from({ length: BATCH }, (_, i) => event(i + 1, at(1, i)))

    expect(await seen.duplicatesIn(first, endMs)).toEqual(first.map(() => false))
  })

  test('a batch needs at most one lookup, with only the events that a filter may contain', async () => {
    const { seen, lookups, endMs } = await afterAWeek()
    lookups.length = 0

    await seen.duplicatesIn([event(1, at(9_000)), event(2, at(9_000, 1)), event(1, at(9_000, 2))], endMs)
    await seen.duplicatesIn([event(COUNT, at(9_001))], endMs)

    expect(lookups).toEqual([3])
  })

  test('a false positive of a filter is new once and then a duplicate, also within its batch', async () => {
    const { seen, recorded, endMs } = await afterAWeek()
    recorded.clear() // nobody knows of those whom the filters hold

    const batch = [event(1, at(9_000)), event(1, at(9_000, 1)), event(2, at(9_000, 2))]

    expect(await seen.duplicatesIn(batch, endMs)).toEqual([false, true, false])
    expect(await seen.duplicatesIn(batch, endMs)).toEqual([false, true, false])
    expect(await seen.duplicatesIn([event(1, at(9_001))], endMs)).toEqual([true])
  })

  test('a failed lookup fails the batch; its repetition has the same result as without the failure', async () => {
    const recorded = new Map<string, FoundEvent>()
    let isUnavailable = false
    const seen = new SeenEvents({
      windowMs: 7 * DAY_MS,
      exactEventsMax: 256,
      filterBytesMax: () => 4_096,
      async find(ids) {
        if (isUnavailable) throw new Error('the store is unavailable')
        return ids.flatMap((id) => recorded.get(Buffer.from(id).toString('hex')) ?? [])
      },
    })
    for (let number = 1; number <= 2_000; number++) {
      seen.remember(idOf(number), at(number), NOW_MS)
      record(recorded, event(number, at(number)), NOW_MS)
    }
    const batch = [event(5_000, at(9_000)), event(1, at(9_000, 1)), event(5_000, at(9_000, 2))]

    isUnavailable = true
    await expect(seen.duplicatesIn(batch, NOW_MS)).rejects.toThrow('the store is unavailable')
    isUnavailable = false

    expect(await seen.duplicatesIn(batch, NOW_MS)).toEqual([false, true, true])
  })
})
