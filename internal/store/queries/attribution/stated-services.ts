import type { ClickHouseClient } from '@clickhouse/client'

/** A service that events state, with what its calls cost. */
export interface StatedService {
  readonly service: string
  readonly calls: string
  /** Decimal text. */
  readonly cost_usd: string
}

export interface StatedServicesQuestion {
  readonly tenantId: string
  /** By the calls' own time in quarters of an hour, milliseconds since the epoch; the end is exclusive. */
  readonly fromMs: number
  readonly toMs: number
}

/** Services returned at most, the most costly ones. */
export const STATED_SERVICES_MAX = 20_000

/** The services that a tenant's events state themselves, or take from another event of their trace. */
export async function findStatedServices(
  store: ClickHouseClient,
  { tenantId, fromMs, toMs }: StatedServicesQuestion,
  signal: AbortSignal,
): Promise<readonly StatedService[]> {
  const result = await store.query({
    query: `SELECT service, sum(rolled.calls) AS calls, sum(rolled.cost_usd) AS cost_usd
            FROM usage_15m AS rolled
            WHERE tenant_id = {tenant:String}
              AND bucket >= toDateTime({from:UInt32}) AND bucket < toDateTime({to:UInt32})
              AND evidence_basis IN (
                'identity_and_service_resolved', 'service_resolved', 'service_declared', 'trace_correlated')
            GROUP BY service HAVING calls > 0
            ORDER BY cost_usd DESC, service LIMIT ${STATED_SERVICES_MAX}`,
    query_params: { tenant: tenantId, from: Math.floor(fromMs / 1_000), to: Math.floor(toMs / 1_000) },
    format: 'JSONEachRow',
    clickhouse_settings: { max_execution_time: 30, max_memory_usage: '1000000000' },
    abort_signal: signal,
  })
  return result.json<StatedService>()
}
