import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { ClickHouseClient } from '@clickhouse/client'
import { COPIED_COLUMNS, SORTED_COPIES, type SortedCopy } from '../tables/sorted-copies.js'

/**
 * Fills the sorted copies with the rows older than their views, each row exactly once, while writers continue.
 *
 * A view sees only inserts that begin after its creation. So this waits for the inserts in flight: afterwards every row
 * missing in the copy is in the base. It keeps a snapshot of the base's parts (hard links) and waits for the inserts in
 * flight again: afterwards every row of those parts that went through the view is in the copy. The rows that the parts
 * hold and the copy does not are missing. They are computed for each portion, so that a crash, a repeat and a second
 * process filling at the same time do no harm.
 *
 * @param signal stops between two portions; the next call continues
 * @param portions must be the same for all processes that fill the same store
 */
export async function fillCopies(store: ClickHouseClient, signal: AbortSignal, portions = PORTIONS): Promise<void> {
  const missing = await unfilledCopies(store)
  if (missing.length === 0) return
  await refuseWhatHasNoParts(store)
  await insertsInFlightHaveEnded(store, signal)
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
    await insertsInFlightHaveEnded(store, signal)
    for (const copy of missing) {
      for (const { id } of partitions) {
        for (let portion = 0; portion < portions; portion++) {
          if (signal.aborted) return
          // One partition at a time, so that the insert is one part and other processes see all of it or nothing.
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

/** Prefix of the snapshot table's name; its creation time follows, in seconds since the epoch. */
const ASIDE = 'attributions_before_'
const FILLING_S_MAX = 6 * 60 * 60

/** A Distributed table has no parts: copies must be filled on each shard. */
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

/** With a hundred million rows over some months, one portion of a month fits into memory. */
const PORTIONS = 32
/** One block, hence one atomic part. */
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
    // Every process begins with the same token, so that only one of two that find rows missing at once inserts them. Rows
    // still missing after that were left by a crash between the token and its rows.
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
 * Removes duplicates: of two simultaneous inserts with the same token both have been stored about once in a hundred times
 * (ClickHouse 26.7). The process that ends last finds them.
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

async function insertsInFlightHaveEnded(store: ClickHouseClient, signal: AbortSignal): Promise<void> {
  const inFlight = async (): Promise<string[]> => {
    const found = await rows<{ id: string }>(
      store,
      "SELECT query_id AS id FROM system.processes WHERE query_kind = 'Insert'",
    )
    return found.map(({ id }) => id)
  }
  const before = new Set(await inFlight())
  while (before.size > 0 && (await inFlight()).some((id) => before.has(id))) {
    await sleep(POLL_MS, undefined, { signal })
  }
}

/** Drops snapshot tables of killed processes. A process that still uses one starts over. */
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
