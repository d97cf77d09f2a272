import { randomBytes } from 'node:crypto'
import { beforeAll, describe, expect, test } from 'vitest'
import { partitionOf } from '../../../../../internal/ids/event-partition.js'
import {
  type RecordSource,
  recordedIds,
  recordSourcesOf,
  recordSourcesSince,
} from '../../../../../internal/store/queries/records/sources.js'
import { insertRows } from '../../../../../internal/store/sink.js'
import { ATTRIBUTIONS, type AttributionRow } from '../../../../../internal/store/tables/attributions.js'
import { type Database, openDatabase } from '../../../../support/database.js'
import { idOf, NOW_MS } from '../../../../support/invocations.js'
import { finishedRow } from '../../../../support/rows.js'
import { ROW_DEPS } from '../../../../support/stages.js'

let store: Database

interface Place {
  readonly number: number
  readonly partition: number
  readonly validFromMs: number
}

const rowOf = ({ number, ...place }: Place): AttributionRow =>
  finishedRow({ id: idOf(number), position: { sequence: 2 ** 40 + number, index: number % 1_000 } }, place)

/** A row a second. */
const PLACES = Array.from({ length: 8_000 }, (_, i): Place => {
  return { number: i + 1, partition: i % 2, validFromMs: NOW_MS + i * 1_000 }
})

beforeAll(async () => {
  store = await openDatabase()
  // The youngest first, so that the order that comes back is not that of the inserts.
  await insertRows(store.client, ATTRIBUTIONS, PLACES.slice(4_000).map(rowOf), 'late')
  await insertRows(store.client, ATTRIBUTIONS, PLACES.slice(0, 4_000).map(rowOf), 'early')
})

async function all<T>(rows: AsyncIterable<T>): Promise<T[]> {
  const read: T[] = []
  for await (const row of rows) read.push(row)
  return read
}

const hexOf = (id: Uint8Array): string => Buffer.from(id).toString('hex')
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

    for (const [partition, partitions] of [
      [1, 2],
      [0, 1],
      [5, 7],
      [63, 64],
    ] as const) {
      expect(await all(recordSourcesSince(store.client, { partition, partitions }, sinceMs))).toEqual(
        PLACES.filter(
          ({ number, validFromMs }) => partitionOf(idOf(number), partitions) === partition && validFromMs >= sinceMs,
        ).map(expected),
      )
    }
  })

  test('belong to the same partition by the query and by the rule, whatever the id and the number of partitions', async () => {
    const ids = Array.from({ length: 256 }, (_, last) => Buffer.concat([randomBytes(15), Buffer.of(last)]))
    const validFromMs = NOW_MS + 20_000_000
    const rows = ids.map((id) => ({ ...rowOf({ number: 1, partition: 0, validFromMs }), id }))
    await insertRows(store.client, ATTRIBUTIONS, rows, 'any ids')

    for (const partitions of [1, 2, 3, 4, 12, 48, 64]) {
      for (let partition = 0; partition < partitions; partition++) {
        const found = await all(recordSourcesSince(store.client, { partition, partitions }, validFromMs))

        expect(found.map(({ id }) => hexOf(id)).sort()).toEqual(
          ids
            .filter((id) => partitionOf(id, partitions) === partition)
            .map(hexOf)
            .sort(),
        )
      }
    }
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

test('of many ids, those that have a record are found', async () => {
  const recorded = await recordedIds(
    store.client,
    Array.from({ length: 12_000 }, (_, i) => idOf(i + 1)),
  )

  expect(recorded).toEqual(new Set(PLACES.map(({ number }) => Buffer.from(idOf(number)).toString('hex'))))
})
