import type { ClickHouseClient } from '@clickhouse/client'
import { afterEach, beforeAll, expect, test } from 'vitest'
import { generateRecords, LAST_AT_MS } from '../../../bench/query/generate.js'
import { identityHash } from '../../../internal/ids/identity-hash.js'
import { settledBefore } from '../../../internal/store/copied-instants.js'
import { eraseIdentity } from '../../../internal/store/erasure.js'
import { deleteCallsBefore } from '../../../internal/store/retention.js'
import { settle } from '../../../internal/store/settling.js'
import { RECORD_TABLES, SORTED_COPIES } from '../../../internal/store/tables/sorted-copies.js'
import { type Database, openDatabase } from '../../support/database.js'
import { ROW_DEPS } from '../../support/stages.js'

const NEVER = new AbortController().signal
const TENANT = 'tnt_one'
/** Of records that the generator spreads evenly over sixty days. */
const TOTAL = 60_000
const DAY_MS = 24 * 60 * 60 * 1_000
const afterDay = (day: number): number => LAST_AT_MS - (60 - day) * DAY_MS + 4_001

let store: Database
beforeAll(async () => {
  store = await openDatabase()
})
afterEach(async () => {
  for (const table of [...RECORD_TABLES, 'settling']) await store.client.command({ query: `TRUNCATE TABLE ${table}` })
})

/** Rows, distinct versions, and a sum over them: the same in every table that holds the same rows. */
async function contentsOf(table: string, beforeMs = Number.MAX_SAFE_INTEGER): Promise<unknown> {
  const result = await store.client.query({
    query: `SELECT count() AS rows, uniqExact(id, valid_from) AS versions,
              sum(cityHash64(tenant_id, id, valid_from, cost_usd, owner, dimensions)) AS sum
            FROM ${table} WHERE toUnixTimestamp64Milli(valid_from) < {before:Int64}`,
    query_params: { before: beforeMs },
    format: 'JSONEachRow',
  })
  return (await result.json())[0]
}

async function expectCopied(beforeMs: number): Promise<void> {
  const base = await contentsOf('attributions', beforeMs)
  for (const { table } of SORTED_COPIES) expect([table, await contentsOf(table)]).toEqual([table, base])
}

/** Inserts the records of some days, in batches of some hours. */
async function insertDays(from: number, to: number, tenantId = TENANT): Promise<void> {
  for (let day = from; day < to; day += 0.5) {
    await generateRecords(store.client, { tenantId, from: day * 1_000, to: (day + 0.5) * 1_000, total: TOTAL })
  }
}

/** The store, on which something happens before a command. */
const before = (happens: (query: string) => Promise<void>): ClickHouseClient =>
  Object.assign(Object.create(store.client) as ClickHouseClient, {
    async command(asked: Parameters<ClickHouseClient['command']>[0]) {
      await happens(asked.query)
      return store.client.command(asked)
    },
  })

test('records are in every copy once they are settled, and newer ones in none', async () => {
  await insertDays(0, 4)
  await settle(store.client, afterDay(2), NEVER)

  expect(await settledBefore(store.client)).toBe(afterDay(2))
  await expectCopied(afterDay(2))

  await insertDays(4, 5)
  await settle(store.client, afterDay(5), NEVER)
  await settle(store.client, afterDay(5), NEVER)
  await settle(store.client, afterDay(1), NEVER)

  expect(await settledBefore(store.client)).toBe(afterDay(5))
  await expectCopied(afterDay(5))
  expect(await contentsOf('attributions')).toMatchObject({ rows: '5000' })
})

test('nothing is settled where there is nothing new', async () => {
  await settle(store.client, afterDay(2), NEVER)
  expect(await settledBefore(store.client)).toBe(0)
})

test('nothing counts as settled for a gateway that starts before the attributor has made the table', async () => {
  await store.client.command({ query: 'RENAME TABLE settling TO settling_later' })
  expect(await settledBefore(store.client)).toBe(0)
  await store.client.command({ query: 'RENAME TABLE settling_later TO settling' })
})

test('many records are settled in ranges of a bounded number of rows', async () => {
  for (const from of [0, 1_000, 2_000, 3_000]) {
    await generateRecords(store.client, { tenantId: TENANT, from, to: from + 1_000, total: 4_000 })
  }
  const rowsOf: number[] = []
  const watched = before(async (query) => {
    if (query.includes("'settled'") || !query.startsWith('INSERT INTO settling')) return
    rowsOf.push(Number(((await contentsOf('attributions_by_owner')) as { rows: string }).rows))
  })

  await settle(watched, LAST_AT_MS + DAY_MS, NEVER, () => true, 2_500)

  expect(new Set(rowsOf)).toEqual(new Set([0, 2_500, 4_000]))
  await expectCopied(LAST_AT_MS + DAY_MS)
})

