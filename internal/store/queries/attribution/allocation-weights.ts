import type { ClickHouseClient } from '@clickhouse/client'
import { FOLD_SETTINGS, foldedSql, KEPT } from '../../../cohorts/folded.js'
import type { CostOfPeople } from '../../../records/allocation-weights.js'
import { WEIGHT_PARTS, type Weight } from '../../../records/allocation-weights.js'
import { parseSum, STEPS_PER_UNIT } from '../../../units/quantity.js'
import { asOfSnapshotWithin, snapshotParams } from '../../snapshot.js'
import { ALLOCATION_WEIGHTS } from '../../tables/allocation-weights.js'
import { ATTRIBUTIONS } from '../../tables/attributions.js'

/** A weight as the read model holds it; an empty service is the part that stays in the pool. */
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
  signal: AbortSignal,
): Promise<readonly StoredWeight[]> {
  const result = await store.query({
    query: `SELECT service, owner, sum(kept.weight) AS weight FROM ${ALLOCATION_WEIGHTS.name} AS kept
            WHERE tenant_id = {tenant:String} AND as_of = fromUnixTimestamp64Milli({at:Int64})
            GROUP BY service, owner HAVING ${IS_HELD}
            ORDER BY service = '', weight DESC, service, owner`,
    query_params: { tenant: tenantId, at: asOfMs },
    format: 'JSONEachRow',
    abort_signal: signal,
  })
  return result.json<StoredWeight>()
}

/** The newest instant at or before a time as of which a tenant's weights are kept; undefined without any. */
export async function lastWeightsInstant(
  store: ClickHouseClient,
  tenantId: string,
  byMs: number,
): Promise<number | undefined> {
  const result = await store.query({
    query: `SELECT count() AS kept, toUnixTimestamp64Milli(max(as_of)) AS as_of_ms FROM ${ALLOCATION_WEIGHTS.name}
            WHERE tenant_id = {tenant:String} AND as_of <= ${BY}`,
    query_params: { tenant: tenantId, at: byMs },
    format: 'JSONEachRow',
    clickhouse_settings: { max_execution_time: LOOK_UP_S_MAX },
  })
  const [found] = await result.json<{ readonly kept: string; readonly as_of_ms: string }>()
  return found === undefined || found.kept === '0' ? undefined : Number(found.as_of_ms)
}

/** By what a report spreads pools: weights that it may show; what they leave of 1 stays. */
export interface SpreadWeights {
  readonly asOfMs: number
  readonly weights: readonly Weight[]
}

/**
 * The newest of a tenant's weights as of an instant at or before a time; the oldest ones where there are none of
 * before, as of calls that arrived later than they were made.
 *
 * @returns undefined when none were ever worked out
 */
export async function findSpreadWeights(
  store: ClickHouseClient,
  tenantId: string,
  byMs: number,
  signal: AbortSignal,
): Promise<SpreadWeights | undefined> {
  const result = await store.query({
    query: `SELECT toUnixTimestamp64Milli(as_of) AS as_of_ms, service, owner, sum(kept.weight) AS weight, is_shown
            FROM ${ALLOCATION_WEIGHTS.name} AS kept
            WHERE tenant_id = {tenant:String} AND as_of = (
              SELECT if(countIf(as_of <= ${BY}) > 0, maxIf(as_of, as_of <= ${BY}), min(as_of))
              FROM ${ALLOCATION_WEIGHTS.name} WHERE tenant_id = {tenant:String})
            GROUP BY as_of, service, owner, is_shown HAVING ${IS_HELD}
            ORDER BY owner, service`,
    query_params: { tenant: tenantId, at: byMs },
    format: 'JSONEachRow',
    clickhouse_settings: READ_LIMITS,
    abort_signal: signal,
  })
  const rows = await result.json<StoredWeight & { readonly as_of_ms: string; readonly is_shown: boolean }>()
  const [first] = rows
  if (first === undefined) return undefined
  const weights = rows
    .filter(({ service, is_shown }) => is_shown && service !== '')
    .map(({ service, owner, weight }) => ({ service, owner, parts: partsOf(weight) }))
  return { asOfMs: Number(first.as_of_ms), weights }
}

