import type { ClickHouseClient } from '@clickhouse/client'
import { OF_ID } from '../../snapshot.js'
import { storedRows } from '../../stored-rows.js'
import type { Change } from '../../tables/closed.js'

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
  readonly cost_usd: string
  readonly cost_basis: string
  readonly energy_wh: string
  readonly energy_basis: string
  readonly carbon_gco2e: string
  readonly carbon_basis: string
}

/** Those of the versions that were closed by an instant, as keys of `versionKey`. */
export async function closedAmong(
  store: ClickHouseClient,
  tenantId: string,
  versions: readonly { readonly id: string; readonly valid_from_ms: string }[],
  byMs: number,
  signal: AbortSignal,
): Promise<ReadonlySet<string>> {
  const result = await store.query({
    query: `SELECT lower(hex(id)) AS id_hex, toUnixTimestamp64Milli(valid_from) AS valid_from_ms FROM closed
            WHERE tenant_id = {tenant:String}
              AND id IN (SELECT CAST(unhex(arrayJoin({ids:Array(String)})) AS FixedString(16)))
              AND closed_at <= fromUnixTimestamp64Milli({by:Int64})`,
    query_params: { tenant: tenantId, ids: versions.map(({ id }) => id), by: byMs },
    format: 'JSONEachRow',
    abort_signal: signal,
  })
  const rows = await result.json<{ id_hex: string; valid_from_ms: string }>()
  return new Set(rows.map(({ id_hex, valid_from_ms }) => versionKey({ id: id_hex, valid_from_ms })))
}

export const versionKey = ({ id, valid_from_ms }: { readonly id: string; readonly valid_from_ms: string }): string =>
  `${id}/${valid_from_ms}`

/** The versions of a record that were closed by an instant, the oldest first. */
export async function closedVersionsOf(
  store: ClickHouseClient,
  tenantId: string,
  recordId: string,
  byMs: number,
  signal: AbortSignal,
): Promise<StoredClosed[]> {
  const result = await store.query({
    query: `SELECT toUnixTimestamp64Milli(valid_from) AS valid_from_ms,
              toUnixTimestamp64Milli(closed_at) AS closed_at_ms,
              change, change_id, actor, service, owner, output_state, stage_origin, evidence_basis, confidence_band,
              export_eligibility, cost_usd, cost_basis, energy_wh, energy_basis, carbon_gco2e, carbon_basis
            FROM (SELECT * FROM closed UNION ALL SELECT * FROM closed_history)
            WHERE tenant_id = {tenant:String} AND ${OF_ID}
              AND closed_at <= fromUnixTimestamp64Milli({by:Int64})
            ORDER BY valid_from, closed_at LIMIT 1 BY valid_from`,
    query_params: { tenant: tenantId, id: recordId, by: byMs },
    format: 'JSONEachRow',
    abort_signal: signal,
  })
  return result.json<StoredClosed>()
}

/** Tenants with at least a given number of closed versions that compaction has not removed. */
export async function tenantsWithClosed(store: ClickHouseClient, versionsMin: number): Promise<ReadonlySet<string>> {
  const query = 'SELECT tenant_id FROM closed GROUP BY tenant_id HAVING count() >= {least:UInt32}'
  const found = await storedRows<{ tenant_id: string }>(store, query, { least: versionsMin })
  return new Set(found.map((tenant) => tenant.tenant_id))
}
