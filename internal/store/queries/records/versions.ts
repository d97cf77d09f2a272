import type { ClickHouseClient } from '@clickhouse/client'
import { idHex } from '../../../ids/ids.js'
import { type AttributionRow, FIELDS } from '../../../records/record-fields.js'
import { idPortions } from '../../id-portions.js'
import { RowBinaryReader } from '../../row-binary-reader.js'
import { insertRows } from '../../sink.js'
import { storedRows } from '../../stored-rows.js'
import { ATTRIBUTIONS } from '../../tables/attributions.js'
import type { Change } from '../../tables/closed.js'
import { readerOf } from '../../tables/field-codec.js'

/** A stored version of a record, and the change that closed it. */
export interface Version {
  readonly row: AttributionRow
  /** Undefined while it is valid. */
  readonly closed: Closing | undefined
}

export interface Closing {
  readonly atMs: number
  readonly change: Change
  readonly changeId: string
  readonly actor: string
}

const readRow = readerOf(FIELDS)

/** The columns of a row, in reading order. */
const ROW_COLUMNS = ATTRIBUTIONS.columns.join(', ')

/**
 * Reads whole rows into memory.
 *
 * @param rest the query after `FROM attributions`
 * @throws when the store is unavailable or fails
 */
export async function readRows(
  store: ClickHouseClient,
  rest: string,
  params: Readonly<Record<string, unknown>>,
): Promise<AttributionRow[]> {
  const { stream } = await store.exec({
    query: `SELECT ${ROW_COLUMNS} FROM ${ATTRIBUTIONS.name} ${rest} FORMAT RowBinary`,
    query_params: { ...params },
    // An error in the middle of an answer would look like rows: wait until the whole answer is ready.
    clickhouse_settings: { readonly: '2', wait_end_of_query: 1 },
  })
  const chunks: Buffer[] = []
  for await (const chunk of stream as AsyncIterable<Buffer>) chunks.push(chunk)
  const from = new RowBinaryReader(Buffer.concat(chunks))
  const rows: AttributionRow[] = []
  while (!from.isAtEnd) rows.push(readRow(from))
  return rows
}

const IDS = 'id IN (SELECT CAST(unhex(arrayJoin({ids:Array(String)})) AS FixedString(16)))'

/** Times of events, inclusive; limits a search for records by id. */
export interface EventWindow {
  readonly fromMs: number
  readonly toMs: number
}

/** All versions of records that became valid before an instant, oldest first. @param ids hex */
export async function versionsBefore(
  store: ClickHouseClient,
  tenantId: string,
  ids: readonly string[],
  beforeMs: number,
  within?: EventWindow,
): Promise<Version[]> {
  const versions: Version[] = []
  for (const portion of idPortions(ids)) {
    const params = { tenant: tenantId, ids: portion, before: beforeMs, ...within }
    const inWindow = within === undefined ? '' : IN_EVENT_WINDOW
    const before = 'fromUnixTimestamp64Milli({before:Int64})'
    const rows = await readRows(
      store,
      `WHERE tenant_id = {tenant:String} ${inWindow} AND ${IDS} AND valid_from < ${before} ORDER BY id, valid_from`,
      params,
    )
    const closed = await storedRows<StoredClosing>(
      store,
      `SELECT lower(hex(id)) AS of, toString(toUnixTimestamp64Milli(valid_from)) AS valid_from_ms,
         toUnixTimestamp64Milli(closed_at) AS at_ms, change, change_id, actor
       FROM closed WHERE tenant_id = {tenant:String} AND ${IDS} AND closed_at < ${before}`,
      params,
    )
    const closings = new Map<string, Closing>()
    for (const { of, valid_from_ms, at_ms, change, change_id, actor } of closed) {
      closings.set(`${of} ${valid_from_ms}`, { atMs: Number(at_ms), change, changeId: change_id, actor })
    }
    for (const row of rows) versions.push({ row, closed: closings.get(`${idHex(row.id)} ${row.validFromMs}`) })
  }
  return versions
}

const IN_EVENT_WINDOW = `AND event_time >= fromUnixTimestamp64Milli({fromMs:Int64})
  AND event_time <= fromUnixTimestamp64Milli({toMs:Int64})`

interface StoredClosing {
  readonly of: string
  readonly valid_from_ms: string
  readonly at_ms: string
  readonly change: Change
  readonly change_id: string
  readonly actor: string
}

/** Those of the versions that are stored: all of an insert, or none. */
export async function landedRows(
  store: ClickHouseClient,
  rows: readonly Pick<AttributionRow, 'id' | 'validFromMs'>[],
): Promise<AttributionRow[]> {
  const landed: AttributionRow[] = []
  for (const portion of idPortions(rows)) {
    landed.push(
      ...(await readRows(
        store,
        `WHERE ${IDS} AND (id, valid_from) IN (
           SELECT CAST(unhex(of.1) AS FixedString(16)), fromUnixTimestamp64Milli(of.2)
           FROM (SELECT arrayJoin(arrayZip({ids:Array(String)}, {instants:Array(Int64)})) AS of))`,
        { ids: portion.map(({ id }) => idHex(id)), instants: portion.map(({ validFromMs }) => validFromMs) },
      )),
    )
  }
  return landed
}

/**
 * Inserts versions of records exactly once, as `insertRows` does, and keeps the derived tables (rollups, lists of
 * values) equal to them. A repeated batch may compute other rows, because the directory or model changed. If the first
 * insert reached the table but not all derived tables, other rows would make them differ: so a repeat inserts the
 * stored rows again.
 *
 * @param isRepeat whether an earlier attempt may have inserted rows under the token
 * @returns the stored rows
 */
export async function insertVersions(
  store: ClickHouseClient,
  rows: readonly AttributionRow[],
  token: string,
  isRepeat: boolean,
): Promise<readonly AttributionRow[]> {
  // All rows of a batch share `valid_from`, so they are in one partition per shard: all of them are stored, or none.
  const landed = isRepeat ? await landedRows(store, rows) : []
  const landedById = new Map(landed.map((row) => [idHex(row.id), row]))
  const inserted = landed.length === 0 ? rows : rows.map((row) => landedById.get(idHex(row.id)) ?? row)
  await insertRows(store, ATTRIBUTIONS, inserted, token)
  return inserted
}
