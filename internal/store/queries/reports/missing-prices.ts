import type { ClickHouseClient } from '@clickhouse/client'
import { MISSING_PRICE_REASONS, type MissingPriceReason } from '../../../records/bases.js'
import { IN_PERIOD } from '../../snapshot.js'

/** A model with unpriced calls, as the records spell it, and a period of these calls, milliseconds since the epoch. */
export interface UnpricedModel {
  readonly provider: string
  readonly servedModel: string
  readonly fromMs: number
  /** Exclusive. */
  readonly toMs: number
}

const READ_LIMITS = { max_execution_time: 30, max_memory_usage: '1000000000' } as const

/** The models with unpriced calls since an instant, from the rollups, in the order of their names. */
export async function unpricedModels(
  store: ClickHouseClient,
  tenantId: string,
  sinceMs: number,
): Promise<UnpricedModel[]> {
  const result = await store.query({
    query: `SELECT provider, served_model AS servedModel, toUnixTimestamp(min(bucket)) * 1000 AS fromMs,
              (toUnixTimestamp(max(bucket)) + {bucket:UInt32}) * 1000 AS toMs
            FROM usage_15m
            WHERE tenant_id = {tenant:String} AND bucket >= toDateTime({since:UInt32}) AND unpriced_calls != 0
            GROUP BY provider, served_model HAVING sum(unpriced_calls) > 0 ORDER BY provider, served_model`,
    query_params: { tenant: tenantId, since: Math.floor(sinceMs / 1000), bucket: BUCKET_S },
    format: 'JSONEachRow',
    clickhouse_settings: { ...READ_LIMITS, output_format_json_quote_64bit_integers: 0 },
  })
  return result.json<UnpricedModel>()
}

const BUCKET_S = 15 * 60

/** Why most of a model's unpriced calls have no price; undefined if no price could help any of them. */
export async function missingPriceOf(
  store: ClickHouseClient,
  tenantId: string,
  { provider, servedModel, fromMs, toMs }: UnpricedModel,
): Promise<{ readonly reason: MissingPriceReason; readonly firstMs: number } | undefined> {
  const result = await store.query({
    query: `SELECT JSONExtractString(cost_details, 'reason') AS reason,
            toUnixTimestamp64Milli(min(event_time)) AS firstMs
            FROM attributions
            WHERE tenant_id = {tenant:String} AND ${IN_PERIOD}
              AND provider = {provider:String} AND served_model = {model:String} AND cost_basis = 'unpriced'
            GROUP BY reason HAVING has({reasons:Array(String)}, reason) ORDER BY count() DESC, reason LIMIT 1`,
    query_params: {
      tenant: tenantId,
      from: fromMs,
      to: toMs,
      provider,
      model: servedModel,
      reasons: MISSING_PRICE_REASONS,
    },
    format: 'JSONEachRow',
    clickhouse_settings: { ...READ_LIMITS, output_format_json_quote_64bit_integers: 0 },
  })
  const [found] = await result.json<{ reason: MissingPriceReason; firstMs: number }>()
  return found
}
