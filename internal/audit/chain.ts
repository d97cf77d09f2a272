import { createHash } from 'node:crypto'
import type { AuditEntry } from '../auth/audit-entry.js'
import { type CanonicalValue, canonicalJson } from '../text/canonical-json.js'

/**
 * The chain of one tenant's audit log. Each record says its place in it, and its hash is SHA-256 of the hash before it
 * (32 bytes; zeros before the first) and of the record's RFC 8785 canonical JSON without `hash`, so that whoever holds
 * the records can work every hash out again.
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
  /** How many equal refusals it stands for: above 1 when they came faster than they are recorded. */
  readonly repeats: number
  /** 64 hex digits. */
  readonly hash: string
}

/** A place in a chain: the last record up to it. */
export interface ChainHead {
  readonly sequence: number
  /** 64 hex digits. */
  readonly hash: string
}

export const CHAIN_START: ChainHead = { sequence: 0, hash: '0'.repeat(64) }

/** An entry as it is kept: with how many equal ones it stands for. */
export type RepeatedEntry = AuditEntry & { readonly repeats: number }

/** The record that an entry becomes behind a head. */
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

/** The hash that a record must have behind another. @throws TypeError when it holds what has no canonical form */
export function hashOf(previousHash: string, { hash: _, ...record }: Omit<AuditRecord, 'hash'> & { hash?: string }) {
  return createHash('sha256').update(Buffer.from(previousHash, 'hex')).update(canonicalJson(record)).digest('hex')
}
