import { beforeAll, expect, test } from 'vitest'
import { partitionOf } from '../../../internal/ids/event-partition.js'
import { compact } from '../../../internal/store/compaction.js'
import { closedVersionsOf } from '../../../internal/store/queries/records/closed.js'
import { mergedInto } from '../../../internal/store/queries/records/merged.js'
import { recordedIds, recordSourcesOf, recordSourcesSince } from '../../../internal/store/queries/records/sources.js'
import { landedRows, versionsBefore } from '../../../internal/store/queries/records/versions.js'
import { settle } from '../../../internal/store/settling.js'
import { insertRows } from '../../../internal/store/sink.js'
import { ATTRIBUTIONS, type AttributionRow } from '../../../internal/store/tables/attributions.js'
import { type Change, CLOSED, KEPT, mergeId } from '../../../internal/store/tables/closed.js'
import { RECORD_TABLES } from '../../../internal/store/tables/sorted-copies.js'
import { type Database, openDatabase } from '../../support/database.js'
import { idOf, NOW_MS } from '../../support/invocations.js'
import { finishedRow } from '../../support/rows.js'
import { readBooks } from '../../support/usage.js'

let store: Database
const { signal } = new AbortController()

beforeAll(async () => {
  store = await openDatabase()
})

const rowOf = (number: number, tenantId = 'tnt_one'): AttributionRow =>
  finishedRow({ id: new Uint8Array(idOf(number)), tenantId })

/** Replaces a version by one of another owner. */
async function replace(row: AttributionRow, change: Change, atMs: number): Promise<AttributionRow> {
  const next = { ...row, owner: `owner-${change}`, validFromMs: atMs }
  const token = `${row.tenantId} ${Buffer.from(row.id).toString('hex')} ${atMs}`
  await insertRows(store.client, ATTRIBUTIONS, [next], token)
  await insertRows(
    store.client,
    CLOSED,
    [{ version: row, closedAtMs: atMs, change, changeId: 'rea_one', actor: 'cli' }],
    token,
  )
  return next
}

const countIn = async (table: string): Promise<number> => {
  const result = await store.client.query({ query: `SELECT count() FROM ${table}`, format: 'JSONCompactEachRow' })
  return Number((await result.json<[string]>())[0]?.[0])
}
const hexOf = ({ id }: AttributionRow): string => Buffer.from(id).toString('hex')

test('compaction removes old versions replaced by a job or a trace; recent ones and those by people stay', async () => {
  const rows = [1, 2, 3, 4, 5].map((number) => rowOf(number))
  const foreign = rowOf(6, 'tnt_two')
  await insertRows(store.client, ATTRIBUTIONS, [...rows, foreign], 'rows')
  const [anew, corrected, overridden, young] = rows as [AttributionRow, AttributionRow, AttributionRow, AttributionRow]
  const last = await replace(await replace(anew, 'reattribution', NOW_MS + 10), 'reattribution', NOW_MS + 20)
  await replace(corrected, 'correction', NOW_MS + 10)
  await replace(overridden, 'override', NOW_MS + 10)
  await replace(young, 'reattribution', NOW_MS + 1_000)
  await replace(foreign, 'reattribution', NOW_MS + 10)
  const history = await closedVersionsOf(store.client, 'tnt_one', hexOf(anew), NOW_MS + 2_000, signal)
  const before = await readBooks(store.client)
  await settle(store.client, NOW_MS + 2_000, signal)

  expect(await compact(store.client, NOW_MS + 100, 3)).toEqual(['tnt_one'])
  expect(await compact(store.client, NOW_MS + 100, 3)).toEqual([])

  for (const table of RECORD_TABLES) expect([table, await countIn(table)]).toEqual([table, 6 + 6 - 3])
  expect(await countIn('closed')).toBe(3)
  expect((await versionsBefore(store.client, 'tnt_one', [hexOf(anew)], NOW_MS + 2_000)).map(({ row }) => row)).toEqual([
    last,
  ])
  expect(await landedRows(store.client, [overridden, young, foreign])).toHaveLength(3)
  expect(await closedVersionsOf(store.client, 'tnt_one', hexOf(anew), NOW_MS + 2_000, signal)).toEqual(history)
  expect(await readBooks(store.client)).toEqual(before)
  expect(before.rollups).toEqual(before.records)
})

