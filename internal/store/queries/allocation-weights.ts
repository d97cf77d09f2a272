import type { ClickHouseClient } from '@clickhouse/client'
import type { ResolvedCost } from '../../allocation/weights.js'
import { parseQuantity } from '../../units/quantity.js'
import { AS_OF_SNAPSHOT, snapshotParams } from '../snapshot.js'
import { ALLOCATION_WEIGHTS } from '../tables/allocation-weights.js'
import { ATTRIBUTIONS } from '../tables/attributions.js'

/** A weight as the read model holds it; an empty service stands for what stays in the pool. */
export interface StoredWeight {
  readonly service: string
  readonly owner: string
  /** Decimal text. */
  readonly weight: string
}

/** A tenant's weights as of an instant, the largest first, what stays last; empty when they were never worked out. */
export async function findAllocationWeights(
  store: ClickHouseClient,
  tenantId: string,
  asOfMs: number,
): Promise<readonly StoredWeight[]> {
  const result = await store.query({
    query: `SELECT service, owner, weight FROM ${ALLOCATION_WEIGHTS.name}
            WHERE tenant_id = {tenant:String} AND as_of = fromUnixTimestamp64Milli({at:Int64})
            ORDER BY service = '', weight DESC, service, owner`,
    query_params: { tenant: tenantId, at: asOfMs },
    format: 'JSONEachRow',
  })
  return result.json<StoredWeight>()
}

/**
 * What a tenant's calls cost by service and owner, of those that are attributed at or above the chargeback floor and
 * became valid within a window and were valid at its end, the most expensive first.
 *
 * @param limit services and owners at most
 * @returns these, and the cost of all
 */
export async function resolvedCosts(
  store: ClickHouseClient,
  tenantId: string,
  window: { readonly fromMs: number; readonly toMs: number },
  limit: number,
): Promise<{ readonly costs: readonly ResolvedCost[]; readonly totalSteps: bigint }> {
  const result = await store.query({
    query: `SELECT service, owner, sum(cost_usd) AS cost, sum(cost) OVER () AS total FROM ${ATTRIBUTIONS.name}
            WHERE tenant_id = {tenant:String}
              AND valid_from >= fromUnixTimestamp64Milli({from:Int64}) AND ${AS_OF_SNAPSHOT}
              AND confidence_band = 'chargeback_ready' AND output_state != 'disputed'
              AND degradation_state != 'degraded_serving'
            GROUP BY service, owner HAVING cost > 0
            ORDER BY cost DESC, service, owner LIMIT {limit:UInt32}`,
    query_params: { ...snapshotParams(tenantId, window.toMs), from: window.fromMs, limit },
    format: 'JSONEachRow',
  })
  const rows = await result.json<{ service: string; owner: string; cost: string; total: string }>()
  return {
    costs: rows.map(({ service, owner, cost }) => ({ service, owner, costSteps: parseQuantity(cost) ?? 0n })),
    totalSteps: parseQuantity(rows[0]?.total ?? '0') ?? 0n,
  }
}
