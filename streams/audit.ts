import { DiscardPolicy, RetentionPolicy, StorageType, type StreamConfig } from '@nats-io/jetstream'

/**
 * Audit entries (actions that were done or refused) on their way to the audit log in the read model. One message
 * carries one entry, encoded by `internal/audit/audit-codec.ts`.
 *
 * One attributor at a time reads the whole stream, starting at the sequence in its checkpoint.
 */
export const AUDIT = {
  name: 'AUDIT',
  subjects: ['audit.*'],
  storage: StorageType.File,
  retention: RetentionPolicy.Limits,
  discard: DiscardPolicy.New, // a full stream refuses mutations; it never drops an entry
  max_bytes: 512 * 1024 ** 2, // about a million unread entries
  // An age limit would drop entries that are not in the read model yet; the attributor purges those that are
  max_age: 0,
  max_msg_size: 256 * 1024,
  duplicate_window: 120_000_000_000, // ns; a sink repeats an unanswered publish for seconds, not minutes
  allow_direct: true,
} satisfies Partial<StreamConfig>

/** @param tenantId null for entries of the instance itself */
export const auditSubject = (tenantId: string | null): string => `audit.${auditLogName(tenantId)}`

/** All tenants' entries, for the stream's one reader. */
export const AUDIT_OF_ALL = 'audit.*'

/** Key of the reader's checkpoint. */
export const AUDIT_CHECKPOINT = 'audit'

/** The name of a tenant's log, usable as a token of subjects and keys. No tenant id can equal `instance`. */
export const auditLogName = (tenantId: string | null): string => tenantId ?? 'instance'
