import type { AuditLogRow } from '../store/tables/audit-log.js'
import { type CanonicalValue, canonicalJson } from '../text/canonical-json.js'
import type { AuditRecord } from './chain.js'

export const toRow = (record: AuditRecord): AuditLogRow => ({
  tenantId: record.tenant_id ?? '',
  sequence: record.sequence,
  hash: record.hash,
  createdAtMs: Date.parse(record.created_at),
  actor: record.actor ?? '',
  action: record.action,
  target: record.target ?? '',
  outcome: record.outcome,
  errorCode: record.error_code ?? '',
  traceId: record.trace_id,
  sourceAddress: record.source_address ?? '',
  changes: canonicalJson(record.changes),
  repeats: record.repeats,
})

/** @returns undefined when the row's `changes` is not canonical JSON: then another program wrote it */
export function toRecord(row: AuditLogRow): AuditRecord | undefined {
  const changes = canonicalOf(row.changes)
  if (changes === undefined) return undefined
  return {
    sequence: row.sequence,
    tenant_id: nullable(row.tenantId),
    created_at: new Date(row.createdAtMs).toISOString(),
    actor: nullable(row.actor),
    action: row.action,
    target: nullable(row.target),
    outcome: row.outcome,
    error_code: nullable(row.errorCode),
    trace_id: row.traceId,
    source_address: nullable(row.sourceAddress),
    changes,
    repeats: row.repeats,
    hash: row.hash,
  }
}

const nullable = (text: string): string | null => (text === '' ? null : text)

function canonicalOf(text: string): CanonicalValue | undefined {
  try {
    const value = JSON.parse(text) as CanonicalValue
    return canonicalJson(value) === text ? value : undefined
  } catch {
    return undefined
  }
}
