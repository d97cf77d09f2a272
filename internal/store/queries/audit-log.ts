import type { ClickHouseClient } from '@clickhouse/client'
import { AUDIT_LOG, type AuditLogRow } from '../tables/audit-log.js'

/** What a page of a tenant's audit log is asked for. */
export interface AuditQuestion {
  readonly tenantId: string
  /** Only records before this one; undefined: the newest ones. */
  readonly before: number | undefined
  readonly action: string | undefined
  readonly actor: string | undefined
  readonly outcome: string | undefined
  /** Milliseconds since the epoch: at or after. */
  readonly fromMs: number | undefined
  /** Milliseconds since the epoch: before. */
  readonly toMs: number | undefined
  readonly limit: number
}

const ROW = `tenant_id, sequence, lower(hex(hash)), toUnixTimestamp64Milli(created_at), actor, action, target, outcome,
  error_code, trace_id, source_address, changes, repeats`

type StoredRow = readonly [
  tenantId: string,
  sequence: string,
  hash: string,
  createdAtMs: string,
  actor: string,
  action: string,
  target: string,
  outcome: string,
  errorCode: string,
  traceId: string,
  sourceAddress: string,
  changes: string,
  repeats: number,
]

const toRow = (stored: StoredRow): AuditLogRow => {
  const [tenantId, sequence, hash, createdAtMs, actor, action, target, outcome] = stored
  const [, , , , , , , , errorCode, traceId, sourceAddress, changes, repeats] = stored
  return {
    tenantId,
    sequence: Number(sequence),
    hash,
    createdAtMs: Number(createdAtMs),
    actor,
    action,
    target,
    outcome,
    errorCode,
    traceId,
    sourceAddress,
    changes,
    repeats,
  }
}

/** Work that a page may cost at most. */
const READ_LIMITS = { max_execution_time: 10, max_memory_usage: '500000000' } as const

/** A tenant's records, the newest first. @param signal aborts the query when the caller leaves */
export async function listAuditLog(
  store: ClickHouseClient,
  question: AuditQuestion,
  signal: AbortSignal,
): Promise<AuditLogRow[]> {
  const { tenantId, before, action, actor, outcome, fromMs, toMs, limit } = question
  const conditions = [
    'tenant_id = {tenant:String}',
    before === undefined ? '' : 'sequence < {before:UInt64}',
    action === undefined ? '' : 'action = {action:String}',
    actor === undefined ? '' : 'actor = {actor:String}',
    outcome === undefined ? '' : 'outcome = {outcome:String}',
    fromMs === undefined ? '' : 'created_at >= fromUnixTimestamp64Milli({from:Int64})',
    toMs === undefined ? '' : 'created_at < fromUnixTimestamp64Milli({to:Int64})',
  ].filter((condition) => condition !== '')
  const result = await store.query({
    query: `SELECT ${ROW} FROM ${AUDIT_LOG.name} WHERE ${conditions.join(' AND ')}
            ORDER BY tenant_id DESC, sequence DESC LIMIT {limit:UInt32}`,
    query_params: { tenant: tenantId, before, action, actor, outcome, from: fromMs, to: toMs, limit },
    format: 'JSONCompactEachRow',
    clickhouse_settings: READ_LIMITS,
    abort_signal: signal,
  })
  return (await result.json<StoredRow>()).map(toRow)
}

/** What people do by which calls of the past move; of entries, only those that name the job which moves them. */
const MOVES_CALLS = `action IN ('mapping_rule.apply', 'attribution.apply_overrides', 'attribution.undo_overrides',
    'attribution.override', 'attribution.undo_override', 'attribution.reattribute')
  OR action IN ('directory.put', 'directory.delete', 'pool.create', 'pool.update', 'pool.delete')
    AND JSONExtractString(changes, 'after', 'reattribution') != ''`

/** A tenant's records of what moved calls of the past, the newest first. */
export async function listAnswers(
  store: ClickHouseClient,
  { tenantId, fromMs, limit }: { readonly tenantId: string; readonly fromMs: number; readonly limit: number },
  signal: AbortSignal,
): Promise<AuditLogRow[]> {
  const result = await store.query({
    query: `SELECT ${ROW} FROM ${AUDIT_LOG.name}
            WHERE tenant_id = {tenant:String} AND created_at >= fromUnixTimestamp64Milli({from:Int64})
              AND outcome = 'succeeded' AND (${MOVES_CALLS})
            ORDER BY tenant_id DESC, sequence DESC LIMIT {limit:UInt32}`,
    query_params: { tenant: tenantId, from: fromMs, limit },
    format: 'JSONCompactEachRow',
    clickhouse_settings: READ_LIMITS,
    abort_signal: signal,
  })
  return (await result.json<StoredRow>()).map(toRow)
}

/** The last record of each of these tenants. @param tenantIds empty text: the instance's */
export async function lastAuditRecords(
  store: ClickHouseClient,
  tenantIds: readonly string[],
): Promise<Pick<AuditLogRow, 'tenantId' | 'sequence' | 'hash'>[]> {
  const result = await store.query({
    query: `SELECT tenant_id, max(sequence), lower(hex(argMax(hash, sequence))) FROM ${AUDIT_LOG.name}
            WHERE tenant_id IN {tenants:Array(String)} GROUP BY tenant_id`,
    query_params: { tenants: [...tenantIds] },
    format: 'JSONCompactEachRow',
  })
  const rows = await result.json<[string, string, string]>()
  return rows.map(([tenantId, sequence, hash]) => ({ tenantId, sequence: Number(sequence), hash }))
}

/** Every record of a tenant, the oldest first; for as long as it takes. */
export async function* streamAuditLog(store: ClickHouseClient, tenantId: string): AsyncGenerator<AuditLogRow> {
  const result = await store.query({
    query: `SELECT ${ROW} FROM ${AUDIT_LOG.name} WHERE tenant_id = {tenant:String} ORDER BY tenant_id, sequence`,
    query_params: { tenant: tenantId },
    format: 'JSONCompactEachRow',
  })
  for await (const rows of result.stream<StoredRow>()) {
    for (const row of rows) yield toRow(row.json())
  }
}
