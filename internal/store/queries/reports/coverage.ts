import type { ClickHouseClient } from '@clickhouse/client'

/** Records seen from one capture layer on one pathway. */
export interface SeenLayer {
  readonly pathway: string
  readonly layer: string
  /** Time of the latest call, to the quarter hour; milliseconds since the epoch. */
  readonly lastEventAtMs: number
  /** Calls in the last 24 hours. */
  readonly calls: number
  /** Of these, calls attributed to nobody. */
  readonly unattributedCalls: number
  /** Days with calls among the seven days before the last 24 hours. */
  readonly days: number
}

/** A source of observations, and the time of its latest one; milliseconds since the epoch. */
export interface ObservedSource {
  readonly source: string
  readonly lastAtMs: number
}

const READ_LIMITS = { max_execution_time: 10, max_memory_usage: '500000000' } as const

/** Capture layers of a tenant's calls in the last thirty days. */
export async function seenLayers(
  store: ClickHouseClient,
  tenantId: string,
  nowMs: number,
  signal: AbortSignal,
): Promise<SeenLayer[]> {
  const result = await store.query({
    query: `SELECT pathway_category, ingestion_layer, toUnixTimestamp(maxIf(bucket, calls > 0)),
              toInt64(sumIf(calls, bucket >= recent)), toInt64(sumIf(calls, bucket >= recent AND evidence_basis = 'default_pool')),
              uniqExactIf(toDate(bucket), bucket < recent AND bucket >= recent - INTERVAL 7 DAY AND calls > 0)
            FROM usage_15m
            WHERE tenant_id = {tenant:String} AND bucket >= toDateTime({now:UInt32}) - INTERVAL 30 DAY
            GROUP BY pathway_category, ingestion_layer HAVING sum(calls) > 0`.replaceAll(
      'recent',
      '(toDateTime({now:UInt32}) - INTERVAL 1 DAY)',
    ),
    query_params: { tenant: tenantId, now: Math.floor(nowMs / 1000) },
    format: 'JSONCompactEachRow',
    clickhouse_settings: READ_LIMITS,
    abort_signal: signal,
  })
  type Row = readonly [string, string, number, string, string, string]
  return (await result.json<Row>()).map(([pathway, layer, lastS, calls, unattributed, days]) => ({
    pathway,
    layer,
    lastEventAtMs: lastS * 1000,
    calls: Number(calls),
    unattributedCalls: Number(unattributed),
    days: Number(days),
  }))
}

/** Sources of a tenant's observations in the last thirty days. */
export async function observedSources(
  store: ClickHouseClient,
  tenantId: string,
  signal: AbortSignal,
): Promise<ObservedSource[]> {
  const result = await store.query({
    query: `SELECT source, toUnixTimestamp64Milli(max(received_at)) FROM observations
            WHERE tenant_id = {tenant:String} GROUP BY source LIMIT 1000`,
    query_params: { tenant: tenantId },
    format: 'JSONCompactEachRow',
    clickhouse_settings: READ_LIMITS,
    abort_signal: signal,
  })
  return (await result.json<readonly [string, string]>()).map(([source, lastMs]) => ({
    source,
    lastAtMs: Number(lastMs),
  }))
}
