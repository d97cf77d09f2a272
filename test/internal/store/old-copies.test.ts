import { pino } from 'pino'
import { afterEach, beforeAll, expect, test } from 'vitest'
import { closeRecords, generateRecords, LAST_AT_MS } from '../../../bench/query/generate.js'
import { SORT_FIELDS } from '../../../internal/filters/filter-fields.js'
import { type CopiedForPages, copiedInstants, followCopiedInstants } from '../../../internal/store/copied-instants.js'
import { lookForOldMonths, recordDropped } from '../../../internal/store/old-copies.js'
import { listRecords } from '../../../internal/store/queries/records/list-records.js'
import { settle } from '../../../internal/store/settling.js'
import { storedRows } from '../../../internal/store/stored-rows.js'
import { RECORD_TABLES, SORTED_COPIES } from '../../../internal/store/tables/sorted-copies.js'
import { type Database, openDatabase } from '../../support/database.js'
import { someOf } from '../../support/run/rings.js'

const NEVER = new AbortController().signal
const TENANT = 'tnt_one'
/** Spread evenly over the sixty days before 20 November 2026. */
const TOTAL = 1_200
const DAY_MS = 24 * 60 * 60 * 1_000
const SNAPSHOT_MS = LAST_AT_MS + 60_000
/** Twelve days later the end of October is 32 days ago, and that of September 62. */
const NOW_MS = LAST_AT_MS + 12 * DAY_MS
const OCTOBER_MS = Date.UTC(2026, 9, 1)
const NOVEMBER_MS = Date.UTC(2026, 10, 1)
const [PROVIDER, ALL] = [[{ field: 'provider', operator: 'eq', values: ['provider-1'] }] as const, [] as const]

let store: Database
beforeAll(async () => {
  store = await openDatabase()
})
afterEach(async () => {
  for (const table of [...RECORD_TABLES, 'closed', 'settling']) {
    await store.client.command({ query: `TRUNCATE TABLE ${table}` })
  }
})

async function insertAndSettle(): Promise<void> {
  for (let from = 0; from < TOTAL; from += 400) {
    await generateRecords(store.client, { tenantId: TENANT, from, to: from + 400, total: TOTAL })
  }
  await closeRecords(store.client, TENANT, 60, TOTAL)
  await settle(store.client, LAST_AT_MS - DAY_MS, NEVER)
}

const lookWith = (days: number, isOwner: () => boolean = () => true) =>
  lookForOldMonths({ store: store.client, days, isOwner, log: pino({ level: 'silent' }) })

/** By month, of each table. */
async function monthsOf(table: string): Promise<Record<string, number>> {
  const found = await storedRows<{ month: number; rows: string }>(
    store.client,
    `SELECT toYYYYMM(valid_from) AS month, count() AS rows FROM ${table} GROUP BY month ORDER BY month`,
    {},
  )
  return Object.fromEntries(found.map(({ month, rows }) => [month, Number(rows)]))
}

async function expectMonths(months: readonly string[]): Promise<void> {
  for (const { table } of SORTED_COPIES) expect([table, Object.keys(await monthsOf(table))]).toEqual([table, months])
}

/**
 * The ids of all records by each sort (by every third in the inner ring), and of those of one provider, one of them ascending and the other descending.
 */
async function allPages(copied: CopiedForPages): Promise<readonly (readonly string[])[]> {
  const answers: string[][] = []
  for (const [i, field] of someOf(SORT_FIELDS).entries()) {
    for (const [j, conditions] of [ALL, PROVIDER].entries()) {
      const sort = { field, isDescending: (i + j) % 2 === 0 }
      const limits = { after: undefined, limit: 2 * TOTAL, snapshotMs: SNAPSHOT_MS }
      const question = { tenantId: TENANT, conditions, sort, ...limits }
      answers.push((await listRecords(store.client, question, copied, undefined, NEVER)).map(({ id }) => id))
    }
  }
  return answers
}

test('months older than the setting leave the copies and no page, at the look after they count as left', async () => {
  await insertAndSettle()
  const base = await monthsOf('attributions')
  const before = await copiedInstants(store.client)
  const pages = await allPages(before)
  const look = lookWith(31)

  await look(NOW_MS)
  const recorded = await copiedInstants(store.client)

  expect(pages.map(({ length }) => length)).toContain(TOTAL)
  expect(recorded).toEqual({ ...before, fromMs: NOVEMBER_MS })
  // A reader may still know nothing of it.
  await expectMonths(['202609', '202610', '202611'])
  expect(await allPages(before)).toEqual(pages)
  expect(await allPages(recorded)).toEqual(pages)

  await look(NOW_MS)

  await expectMonths(['202611'])
  expect(await allPages(await copiedInstants(store.client))).toEqual(pages)
  // What readers with the instants of before no longer find was in the copies.
  expect(await allPages(before)).not.toEqual(pages)
  expect(await monthsOf('attributions')).toEqual(base)
})

