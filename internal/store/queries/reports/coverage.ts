import { type ClickHouseClient, TupleParam } from '@clickhouse/client'
import { ATTRIBUTIONS } from '../../tables/attributions.js'

/** Records seen from one capture layer on one pathway. */
export interface SeenLayer {
  readonly pathway: string
  readonly layer: string
  /**
   * Event time of the newest call: its quarter of an hour, or exact after `withNewestCalls`; milliseconds since the
   * epoch.
   */
  readonly lastEventAtMs: number
  /** Calls in the last 24 hours. */
  readonly calls: number
  /** Of these, calls attributed to nobody. */
  readonly unattributedCalls: number
  /** Days with calls among the seven days before the last 24 hours. */
  readonly days: number
}

/** A source of observations, and when its newest one occurred; milliseconds since the epoch. */
export interface ObservedSource {
  readonly source: string
  readonly lastEventAtMs: number
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
              toInt64(sumIf(calls, bucket >= recent)),
                toInt64(sumIf(calls, bucket >= recent AND evidence_basis = 'default_pool')),
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

/** Layers whose newest call is looked up; of a tenant with more, the others keep the quarter of an hour. */
const LOOKED_UP_MAX = 100

/**
 * The same layers with the exact event time of their newest calls, from the records of the quarters of an hour that
 * hold them.
 */
export async function withNewestCalls(
  store: ClickHouseClient,
  tenantId: string,
  seen: readonly SeenLayer[],
  signal: AbortSignal,
): Promise<SeenLayer[]> {
  if (seen.length === 0) return []
  const places = seen
    .slice(0, LOOKED_UP_MAX)
    .map(({ pathway, layer, lastEventAtMs }) => [pathway, layer, lastEventAtMs / 1000])
  const quarters = [...new Set(places.map(([, , startS]) => Number(startS)))]
  // Plain bounds beside the set: by them the primary key finds the rows.
  const within = quarters.map(
    (_, i) => `(event_time >= toDateTime({q${i}:UInt32}) AND event_time < toDateTime({q${i}:UInt32}) + 900)`,
  )
  const result = await store.query({
    query: `SELECT pathway_category, ingestion_layer, toUnixTimestamp64Milli(max(event_time))
            FROM ${ATTRIBUTIONS.name} WHERE tenant_id = {tenant:String} AND (${within.join(' OR ')})
              AND (toString(pathway_category), toString(ingestion_layer),
                toUnixTimestamp(toStartOfFifteenMinutes(event_time)))
                IN (SELECT arrayJoin({places:Array(Tuple(String, String, UInt32))}))
            GROUP BY pathway_category, ingestion_layer`,
    query_params: {
      tenant: tenantId,
      places: places.map((place) => new TupleParam(place)),
      ...Object.fromEntries(quarters.map((startS, i) => [`q${i}`, startS])),
    },
    format: 'JSONCompactEachRow',
    clickhouse_settings: READ_LIMITS,
    abort_signal: signal,
  })
  const newest = new Map<string, number>()
  for (const [pathway, layer, atMs] of await result.json<readonly [string, string, string]>()) {
    newest.set(JSON.stringify([pathway, layer]), Number(atMs))
  }
  return seen.map((each) => ({
    ...each,
    lastEventAtMs: newest.get(JSON.stringify([each.pathway, each.layer])) ?? each.lastEventAtMs,
  }))
}

/** Sources of a tenant's observations in the last thirty days. */
export async function observedSources(
  store: ClickHouseClient,
  tenantId: string,
  signal: AbortSignal,
): Promise<ObservedSource[]> {
  const result = await store.query({
    query: `SELECT source, toUnixTimestamp64Milli(max(occurred_at)) FROM observations
            WHERE tenant_id = {tenant:String} GROUP BY source LIMIT 1000`,
    query_params: { tenant: tenantId },
    format: 'JSONCompactEachRow',
    clickhouse_settings: READ_LIMITS,
    abort_signal: signal,
  })
  return (await result.json<readonly [string, string]>()).map(([source, lastMs]) => ({
    source,
    lastEventAtMs: Number(lastMs),
  }))
}
