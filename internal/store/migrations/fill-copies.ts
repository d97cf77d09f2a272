import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { ClickHouseClient } from '@clickhouse/client'
import { COPIED_COLUMNS, SORTED_COPIES, type SortedCopy } from '../tables/sorted-copies.js'

/**
 * Fills the sorted copies with the rows that were there before their views, each exactly once, while writers go on.
 *
 * A view sees the inserts that begin after it was made. So: the inserts under way are waited for, after which every row
 * without a place in the copy is in the base; the base's parts of that moment are kept aside (hard links); the inserts
 * under way then are waited for too, after which every row of those parts that has come through the view is in the copy.
 * What the parts hold and the copy does not, is what it lacks. It is worked out anew for each portion, so that a crash,
 * a repeat and a second process that does the same do no harm.
 *
 * @param signal ends it between two portions; the next call goes on
 * @param portions the same for all who fill the same store
 */
export async function fillCopies(store: ClickHouseClient, signal: AbortSignal, portions = PORTIONS): Promise<void> {
  const missing = await unfilledCopies(store)
  if (missing.length === 0) return
  await refuseWhatHasNoParts(store)
  await insertsUnderWayAreOver(store, signal)
  const aside = `${ASIDE}${Math.floor(Date.now() / 1000)}_${randomBytes(6).toString('hex')}`
  await dropLeftovers(store)
  try {
    await store.command({ query: `CREATE TABLE ${aside} AS attributions` })
    const partitions = await rows<{ id: string }>(
      store,
      `SELECT DISTINCT partition_id AS id FROM system.parts
       WHERE database = currentDatabase() AND table = 'attributions' AND active`,
    )
    for (const { id } of partitions) {
      await store.command({
        query: `ALTER TABLE ${aside} ATTACH PARTITION ID {id:String} FROM attributions`,
        query_params: { id },
      })
    }
    await insertsUnderWayAreOver(store, signal)
    for (const copy of missing) {
      for (const { id } of partitions) {
        for (let portion = 0; portion < portions; portion++) {
          if (signal.aborted) return
          // Of one partition, so that the insert is one part: what another process sees of it is all or nothing.
          const where = `_partition_id = '${id}' AND cityHash64(id) % ${portions} = ${portion}`
          await fillPortion(store, copy, aside, where, `${id}.${portion}/${portions}`, signal)
          await removeDoubles(store, copy, id, where, signal)
        }
      }
      await store.insert({ table: 'filled_copies', values: [{ table: copy.table }], format: 'JSONEachRow' })
    }
  } finally {
    await store.command({ query: `DROP TABLE IF EXISTS ${aside}` })
  }
}

/** Begins the name of a table of parts that are kept aside; when it was made follows, in seconds since the epoch. */
const ASIDE = 'attributions_before_'
const FILLING_S_MAX = 6 * 60 * 60

/** The table in front of a cluster's: it has no parts, and what its shards hold is filled on each of them. */
async function refuseWhatHasNoParts(store: ClickHouseClient): Promise<void> {
  const found = await rows<{ engine: string }>(
    store,
    "SELECT engine FROM system.tables WHERE database = currentDatabase() AND name = 'attributions'",
  )
  if (found[0]?.engine === 'Distributed') throw new Error('sorted copies of a cluster are filled shard by shard')
}

/** The copies that hold all rows. */
export async function filledCopies(store: ClickHouseClient): Promise<ReadonlySet<string>> {
  const filled = await rows<{ table: string }>(store, 'SELECT DISTINCT table FROM filled_copies')
  return new Set(filled.map(({ table }) => table))
}

async function unfilledCopies(store: ClickHouseClient): Promise<readonly SortedCopy[]> {
  const filled = await filledCopies(store)
  return SORTED_COPIES.filter(({ table }) => !filled.has(table))
}

/** Of a hundred million rows over some months, the portion of a month is what an insert can hold in memory. */
const PORTIONS = 32
/** One block, hence one part: what is missing is inserted whole or not at all. */
const BLOCK_ROWS_MAX = String(4 * 1024 ** 2)

