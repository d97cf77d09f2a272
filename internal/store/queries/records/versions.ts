import type { ClickHouseClient } from '@clickhouse/client'
import { idPortions } from '../../id-portions.js'
import { RowBinaryReader } from '../../row-binary-reader.js'
import { ATTRIBUTION_COLUMNS, ATTRIBUTIONS, type AttributionRow } from '../../tables/attributions.js'
import type { Change } from '../../tables/closed.js'

/** A version of a record as it lies in the read model, and what has closed it. */
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

/** How a value of a type is read; the other way round it is written in `attributions.ts`. */
const READ: Readonly<Record<string, (from: RowBinaryReader) => unknown>> = {
  String: (from) => from.string(),
  'LowCardinality(String)': (from) => from.string(),
  'FixedString(16)': (from) => from.fixed(16),
  UUID: (from) => from.uuid(),
  "DateTime64(3, 'UTC')": (from) => from.uint64(),
  'Decimal(38, 18)': (from) => from.decimal128(),
  'Nullable(Decimal(38, 18))': (from) => from.nullable(() => from.decimal128()),
  'Decimal(5, 4)': (from) => from.int32(),
  'Nullable(UInt64)': (from) => from.nullable(() => from.uint64()),
  'Nullable(UInt16)': (from) => from.nullable(() => from.uint16()),
  Bool: (from) => from.uint8() === 1,
  UInt16: (from) => from.uint16(),
  UInt32: (from) => from.uint32(),
  UInt64: (from) => from.uint64(),
  'Map(LowCardinality(String), String)': (from) => {
    const map = from.stringMap()
    return Object.keys(map).length === 0 ? undefined : map
  },
}

/** Members whose name does not follow from the column's. */
const MEMBER: Readonly<Record<string, string>> = {
  event_time: 'eventTimeMs',
  valid_from: 'validFromMs',
  received_at: 'receivedAtMs',
}

const MEMBERS = ATTRIBUTION_COLUMNS.map(([column, type]) => {
  const read = READ[type]
  if (read === undefined) throw new Error(`${column}: rows of the type ${type} cannot be read`)
  return { member: MEMBER[column] ?? column.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase()), read }
})

/** The columns of a row, in the order in which they are read. */
const ROW_COLUMNS = ATTRIBUTIONS.columns.join(', ')

function readRow(from: RowBinaryReader): AttributionRow {
  const row: Record<string, unknown> = {}
  for (const { member, read } of MEMBERS) row[member] = read(from)
  return row as unknown as AttributionRow // each column's type is read as its member's
}

/**
 * Whole rows, as many as fit in memory together.
 *
 * @param rest of the query: what follows `FROM attributions`
 * @throws when the store is away or fails
 */
export async function readRows(
  store: ClickHouseClient,
  rest: string,
  params: Readonly<Record<string, unknown>>,
): Promise<AttributionRow[]> {
  const { stream } = await store.exec({
    query: `SELECT ${ROW_COLUMNS} FROM ${ATTRIBUTIONS.name} ${rest} FORMAT RowBinary`,
    query_params: { ...params },
    // An error in the middle of an answer would look like rows: the answer begins when all of it is there.
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

/** What is known of records before an instant: all of their versions, the oldest first. @param ids hex */
export async function versionsBefore(
  store: ClickHouseClient,
  tenantId: string,
  ids: readonly string[],
  beforeMs: number,
): Promise<Version[]> {
  const versions: Version[] = []
  for (const portion of idPortions(ids)) {
    const params = { tenant: tenantId, ids: portion, before: beforeMs }
    const before = 'fromUnixTimestamp64Milli({before:Int64})'
    const rows = await readRows(
      store,
      `WHERE tenant_id = {tenant:String} AND ${IDS} AND valid_from < ${before} ORDER BY id, valid_from`,
      params,
    )
    const result = await store.query({
      query: `SELECT lower(hex(id)) AS of, toString(toUnixTimestamp64Milli(valid_from)) AS valid_from_ms,
                toUnixTimestamp64Milli(closed_at) AS at_ms, change, change_id, actor
              FROM closed WHERE tenant_id = {tenant:String} AND ${IDS} AND closed_at < ${before}`,
      query_params: params,
      format: 'JSONEachRow',
    })
    const closings = new Map<string, Closing>()
    for (const { of, valid_from_ms, at_ms, change, change_id, actor } of await result.json<StoredClosing>()) {
      closings.set(`${of} ${valid_from_ms}`, { atMs: Number(at_ms), change, changeId: change_id, actor })
    }
    for (const row of rows) versions.push({ row, closed: closings.get(`${hexOf(row.id)} ${row.validFromMs}`) })
  }
  return versions
}

interface StoredClosing {
  readonly of: string
  readonly valid_from_ms: string
  readonly at_ms: string
  readonly change: Change
  readonly change_id: string
  readonly actor: string
}

/** Of these versions, those that are in the read model: all of an insert, or none. */
export async function landedRows(
  store: ClickHouseClient,
  rows: readonly Pick<AttributionRow, 'id' | 'validFromMs'>[],
): Promise<AttributionRow[]> {
  const landed: AttributionRow[] = []
  for (const portion of idPortions(rows)) {
    landed.push(
      ...(await readRows(
        store,
        `WHERE ${IDS} AND (id, valid_from) IN (SELECT CAST(unhex(of.1) AS FixedString(16)), fromUnixTimestamp64Milli(of.2)
           FROM (SELECT arrayJoin(arrayZip({ids:Array(String)}, {instants:Array(Int64)})) AS of))`,
        { ids: portion.map(({ id }) => hexOf(id)), instants: portion.map(({ validFromMs }) => validFromMs) },
      )),
    )
  }
  return landed
}

const hexOf = (id: Uint8Array): string => Buffer.from(id.buffer, id.byteOffset, id.length).toString('hex')
