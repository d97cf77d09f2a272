import type { ClickHouseClient } from '@clickhouse/client'
import { FIELDS, type NamesWith, type WireGroup } from '../../../records/fields.js'
import { OF_ID_AS_OF_SNAPSHOT, snapshotParams } from '../../snapshot.js'
import { ATTRIBUTIONS } from '../../tables/attributions.js'
import { type StoredFields, selected } from './stored-fields.js'

/** The record's wire form, as stored. */
export type StoredAttribution = { readonly id: string } & StoredFields<NamesWith<{ readonly wire: WireGroup }>>

/** The record with the facts that its explanation recomputes from. */
export type StoredAttributionDetail = StoredAttribution & StoredFields<NamesWith<{ readonly isExplained: true }>>

/** The fields of `StoredAttribution` as a SELECT list; rows read by it go through `namedRecord`. */
export const RECORD = ['lower(hex(id)) AS id_hex', ...FIELDS.filter(({ wire }) => wire).map(selected)].join(', ')

const DETAIL = [RECORD, ...FIELDS.filter(({ isExplained }) => isExplained).map(selected)].join(', ')

/** Limits of a lookup. */
const READ_LIMITS = { max_execution_time: 10, max_memory_usage: '1000000000' } as const

/** One record of a tenant as of a snapshot; undefined when there is none. */
export async function findAttribution(
  store: ClickHouseClient,
  tenantId: string,
  idHex: string,
  snapshotMs: number,
  signal: AbortSignal,
): Promise<StoredAttributionDetail | undefined> {
  const result = await store.query({
    query: `SELECT ${DETAIL} FROM ${ATTRIBUTIONS.name}
            WHERE tenant_id = {tenant:String} AND ${OF_ID_AS_OF_SNAPSHOT} LIMIT 1`,
    query_params: { ...snapshotParams(tenantId, snapshotMs), id: idHex },
    format: 'JSONEachRow',
    clickhouse_settings: READ_LIMITS,
    abort_signal: signal,
  })
  return (await result.json<StoredAttributionDetail & { id_hex: string }>()).map(namedRecord)[0]
}

/** The column `id` stays bytes within the query, since it is compared and sorted by. */
export const namedRecord = <T extends { readonly id_hex: string }>({ id_hex, ...rest }: T) => ({ ...rest, id: id_hex })
