import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { hashOfInvocationId, type KeyHash, hexOf as wordsAsHex } from '../../../../../internal/ids/key-hash.js'
import { ALL_SLOTS, type Slots, slotOf } from '../../../../../internal/ids/owner-slots.js'
import {
  type RecordSource,
  recordedEventsSince,
  recordedIds,
  recordSourcesOf,
  recordSourcesSince,
} from '../../../../../internal/store/queries/records/sources.js'
import { insertRows } from '../../../../../internal/store/sink.js'
import { ATTRIBUTIONS, type AttributionRow } from '../../../../../internal/store/tables/attributions.js'
import { idOf, NOW_MS } from '../../../../support/invocations.js'
import { finishedRow } from '../../../../support/rows.js'
import { ROW_DEPS } from '../../../../support/stages.js'
import { launchMigratedStore, type RunningStore, stopStore } from '../../../../support/store.js'

let store: RunningStore

interface Place {
  readonly number: number
  readonly partition: number
  readonly validFromMs: number
}

const rowOf = ({ number, ...place }: Place): AttributionRow =>
  finishedRow({ id: idOf(number), position: { sequence: 2 ** 40 + number, index: number % 1_000 } }, place)

/** A row a second, alternately of partitions 0 and 1. */
const PLACES = Array.from({ length: 8_000 }, (_, i): Place => {
  return { number: i + 1, partition: i % 2, validFromMs: NOW_MS + i * 1_000 }
})

beforeAll(async () => {
  store = await launchMigratedStore()
  // The youngest first, so that the order that comes back is not that of the inserts.
  await insertRows(store.client, ATTRIBUTIONS, PLACES.slice(4_000).map(rowOf), 'late')
  await insertRows(store.client, ATTRIBUTIONS, PLACES.slice(0, 4_000).map(rowOf), 'early')
})

afterAll(() => stopStore(store))

async function all<T>(rows: AsyncIterable<T>): Promise<T[]> {
  const read: T[] = []
  for await (const row of rows) read.push(row)
  return read
}

const numberOf = ({ id }: { readonly id: Uint8Array }): number => Buffer.from(id).readUInt32BE(4)
const expected = ({ number, validFromMs }: Place): RecordSource => ({
  id: Buffer.from(idOf(number)),
  validFromMs,
  logId: ROW_DEPS.logId,
  position: { sequence: 2 ** 40 + number, index: number % 1_000 },
})

describe('the sources of records', () => {
  test('of a partition come back with log and position, the oldest first, from the instant on', async () => {
    const sinceMs = NOW_MS + 3_000_000

    expect(await all(recordSourcesSince(store.client, { partition: 1, partitions: 2 }, sinceMs))).toEqual(
      PLACES.filter(({ partition, validFromMs }) => partition === 1 && validFromMs >= sinceMs).map(expected),
    )
    expect(await all(recordSourcesSince(store.client, { partition: 2, partitions: 3 }, 0))).toEqual([])
  })

  test('of partitions that are no longer configured belong to each partition', async () => {
    const sinceMs = NOW_MS + 3_000_000

    expect(await all(recordSourcesSince(store.client, { partition: 0, partitions: 1 }, sinceMs))).toEqual(
      PLACES.filter(({ validFromMs }) => validFromMs >= sinceMs).map(expected),
    )
  })

  test('are found by id, of whichever partition, also when several thousand are asked for', async () => {
    const ids = Array.from({ length: 10_000 }, (_, i) => idOf(i + 1))

    const found = await recordSourcesOf(store.client, ids, NOW_MS + 1_000)

    expect(found.toSorted((one, other) => numberOf(one) - numberOf(other))).toEqual(PLACES.slice(1).map(expected))
    expect(await recordSourcesOf(store.client, [], 0)).toEqual([])
  })

  test('of an event with several versions are those of its earliest', async () => {
    const first = { number: 900_001, partition: 3, validFromMs: NOW_MS }
    await insertRows(store.client, ATTRIBUTIONS, [rowOf({ ...first, validFromMs: NOW_MS + 5 })], 'version 2')
    await insertRows(store.client, ATTRIBUTIONS, [rowOf(first)], 'version 1')

    expect(await recordSourcesOf(store.client, [idOf(900_001)], 0)).toEqual([expected(first)])
  })
})

describe('the events that have a record', () => {
  const sinceMs = NOW_MS + 2_000_000
  const keyOf = (number: number): KeyHash => {
    const key: KeyHash = new Int32Array(4)
    hashOfInvocationId(idOf(number), key)
    return key
  }
  const wanted = PLACES.filter(({ validFromMs }) => validFromMs >= sinceMs).map(
    ({ number, validFromMs }) => [keyOf(number), validFromMs] as const,
  )
  const shown = ([key, validFromMs]: readonly [KeyHash, number]): string => `${wordsAsHex(key)} ${validFromMs}`

  async function read(slots: Slots): Promise<string[]> {
    const event = { key: new Int32Array(4), validFromMs: 0 }
    const events: string[] = []
    for await (const rows of recordedEventsSince(store.client, slots, sinceMs)) {
      for (let i = 0; i < rows.count; i++) {
        rows.read(i, event)
        events.push(shown([event.key, event.validFromMs]))
      }
    }
    return events.sort()
  }

  test('come back with its time, from the instant on', async () => {
    expect(await read(ALL_SLOTS)).toEqual(wanted.map(shown).sort())
  })

  test('come back for the slots that were asked for, and no others', async () => {
    // The ids of these tests are all in one slot.
    const own = slotOf(keyOf(1))
    const id = Buffer.from(idOf(1))
    id.writeUInt16LE(own + 1, 8)
    const validFromMs = NOW_MS + 9_000_000
    await insertRows(store.client, ATTRIBUTIONS, [{ ...rowOf({ number: 1, partition: 0, validFromMs }), id }], 'slot')
    const other: KeyHash = new Int32Array(4)
    hashOfInvocationId(id, other)

    expect(await read([own])).toEqual(wanted.map(shown).sort())
    expect(await read([own + 1])).toEqual([shown([other, validFromMs])])
    expect(await read([])).toEqual([])
  })
})

test('of many ids, those that have a record are found', async () => {
  const recorded = await recordedIds(
    store.client,
    Array.from({ length: 12_000 }, (_, i) => idOf(i + 1)),
  )

  expect(recorded).toEqual(new Set(PLACES.map(({ number }) => Buffer.from(idOf(number)).toString('hex'))))
})
