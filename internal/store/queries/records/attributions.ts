import type { ClickHouseClient } from '@clickhouse/client'
import { FIELDS, type NamesWith, type WireGroup } from '../../../records/record-fields.js'
import { OF_ID, OF_ID_AS_OF_SNAPSHOT, snapshotParams } from '../../snapshot.js'
import { ATTRIBUTIONS } from '../../tables/attributions.js'
import { closedVersionsOf, type StoredClosed } from './closed.js'
import { type StoredFields, selected } from './stored-fields.js'

/** The record's wire form, as stored. */
export type StoredAttribution = { readonly id: string } & StoredFields<NamesWith<{ readonly wire: WireGroup }>>

/** The record with the facts that its explanation recomputes from. */
export type StoredAttributionDetail = StoredAttribution & StoredFields<NamesWith<{ readonly isExplained: true }>>

/** The fields of `StoredAttribution` as a SELECT list; rows read by it go through `namedRecord`. */
export const RECORD = ['lower(hex(id)) AS id_hex', ...FIELDS.filter(({ wire }) => wire).map(selected)].join(', ')

const DETAIL = [RECORD, ...FIELDS.filter(({ isExplained }) => isExplained).map(selected)].join(', ')

/** An instant after every version. */
export const END_OF_TIME_MS = Date.UTC(2200, 0, 1)

/** Limits of a lookup. */
const READ_LIMITS = { max_execution_time: 10, max_memory_usage: '1000000000' } as const

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
      query: `SELECT ${DETAIL} FROM ${ATTRIBUTIONS.name} WHERE tenant_id = {tenant:String} AND ${OF_ID}
              ORDER BY valid_from DESC`,
      query_params: { tenant: tenantId, id: idHex },
      format: 'JSONEachRow',
      clickhouse_settings: READ_LIMITS,
      abort_signal: signal,
    }),
    closedVersionsOf(store, tenantId, idHex, END_OF_TIME_MS, signal),
  ])
  const versions = (await result.json<StoredAttributionDetail & { id_hex: string }>()).map(namedRecord)
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

/** Within the query, the column `id` stays bytes, since it is compared and sorted. */
export const namedRecord = <T extends { readonly id_hex: string }>({ id_hex, ...rest }: T) => ({ ...rest, id: id_hex })