async function fillPortion(
  store: ClickHouseClient,
  { table }: SortedCopy,
  aside: string,
  inPortion: string,
  name: string,
  signal: AbortSignal,
): Promise<void> {
  const lacking = `FROM ${aside} WHERE ${inPortion}
    AND (id, valid_from) NOT IN (SELECT id, valid_from FROM ${table} WHERE ${inPortion})`
  for (let attempt = 0; !signal.aborted; attempt++) {
    const [{ count = '0' } = {}] = await rows<{ count: string }>(store, `SELECT count() AS count ${lacking}`)
    if (count === '0') return
    // Whoever fills begins with the same token, so that of two who find rows lacking at once, one inserts them. What is still
    // lacking then was left by a crash between the token and its rows.
    const token = attempt === 0 ? `${table}.${name}` : `${table}.${name}.${attempt}.${count}`
    await store.command({
      query: `INSERT INTO ${table} (${COPIED_COLUMNS}) SELECT ${COPIED_COLUMNS} ${lacking}`,
      clickhouse_settings: {
        insert_deduplicate: 1,
        deduplicate_insert_select: 'force_enable',
        insert_deduplication_token: token,
        max_insert_threads: '1',
        max_threads: 1,
        min_insert_block_size_rows: BLOCK_ROWS_MAX,
        min_insert_block_size_bytes: '0',
        max_insert_block_size: BLOCK_ROWS_MAX,
        wait_end_of_query: 1,
      },
    })
  }
}

/**
 * Two inserts of the same token at the same moment have been seen to both get through (ClickHouse 26.7), once in some
 * hundred times; whichever process ends last finds it.
 */
async function removeDoubles(
  store: ClickHouseClient,
  { table, key }: SortedCopy,
  partition: string,
  inPortion: string,
  signal: AbortSignal,
): Promise<void> {
  const columns = [...new Set(['tenant_id', ...key, 'id', 'valid_from'])].join(', ')
  for (;;) {
    const [{ doubles = '0' } = {}] = await rows<{ doubles: string }>(
      store,
      `SELECT count() - uniqExact(id, valid_from) AS doubles FROM ${table} WHERE ${inPortion}`,
    )
    if (doubles === '0' || signal.aborted) return
    // Does nothing while parts of the partition are being merged.
    await store.command({
      query: `OPTIMIZE TABLE ${table} PARTITION ID '${partition}' FINAL DEDUPLICATE BY ${columns}`,
    })
    await sleep(POLL_MS)
  }
}

const POLL_MS = 50

async function insertsUnderWayAreOver(store: ClickHouseClient, signal: AbortSignal): Promise<void> {
  const underWay = async (): Promise<string[]> => {
    const found = await rows<{ id: string }>(
      store,
      "SELECT query_id AS id FROM system.processes WHERE query_kind = 'Insert'",
    )
    return found.map(({ id }) => id)
  }
  const before = new Set(await underWay())
  while (before.size > 0 && (await underWay()).some((id) => before.has(id))) {
    await sleep(POLL_MS, undefined, { signal })
  }
}

/** Of processes that were killed. One that still fills by such a table begins anew. */
async function dropLeftovers(store: ClickHouseClient): Promise<void> {
  const leftovers = await rows<{ name: string }>(
    store,
    `SELECT name FROM system.tables WHERE database = currentDatabase() AND startsWith(name, '${ASIDE}')`,
  )
  for (const { name } of leftovers) {
    const madeAtS = Number(name.slice(ASIDE.length).split('_')[0])
    if (Date.now() / 1000 - madeAtS < FILLING_S_MAX) continue
    await store.command({ query: 'DROP TABLE IF EXISTS {name:Identifier}', query_params: { name } })
  }
}

async function rows<T>(store: ClickHouseClient, query: string): Promise<T[]> {
  return (await store.query({ query, format: 'JSONEachRow' })).json<T>()
}
