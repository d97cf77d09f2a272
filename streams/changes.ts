import { DiscardPolicy, RetentionPolicy, StorageType, type StreamConfig } from '@nats-io/jetstream'

/**
 * Changes of existing records (overrides, disputes, and their withdrawals) in the order in which they take effect. One
 * message carries one change, encoded by `internal/attribution/changes/change.ts`, with the change's id as message id.
 * A `promised` message follows a change whose requester got a response before the change took effect.
 *
 * One attributor at a time reads the whole stream, starting at the sequence in its checkpoint (`CHANGES_CHECKPOINT` in
 * records.ts). Since one reader applies all changes, two changes of one record are both kept.
 */
export const CHANGES = {
  name: 'CHANGES',
  subjects: ['changes.*'],
  storage: StorageType.File,
  retention: RetentionPolicy.Limits,
  discard: DiscardPolicy.New, // a full stream refuses changes; it never drops one
  // About 400,000 changes to apply, and capacity for the slices of jobs (`stream-capacity.ts`)
  max_bytes: 256 * 1024 ** 2,
  max_age: 0, // an age limit would drop changes that have not taken effect; the attributor purges those that have
  max_msg_size: 64 * 1024,
  duplicate_window: 120_000_000_000, // ns; a later repeat is recognised by the change's id in the read model
  allow_direct: true,
  allow_atomic: true, // the changes that follow from a batch of records cost one sync instead of one each
} satisfies Partial<StreamConfig>

export const changesSubject = (tenantId: string): string => `changes.${tenantId}`

/** All tenants' changes, for the stream's one reader. */
export const CHANGES_OF_ALL = 'changes.*'