test('a month stays until its end, not its begin, is older than the setting', async () => {
  await insertAndSettle()
  const look = lookWith(33)
  for (let i = 0; i < 2; i++) await look(NOW_MS)

  expect((await copiedInstants(store.client)).fromMs).toBe(OCTOBER_MS)
  await expectMonths(['202610', '202611'])
})

test('nothing is dropped by a process that does not own the work', async () => {
  await insertAndSettle()
  const months = Object.keys(await monthsOf('attributions_by_owner'))
  let isOwner = false
  const look = lookWith(31, () => isOwner)
  for (let i = 0; i < 3; i++) await look(NOW_MS)
  expect((await copiedInstants(store.client)).fromMs).toBe(0)

  // Another process may own it in between: what this one saw recorded is no longer the look before.
  for (isOwner of [true, false, true]) await look(NOW_MS)
  await expectMonths(months)
  await look(NOW_MS)
  await expectMonths(['202611'])
})

test('what is settled later is compared and copied from the recorded instant on', async () => {
  await generateRecords(store.client, { tenantId: TENANT, from: 0, to: 600, total: TOTAL })
  await settle(store.client, LAST_AT_MS - 30 * DAY_MS, NEVER)
  const look = lookWith(1)
  for (let i = 0; i < 2; i++) await look(Date.UTC(2026, 10, 3))
  await expectMonths([])

  await generateRecords(store.client, { tenantId: TENANT, from: 600, to: 1_000, total: TOTAL })
  await generateRecords(store.client, { tenantId: TENANT, from: 1_000, to: TOTAL, total: TOTAL })
  await settle(store.client, SNAPSHOT_MS, NEVER)
  await settle(store.client, SNAPSHOT_MS + 1, NEVER)

  const { 202611: november } = await monthsOf('attributions')
  for (const { table } of SORTED_COPIES) expect([table, await monthsOf(table)]).toEqual([table, { 202611: november }])
  const copied = await copiedInstants(store.client)
  const uncopied = await allPages({ fromMs: 0, beforeMs: 0 })
  expect(await allPages(copied)).toEqual(uncopied)
  expect(uncopied[0]).toHaveLength(TOTAL)
})

test('readers go on with instants that they know for a minute, and then wait for newer ones', async () => {
  let nowMs = 0
  const copied = followCopiedInstants(store.client, watermark, () => nowMs)
  expect(await copied(0)).toMatchObject({ fromMs: 0, beforeMs: 0, hasNewest: false })

  await recordDropped(store.client, NOVEMBER_MS)
  nowMs = 999
  expect(await copied(0)).toMatchObject({ fromMs: 0 })
  nowMs = 60_001
  expect(await copied(0)).toMatchObject({ fromMs: NOVEMBER_MS })
})

test('readers ask for records newer than the copies unless no writer has made progress', async () => {
  await generateRecords(store.client, { tenantId: TENANT, from: 0, to: 1_000, total: TOTAL })
  await settle(store.client, SNAPSHOT_MS, NEVER)
  await settle(store.client, SNAPSHOT_MS + 1, NEVER)
  let [nowMs, progress] = [0, 0]
  const copied = followCopiedInstants(store.client, { ...watermark, progress: () => progress }, () => nowMs)
  const hasNewest = async (snapshotMs: number) => (await copied(snapshotMs)).hasNewest

  expect([await hasNewest(SNAPSHOT_MS), await hasNewest(SNAPSHOT_MS + 1)]).toEqual([true, false])
  await generateRecords(store.client, { tenantId: TENANT, from: 1_000, to: TOTAL, total: TOTAL })
  await store.client.command({
    query: 'INSERT INTO attributions SELECT * REPLACE (now64(3) AS valid_from) FROM attributions LIMIT 1',
  })
  progress++
  expect(await hasNewest(SNAPSHOT_MS)).toBe(false)
  nowMs = 60_001
  expect(await hasNewest(SNAPSHOT_MS)).toBe(false)
})

/** At rest. */
const watermark = { known: () => SNAPSHOT_MS, progress: () => 0 }
