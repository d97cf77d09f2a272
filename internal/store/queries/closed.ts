import type { ClickHouseClient } from '@clickhouse/client'
import { OF_ID } from '../snapshot.js'
import type { Change } from '../tables/closed.js'

/** A version of a record that is no longer valid: column names, times as epoch milliseconds in text. */
export interface StoredClosed {
  readonly valid_from_ms: string
  readonly closed_at_ms: string
  readonly change: Change
  readonly change_id: string
  readonly actor: string
  readonly service: string
  readonly owner: string
  readonly output_state: string
  readonly stage_origin: string
  readonly evidence_basis: string
  readonly confidence_band: string
  readonly export_eligibility: string
}

/** The versions of a record that were closed by an instant, the oldest first. */
export async function closedVersionsOf(
  store: ClickHouseClient,
  tenantId: string,
  recordId: string,
  byMs: number,
  signal: AbortSignal,
): Promise<StoredClosed[]> {
  const result = await store.query({
    query: `SELECT toUnixTimestamp64Milli(valid_from) AS valid_from_ms, toUnixTimestamp64Milli(closed_at) AS closed_at_ms,
              change, change_id, actor, service, owner, output_state, stage_origin, evidence_basis, confidence_band,
              export_eligibility
            FROM (SELECT * FROM closed UNION ALL SELECT * FROM closed_history)
            WHERE tenant_id = {tenant:String} AND ${OF_ID}
              AND closed_at <= fromUnixTimestamp64Milli({by:Int64})
            ORDER BY valid_from LIMIT 1 BY valid_from`,
    query_params: { tenant: tenantId, id: recordId, by: byMs },
    format: 'JSONEachRow',
    abort_signal: signal,
  })
  return result.json<StoredClosed>()
}