test('compaction removes many versions in steps, and moves no entry twice', async () => {
  const rows = Array.from({ length: 9 }, (_, i) => rowOf(100 + i, 'tnt_many'))
  await insertRows(store.client, ATTRIBUTIONS, rows, 'many')
  // Three at an instant, as a job closes them.
  for (const [i, row] of rows.entries()) await replace(row, 'reattribution', NOW_MS + 10 + 10 * Math.floor(i / 3))
  // A round that was ended after its first step.
  const moved =
    "tenant_id = 'tnt_many' AND closed_at = (SELECT min(closed_at) FROM closed WHERE tenant_id = 'tnt_many')"
  await store.client.command({ query: `INSERT INTO closed_history SELECT * FROM closed WHERE ${moved}` })
  const [history, closed] = [await countIn('closed_history'), await countIn('closed')]
  const before = await readBooks(store.client)

  expect(await compact(store.client, NOW_MS + 100, 9, 2)).toEqual(['tnt_many'])

  expect(await countIn('closed')).toBe(closed - 9)
  expect(await countIn('closed_history')).toBe(history + 6)
  const ids = rows.map(hexOf)
  const left = (await versionsBefore(store.client, 'tnt_many', ids, NOW_MS + 2_000)).map(({ row }) => row.owner)
  expect(left).toEqual(rows.map(() => 'owner-reattribution'))
  expect(await readBooks(store.client)).toEqual(before)
})

test('an event whose record was merged away and removed is still known', async () => {
  const sinceMs = NOW_MS - 1_000
  const winner = rowOf(41, 'tnt_merged')
  const absorbed = rowOf(42, 'tnt_merged')
  const decided = rowOf(43, 'tnt_merged')
  await insertRows(store.client, ATTRIBUTIONS, [winner, absorbed, decided], 'merged')
  const changeId = mergeId(hexOf(winner), hexOf(absorbed))
  const by = { closedAtMs: NOW_MS + 10, change: 'merge', actor: 'same_call' } as const
  const kept = { ...by, version: decided, changeId: `${changeId}${KEPT}` }
  await insertRows(
    store.client,
    CLOSED,
    [{ ...by, version: winner, changeId }, { ...by, version: absorbed, changeId }, kept],
    'merged',
  )
  await insertRows(store.client, ATTRIBUTIONS, [{ ...winner, validFromMs: NOW_MS + 10 }], 'merged anew')

  expect(await compact(store.client, NOW_MS + 100, 1)).toContain('tnt_merged')

  expect(await landedRows(store.client, [winner, absorbed, decided])).toMatchObject([{ id: decided.id }])
  const ids = [winner, absorbed].map(({ id }) => id)
  expect([...(await recordedIds(store.client, ids))].sort()).toEqual([hexOf(winner), hexOf(absorbed)].sort())
  const sources = await recordSourcesOf(store.client, ids, sinceMs)
  expect(sources.map(({ id, logId }) => [Buffer.from(id).toString('hex'), logId === 0]).sort()).toEqual([
    [hexOf(winner), false],
    [hexOf(absorbed), true],
  ])
  const known: string[] = []
  const partition = { partition: partitionOf(absorbed.id, 4), partitions: 4 }
  for await (const { id } of recordSourcesSince(store.client, partition, sinceMs)) {
    known.push(Buffer.from(id).toString('hex'))
  }
  expect(known).toContain(hexOf(absorbed))
  expect(await mergedInto(store.client, 'tnt_merged', hexOf(absorbed), NOW_MS + 100, signal)).toBe(hexOf(winner))
  expect(await mergedInto(store.client, 'tnt_merged', hexOf(winner), NOW_MS + 100, signal)).toBeUndefined()
})
