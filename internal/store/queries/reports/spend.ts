import type { ClickHouseClient } from '@clickhouse/client'
import { asOfSnapshotWithin, snapshotParams } from '../../snapshot.js'
import { ATTRIBUTIONS } from '../../tables/attributions.js'
import { IN_PERIOD } from '../exports/export-records.js'

/** Cost of calls by owner, service and provider. */
export interface Spend {
  readonly owner: string
  readonly service: string
  readonly provider: string
  /** Decimal text. */
  readonly costUsd: string
}

const READ_LIMITS = { max_execution_time: 30, max_memory_usage: '1000000000' } as const

/** A tenant's cost in a period, from the rollups. The edges are milliseconds since the epoch, on a quarter hour. */
export async function spendOf(
  store: ClickHouseClient,
  tenantId: string,
  fromMs: number,
  toMs: number,
): Promise<Spend[]> {
  const result = await store.query({
    query: `SELECT owner, service, provider, sum(cost_usd) FROM usage_15m
            WHERE tenant_id = {tenant:String} AND bucket >= toDateTime({from:UInt32}) AND bucket < toDateTime({to:UInt32})
            GROUP BY owner, service, provider`,
    query_params: { tenant: tenantId, from: fromMs / 1000, to: toMs / 1000 },
    format: 'JSONCompactEachRow',
    clickhouse_settings: READ_LIMITS,
  })
  return (await result.json<readonly [string, string, string, string]>()).map(
    ([owner, service, provider, costUsd]) => ({ owner, service, provider, costUsd }),
  )
}

/** Cost of a tenant's calls in a period that match a filter, from the records as of an instant. Decimal text. */
export async function exactSpendOf(
  store: ClickHouseClient,
  tenantId: string,
  snapshotMs: number,
  { fromMs, toMs }: { readonly fromMs: number; readonly toMs: number },
  filter: { readonly owner?: string; readonly service?: string; readonly provider?: string },
): Promise<string> {
  const named = (['owner', 'service', 'provider'] as const).filter((name) => filter[name] !== undefined)
  const asked = [IN_PERIOD, ...named.map((name) => `${name} = {${name}:String}`)].join(' AND ')
  const result = await store.query({
    query: `SELECT sum(cost_usd) FROM ${ATTRIBUTIONS.name}
            WHERE tenant_id = {tenant:String} AND ${asked} AND ${asOfSnapshotWithin(IN_PERIOD)}`,
    query_params: { ...snapshotParams(tenantId, snapshotMs), ...filter, from: fromMs, to: toMs },
    format: 'JSONCompactEachRow',
    clickhouse_settings: READ_LIMITS,
  })
  return (await result.json<readonly [string]>())[0]?.[0] ?? '0'
}
