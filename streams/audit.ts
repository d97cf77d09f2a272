import { DiscardPolicy, RetentionPolicy, StorageType, type StreamConfig } from '@nats-io/jetstream'

/**
 * What somebody did or was refused, on its way to the audit log in the read model. One message carries one entry
 * (see `internal/audit/codec.ts` for its form).
 *
 * One attributor at a time reads the whole stream, from the sequence that its checkpoint names.
 */
export const AUDIT = {
  name: 'AUDIT',
  subjects: ['audit.*'],
  storage: StorageType.File,
  retention: RetentionPolicy.Limits,
  discard: DiscardPolicy.New, // full means that a mutation hears no, never that what was done is forgotten
  max_bytes: 512 * 1024 ** 2, // a million entries that nobody could read yet
  max_age: 0, // age would drop what is not in the read model; the attributor purges what is
  max_msg_size: 256 * 1024,
  duplicate_window: 120_000_000_000, // ns; a sink repeats an unanswered publish for seconds, not minutes
  allow_direct: true,
} satisfies Partial<StreamConfig>

/** @param tenantId null for what concerns the instance itself */
export const auditSubject = (tenantId: string | null): string => `audit.${auditLogName(tenantId)}`

/** The one reader's, of every tenant. */
export const AUDIT_OF_ALL = 'audit.*'

/** Key of the reader's checkpoint. */
export const AUDIT_CHECKPOINT = 'audit'

/** A tenant's log by name, a token of subjects and keys: no tenant id begins like the instance's. */
export const auditLogName = (tenantId: string | null): string => tenantId ?? 'instance'
