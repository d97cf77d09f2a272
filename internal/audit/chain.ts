import { createHash } from 'node:crypto'
import type { AuditEntry } from '../auth/audit-entry.js'
import { type CanonicalValue, canonicalJson } from '../text/canonical-json.js'

/**
 * The hash chain of one tenant's audit log. Each record has its sequence number, and its hash is SHA-256 of the
 * previous hash (32 bytes; zeros before the first) and of the record's RFC 8785 canonical JSON without `hash`, so that
 * anyone with the records can compute every hash again.
 */
export interface AuditRecord {
  /** 1, 2, 3 and so on within the tenant's log. */
  readonly sequence: number
  /** Null in the log of the instance itself. */
  readonly tenant_id: string | null
  /** RFC 3339, to the millisecond. */
  readonly created_at: string
  readonly actor: string | null
  readonly action: string
  readonly target: string | null
  readonly outcome: string
  readonly error_code: string | null
  readonly trace_id: string
  readonly source_address: string | null
  readonly changes: CanonicalValue
  /** Number of equal refusals that it represents: above 1 when they exceeded the recording rate. */
  readonly repeats: number
  /** 64 hex digits. */
  readonly hash: string
}

/** The last record of a chain, or of a part of it. */
export interface ChainHead {
  readonly sequence: number
  /** 64 hex digits. */
  readonly hash: string
}

export const CHAIN_START: ChainHead = { sequence: 0, hash: '0'.repeat(64) }

/** An entry with the number of equal ones that it represents. */
export type RepeatedEntry = AuditEntry & { readonly repeats: number }

/** The record of an entry that follows a head. */
export function chained(head: ChainHead, entry: RepeatedEntry): AuditRecord {
  const record = {
    sequence: head.sequence + 1,
    tenant_id: entry.tenantId,
    created_at: new Date(entry.at).toISOString(),
    actor: entry.actor,
    action: entry.action,
    target: entry.target,
    outcome: entry.outcome,
    error_code: entry.errorCode,
    trace_id: entry.traceId,
    source_address: entry.sourceAddress ?? null,
    changes: entry.changes ?? null,
    repeats: entry.repeats,
  }
  return { ...record, hash: hashOf(head.hash, record) }
}

/** The hash of a record after the previous hash. @throws TypeError when the record has no canonical form */
export function hashOf(previousHash: string, { hash: _, ...record }: Omit<AuditRecord, 'hash'> & { hash?: string }) {
  return createHash('sha256').update(Buffer.from(previousHash, 'hex')).update(canonicalJson(record)).digest('hex')
}