test('two processes that settle at once, while records arrive, copy each record once', async () => {
  await insertDays(0, 2)
  for (let day = 2; day < 8; day++) {
    const arriving = insertDays(day, day + 1)
    // Each believes that it is the only one, and knows another instant up to which records are complete.
    await Promise.all([
      settle(store.client, afterDay(day), NEVER),
      settle(store.client, afterDay(day - 0.5), NEVER),
      settle(store.client, afterDay(day), NEVER),
    ])
    await arriving
  }
  await settle(store.client, afterDay(8), NEVER)

  expect(await settledBefore(store.client)).toBe(afterDay(8))
  await expectCopied(afterDay(8))
})

test('a process that froze in a range, or was stopped after any step, leaves the copies whole', async () => {
  await insertDays(0, 3)
  let steps = 0
  for (let isDone = false; !isDone; steps++) {
    const stopping = new AbortController()
    let left = steps
    const stopped = before(async () => {
      if (left-- === 0) stopping.abort()
      stopping.signal.throwIfAborted()
    })
    isDone = await settle(stopped, afterDay(2 + steps / 1_000), stopping.signal).then(
      () => !stopping.signal.aborted,
      () => false,
    )
  }
  expect(steps).toBeGreaterThan(SORTED_COPIES.length)

  // Wakes up in the middle of a range that another process has settled since, and goes on.
  await insertDays(3, 4)
  let isFirst = true
  const frozen = before(async (query) => {
    if (!isFirst || !query.startsWith('INSERT INTO attributions_by_energy_wh')) return
    isFirst = false
    await settle(store.client, afterDay(4), NEVER)
    await insertDays(4, 5)
    await settle(store.client, afterDay(5), NEVER)
  })
  await settle(frozen, afterDay(3.5), NEVER)

  expect(isFirst).toBe(false)
  await expectCopied(afterDay(5))
})

test('what a copy lacks, holds twice, or should not hold is repaired before it counts as settled', async () => {
  await insertDays(0, 3)
  const anyway = { deduplicate_insert_select: 'disable' } as const
  const copy = 'attributions_by_owner'
  await settle(store.client, afterDay(1), NEVER)
  const some = `INSERT INTO ${copy} SELECT * REPLACE (valid_from + INTERVAL 1 DAY AS valid_from, 'nobody' AS owner)
                FROM ${copy} LIMIT 100`
  await store.client.command({ query: some, clickhouse_settings: anyway })
  const doubled = `INSERT INTO ${copy} SELECT * FROM ${copy} LIMIT 100`
  await store.client.command({ query: doubled, clickhouse_settings: anyway })
  await store.client.command({ query: 'DELETE FROM attributions_by_labels WHERE cityHash64(id) % 3 = 0' })

  await settle(store.client, afterDay(3), NEVER)

  await expectCopied(afterDay(3))
})

test.each([
  ['attributions_by_materialized_at', true],
  ['attributions_by_owner', false],
  ['attributions_by_labels', true],
  ['settling', false],
])(
  'an erasure, and a deletion of old calls, before %s is written, are in the copies afterwards',
  async (table, isOver) => {
    await insertDays(0, 3)
    const result = await store.client.query({
      query: `SELECT owner FROM attributions WHERE startsWith(owner, 'person-') GROUP BY owner ORDER BY count() DESC
              LIMIT 1`,
      format: 'JSONEachRow',
    })
    const name = (await result.json<{ owner: string }>())[0]?.owner ?? ''
    const hash = Buffer.from(identityHash(ROW_DEPS.identityKeyOf(TENANT), name)).toString('hex')
    let forgetting: Promise<unknown> | undefined
    const during = before(async (query) => {
      if (forgetting !== undefined || !query.startsWith(`INSERT INTO ${table}`)) return
      forgetting = Promise.all([
        eraseIdentity(store.client, { tenantId: TENANT, hash, name }),
        deleteCallsBefore(store.client, TENANT, afterDay(0.7)),
      ])
      // Or it is still at work while the copy is made.
      if (isOver) await forgetting
    })
    await settle(during, afterDay(2), NEVER)
    await forgetting
    await settle(store.client, afterDay(3), NEVER)

    expect(forgetting).toBeDefined()
    await expectCopied(afterDay(3))
    const left = await store.client.query({
      query: `SELECT count() AS left FROM attributions_by_cost_usd WHERE owner = {name:String}`,
      query_params: { name },
      format: 'JSONEachRow',
    })
    expect(await left.json()).toEqual([{ left: '0' }])
  },
)
