import type { ClickHouseClient } from '@clickhouse/client'
import { FIELDS, type NamesWith, type RecordField, type WireGroup } from '../../../records/record-fields.js'
import { OF_ID, OF_ID_AS_OF_SNAPSHOT, snapshotParams } from '../../snapshot.js'
import { ATTRIBUTIONS } from '../../tables/attributions.js'
import { EXPLAINED_FIELDS, type PackedColumn, SHOWN_FIELDS, SHOWN_LABELS } from '../../tables/packed-fields.js'
import { byIndexesOf } from '../../tables/record-storage.js'
import { closedVersionsOf, type StoredClosed } from './closed.js'
import { type StoredFields, selected, unpacked } from './stored-fields.js'

/** The record's wire form, as stored. */
export type StoredAttribution = { readonly id: string } & StoredFields<NamesWith<{ readonly wire: WireGroup }>>

/** The record with the facts that its explanation recomputes from. */
export type StoredAttributionDetail = StoredAttribution & StoredFields<NamesWith<{ readonly isExplained: true }>>

/** How records are read from a table: columns that hold several fields, and each other field by its own column. */
export interface Reading<Row> {
  readonly select: string
  readonly packed: readonly PackedColumn[]
  /** @param row of `JSONEachRow` */
  readonly rowOf: (row: Readonly<Record<string, string>>) => Row
}

/** Within the query, the column `id` stays bytes, since it is compared and sorted. */
export function readingOf<Row>(fields: readonly RecordField[], packed: readonly PackedColumn[]): Reading<Row> {
  const isPacked = new Set(packed.flatMap((column) => column.fields))
  const single = fields.filter((field) => !isPacked.has(field)).map(selected)
  return {
    packed,
    select: ['lower(hex(id)) AS id_hex', ...packed.map(({ name }) => name), ...single].join(', '),
    rowOf({ id_hex, ...row }) {
      const found: Record<string, unknown> = { ...row, id: id_hex }
      for (const column of packed) {
        delete found[column.name]
        Object.assign(found, unpacked(column, row[column.name] ?? ''))
      }
      return found as Row
    },
  }
}

const SHOWN = FIELDS.filter(({ wire }) => wire)
const EXPLAINED = FIELDS.filter(({ isExplained }) => isExplained)

export const FROM_RECORDS = readingOf<StoredAttribution>(SHOWN, [SHOWN_LABELS, SHOWN_FIELDS])
export const FROM_COPIES = readingOf<StoredAttribution>(SHOWN, [SHOWN_LABELS])
export const DETAILS = readingOf<StoredAttributionDetail>(
  [...SHOWN, ...EXPLAINED],
  [SHOWN_LABELS, SHOWN_FIELDS, EXPLAINED_FIELDS],
)

/** An instant after every version. */
export const END_OF_TIME_MS = Date.UTC(2200, 0, 1)

const READ_LIMITS = {
  max_execution_time: 10,
  max_memory_usage: '1000000000',
  ...byIndexesOf('id'),
  // A lookup by an index that is evaluated while reading takes a third longer.
  use_skip_indexes_on_data_read: 0,
} as const

/** All versions of a record, as they are stored when it is read. */
export interface RecordVersions {
  /** The version that was valid at an instant. */
  readonly at: (atMs: number) => StoredAttributionDetail | undefined
  /** The versions that were closed by an instant, the oldest first. */
  readonly closedBy: (atMs: number) => readonly StoredClosed[]
}

/**
 * Reads all versions of a record of a tenant. The caller chooses among them. For a record that is not readable yet,
 * this costs half as much as a query that excludes closed versions: no second query is needed.
 */
export async function readVersions(
  store: ClickHouseClient,
  tenantId: string,
  idHex: string,
  signal: AbortSignal,
): Promise<RecordVersions> {
  const [result, closed] = await Promise.all([
    store.query({
      query: `SELECT ${DETAILS.select} FROM ${ATTRIBUTIONS.name} WHERE tenant_id = {tenant:String} AND ${OF_ID}
              ORDER BY valid_from DESC`,
      query_params: { tenant: tenantId, id: idHex },
      format: 'JSONEachRow',
      clickhouse_settings: READ_LIMITS,
      abort_signal: signal,
    }),
    closedVersionsOf(store, tenantId, idHex, END_OF_TIME_MS, signal),
  ])
  const versions = (await result.json<Record<string, string>>()).map(DETAILS.rowOf)
  const closedBy = (atMs: number) => closed.filter(({ closed_at_ms }) => Number(closed_at_ms) <= atMs)
  return {
    at(atMs) {
      const gone = new Set(closedBy(atMs).map(({ valid_from_ms }) => valid_from_ms))
      return versions.find(({ valid_from_ms }) => Number(valid_from_ms) <= atMs && !gone.has(valid_from_ms))
    },
    closedBy,
  }
}

/** Whether a tenant has a record as of a snapshot. */
export async function hasAttribution(
  store: ClickHouseClient,
  tenantId: string,
  idHex: string,
  snapshotMs: number,
  signal: AbortSignal,
): Promise<boolean> {
  const result = await store.query({
    query: `SELECT 1 FROM ${ATTRIBUTIONS.name} WHERE tenant_id = {tenant:String} AND ${OF_ID_AS_OF_SNAPSHOT} LIMIT 1`,
    query_params: { ...snapshotParams(tenantId, snapshotMs), id: idHex },
    format: 'JSONCompactEachRow',
    clickhouse_settings: READ_LIMITS,
    abort_signal: signal,
  })
  return (await result.json()).length > 0
}