/** An erasure gives a weight to another by a row that is below 0, which it deletes last (`erasure.ts`). */
const IS_HELD = 'min(kept.weight) > 0'
const BY = 'fromUnixTimestamp64Milli({at:Int64})'
const READ_LIMITS = { max_execution_time: 10, max_memory_usage: '1000000000' } as const
/** A partition waits for it. */
const LOOK_UP_S_MAX = 1
const SINCE = 'valid_from >= fromUnixTimestamp64Milli({from:Int64})'
/** Else calls of last year that were attributed again this month would count as this month's. */
const MADE_WITHIN =
  'event_time BETWEEN fromUnixTimestamp64Milli({from:Int64}) AND fromUnixTimestamp64Milli({snapshot:Int64})'
const partsOf = (weight: string): bigint => parseSum(weight) / (STEPS_PER_UNIT / WEIGHT_PARTS)

/**
 * What a tenant's calls cost by service and owner, of those that were made within a window and are attributed at or
 * above the chargeback floor by versions that became valid within it and were valid at its end, the most expensive
 * first.
 *
 * @param limit services and owners at most
 * @param notPeople hashes of identities that are no people, as 32 hex digits
 * @param k people that a weight has at least, or nobody: it is a share of the cost of their calls, folded like any
 *   figure of a report, but only once for all reports
 * @returns these, and the cost of all
 */
export async function resolvedCosts(
  store: ClickHouseClient,
  tenantId: string,
  window: { readonly fromMs: number; readonly toMs: number },
  limit: number,
  notPeople: readonly string[],
  k: number,
): Promise<{ readonly costs: readonly CostOfPeople[]; readonly totalSteps: bigint }> {
  const result = await store.query({
    query: `SELECT member.1 AS service, member.2 AS owner, member.3 AS cost, member.4 AS total, ${KEPT} > 0 AS is_shown
            FROM (${foldedSql(COSTS_OF_PEOPLE, k)}) ARRAY JOIN members AS member
            ORDER BY toDecimal256(cost, 18) DESC, service, owner`,
    query_params: { ...snapshotParams(tenantId, window.toMs), from: window.fromMs, limit, not_people: [...notPeople] },
    format: 'JSONEachRow',
    clickhouse_settings: { max_execution_time: COSTS_S_MAX, ...FOLD_SETTINGS },
  })
  const rows = await result.json<{ service: string; owner: string; cost: string; total: string; is_shown: 0 | 1 }>()
  return {
    costs: rows.map(({ service, owner, cost, is_shown }) => ({
      service,
      owner,
      costSteps: parseSum(cost),
      isShown: is_shown === 1,
    })),
    totalSteps: parseSum(rows[0]?.total ?? '0'),
  }
}

/** All of a large tenant's month take seconds; nobody waits for them. */
const COSTS_S_MAX = 30

/** The costs as a table of groups, with one label for service and owner. */
const COSTS_OF_PEOPLE = {
  from: `(
    SELECT toJSONString((toString(service), toString(owner))) AS pair, usd, people,
      [(toString(service), toString(owner), toString(usd), toString(total))] AS members
    FROM (
      SELECT service, owner, CAST(sum(cost_usd) AS Decimal(76, 18)) AS usd, sum(usd) OVER () AS total,
        uniqExactStateIf(reinterpretAsUInt64(identity_hash), identity_hash != toFixedString('', 16)
          AND lower(hex(identity_hash)) NOT IN {not_people:Array(String)}) AS people
      FROM ${ATTRIBUTIONS.name}
      WHERE tenant_id = {tenant:String}
        AND ${MADE_WITHIN} AND ${SINCE} AND ${asOfSnapshotWithin(SINCE)}
        AND confidence_band = 'chargeback_ready' AND output_state != 'disputed'
        AND degradation_state != 'degraded_serving'
      GROUP BY service, owner HAVING usd > 0
      ORDER BY usd DESC, service, owner LIMIT {limit:UInt32}
    ))`,
  root: [],
  labels: ['pair'],
  people: 'people',
  cost: 'usd',
  sums: {},
  lists: ['members'],
}
