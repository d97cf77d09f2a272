import { DiscardPolicy, RetentionPolicy, StorageType, type StreamConfig } from '@nats-io/jetstream'

/**
 * Changes of records that exist: overrides, disputes and what undoes them, in the order in which they take effect. One
 * message carries one change (see `internal/attribution/changes/change.ts` for its form), its id as message id; a promise
 * that a change was answered with comes behind it.
 *
 * One attributor at a time reads the whole stream, from the sequence that its checkpoint names
 * (`CHANGES_CHECKPOINT` in records.ts): two changes of one record meet in one reader, and neither is lost.
 */
export const CHANGES = {
  name: 'CHANGES',
  subjects: ['changes.*'],
  storage: StorageType.File,
  retention: RetentionPolicy.Limits,
  discard: DiscardPolicy.New, // full means that a change is refused, never that one is forgotten
  max_bytes: 256 * 1024 ** 2, // 400,000 changes that nobody could carry out yet, and room for slices (`room.ts`)
  max_age: 0, // age would drop what has no effect yet; the attributor purges what has
  max_msg_size: 64 * 1024,
  duplicate_window: 120_000_000_000, // ns; a later repeat is known by the change's id in the read model
  allow_direct: true,
} satisfies Partial<StreamConfig>

export const changesSubject = (tenantId: string): string => `changes.${tenantId}`

/** The one reader's, of every tenant. */
export const CHANGES_OF_ALL = 'changes.*'
