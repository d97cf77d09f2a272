import type { ClickHouseClient } from '@clickhouse/client'
import type { EvidenceBasis } from '../../../records/interpretation.js'
import { ATTRIBUTIONS } from '../../tables/attributions.js'

/** What a record says about its trace. Column names; times as epoch milliseconds in text. */
export interface TracedRecord {
  readonly tenant_id: string
  /** Hex of the 16 bytes. */
  readonly id_hex: string
  readonly trace_id: string
  readonly service: string
  readonly owner: string
  /** Where the owner comes from, as the evidence says; empty where it says nothing. */
  readonly owner_from: string
  readonly confidence: string
  readonly stage_origin: string
  readonly evidence_basis: EvidenceBasis
  /** Empty when nothing contradicts it. */
  readonly contested: string
  readonly provider: string
  readonly ingestion_layer: string
  readonly principal: string
  readonly valid_from_ms: string
  readonly event_time_ms: string
}

/**
 * A partition's records with a trace that became valid since an instant and are valid now, the youngest first.
 *
 * @param limit records at most
 */
export async function tracedRecordsSince(
  store: ClickHouseClient,
  partition: number,
  sinceMs: number,
  limit: number,
): Promise<readonly TracedRecord[]> {
  const result = await store.query({
    query: `SELECT tenant_id, lower(hex(id)) AS id_hex, trace_id, service, owner,
              JSONExtractString(evidence, 'owner_from') AS owner_from, confidence, stage_origin, evidence_basis,
              contested, provider, ingestion_layer, principal, toUnixTimestamp64Milli(valid_from) AS valid_from_ms,
              toUnixTimestamp64Milli(event_time) AS event_time_ms
            FROM ${ATTRIBUTIONS.name}
            WHERE source_partition = {partition:UInt16} AND trace_id != ''
              AND valid_from >= fromUnixTimestamp64Milli({since:Int64})
              AND (id, valid_from) NOT IN (
                SELECT id, valid_from FROM closed WHERE valid_from >= fromUnixTimestamp64Milli({since:Int64}))
            ORDER BY valid_from DESC LIMIT {limit:UInt32}`,
    query_params: { partition, since: sinceMs, limit },
    format: 'JSONEachRow',
  })
  return result.json<TracedRecord>()
}
