import type { ClickHouseClient } from '@clickhouse/client'
import { asOfSnapshotWithin, IN_PERIOD, snapshotParams } from '../../snapshot.js'
import { ATTRIBUTIONS } from '../../tables/attributions.js'

export interface AuditQuestion {
  readonly tenantId: string
  readonly snapshotMs: number
  /** Of the events' own time; the end is exclusive. */
  readonly fromMs: number
  readonly toMs: number
  /** The last call of the page before. */
  readonly after: AuditPlace | undefined
  readonly limit: number
}

/** A call's place in the queue: its worth (decimal text), the number of calls like it, and its id. */
export interface AuditPlace {
  readonly worthUsd: string
  readonly calls: string
  readonly idHex: string
}

/** A call that nobody could name, and what there is of calls that look alike to a model. */
export interface QueuedCall extends AuditPlace {
  readonly costUsd: string
  /** Calls like it that people have said of whom they are. */
  readonly audited: string
}

/**
 * What a model can tell calls apart by: those that are alike in it, it names alike. Sizes are taken in steps of a
 * factor of four, since a model's own steps are finer than what one answer teaches.
 */
const ALIKE = `provider, served_model, ingestion_layer, principal, identity_hash, k8s_namespace, k8s_workload,
  workload_identity, service_tier, region, toString(tags), intDiv(toUInt8(log2(1 + ifNull(input_tokens, 0))), 2),
  intDiv(toUInt8(log2(1 + ifNull(output_tokens, 0))), 2)`

const IS_OPEN = "stage_origin = 'stage_c'"
/** A person's word on a call that stage B or C had. */
const IS_AUDITED = `evidence_basis = 'manual_override'
  AND JSONExtractString(evidence, 'replaced', 'stage_origin') IN ('stage_b', 'stage_c')`

/**
 * Of each kind of calls that nobody could name, the most expensive call; first the kind that costs most for each answer
 * that people have given of it already.
 */
export async function auditQueue(store: ClickHouseClient, question: AuditQuestion): Promise<QueuedCall[]> {
  const { tenantId, snapshotMs, fromMs, toMs, after, limit } = question
  const behind =
    after === undefined
      ? 'true'
      : `(worth, open, costliest) <
         ({worth:Decimal(38, 18)}, {calls:UInt64}, CAST(unhex({last:String}) AS FixedString(16)))`
  const result = await store.query({
    query: `SELECT lower(hex(costliest)) AS idHex, toString(worth) AS worthUsd, toString(open) AS calls,
              toString(cost) AS costUsd, toString(answers) AS audited
            FROM (
              SELECT argMaxIf(id, (cost_usd, id), ${IS_OPEN}) AS costliest, countIf(${IS_OPEN}) AS open,
                sumIf(cost_usd, ${IS_OPEN}) AS cost, countIf(${IS_AUDITED}) AS answers,
                CAST(cost / (1 + answers) AS Decimal(38, 18)) AS worth
              FROM ${ATTRIBUTIONS.name}
              WHERE tenant_id = {tenant:String} AND ${IN_PERIOD} AND ${asOfSnapshotWithin(IN_PERIOD)}
                AND (${IS_OPEN} OR evidence_basis = 'manual_override')
              GROUP BY ${ALIKE}
              HAVING open > 0)
            WHERE ${behind}
            ORDER BY worth DESC, open DESC, costliest DESC LIMIT {limit:UInt32}`,
    query_params: {
      ...snapshotParams(tenantId, snapshotMs),
      from: fromMs,
      to: toMs,
      limit,
      ...(after && { worth: after.worthUsd, calls: after.calls, last: after.idHex }),
    },
    format: 'JSONEachRow',
    clickhouse_settings: { max_execution_time: 20, max_memory_usage: '1000000000' },
  })
  return result.json<QueuedCall>()
}
