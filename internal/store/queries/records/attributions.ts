import type { ClickHouseClient } from '@clickhouse/client'
import { OF_ID_AS_OF_SNAPSHOT, snapshotParams } from '../../snapshot.js'
import { ATTRIBUTIONS } from '../../tables/attributions.js'
import { SHOWN_COLUMNS } from '../../tables/sorted-copies.js'

/** A record as the read model holds it: column names, decimals as text, times as epoch milliseconds in text. */
export interface StoredAttribution {
  /** Hex of the 16 bytes. */
  readonly id: string
  readonly event_time_ms: string
  readonly valid_from_ms: string
  readonly provider: string
  readonly requested_model: string
  readonly served_model: string
  readonly service: string
  readonly owner: string
  readonly cost_usd: string
  readonly energy_wh: string
  readonly carbon_gco2e: string
  readonly pathway_category: string
  readonly output_state: string
  readonly stage_origin: string
  readonly confidence: string
  readonly confidence_band: string
  readonly evidence_basis: string
  readonly model_version: string
  readonly degradation_state: string
  readonly freshness: string
  readonly export_eligibility: string
  readonly cost_basis: string
  readonly energy_basis: string
  readonly carbon_basis: string
  readonly trace_id: string
  readonly input_tokens: string | null
  readonly output_tokens: string | null
}

/** The record with the facts that its explanation recomputes from. */
export interface StoredAttributionDetail extends StoredAttribution {
  readonly evidence: string
  readonly cost_details: string
  readonly footprint_details: string
  readonly inference: string
  readonly ingestion_layer: string
  readonly cached_input_tokens: string | null
  readonly cache_write_tokens: string | null
  readonly cache_write_ttl_seconds: string | null
  readonly reasoning_tokens: string | null
  readonly audio_input_tokens: string | null
  readonly audio_output_tokens: string | null
  readonly latency_ms: string | null
  readonly estimated_cost_usd: string | null
  readonly service_tier: string
  readonly served_from_cache: boolean
  readonly region: string
  /** What the producer says of its own attribution; the cap where it says nothing. */
  readonly attribution_confidence: string
}

/** What a page shows, as a SELECT list; its rows go through `namedRecord`. */
export const RECORD = [
  'lower(hex(id)) AS id_hex',
  'toUnixTimestamp64Milli(event_time) AS event_time_ms',
  'toUnixTimestamp64Milli(valid_from) AS valid_from_ms',
  ...SHOWN_COLUMNS,
].join(', ')

const DETAIL = [
  RECORD,
  'evidence',
  'cost_details',
  'footprint_details',
  'inference',
  'ingestion_layer',
  'cached_input_tokens',
  'cache_write_tokens',
  'cache_write_ttl_seconds',
  'reasoning_tokens',
  'audio_input_tokens',
  'audio_output_tokens',
  'latency_ms',
  'estimated_cost_usd',
  'service_tier',
  'served_from_cache',
  'region',
  'attribution_confidence',
].join(', ')

/** Work that a look-up may cost at most. */
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
