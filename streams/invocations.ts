import { DiscardPolicy, RetentionPolicy, StorageType, type StreamConfig } from '@nats-io/jetstream'

/** Facts first, then trained inference, then allocation. */
export const STAGES = ['a', 'b', 'c'] as const
export type StageName = (typeof STAGES)[number]

/**
 * Admitted events on their way through the stages. One message carries a group of events of one partition
 * (see `internal/invocations/group.ts` for its form).
 *
 * Each (stage, partition) is read by the one attributor that owns it, from the sequence that its checkpoint
 * names (`checkpoints` in buckets.ts); the checkpoint, not a consumer, says what is done.
 */
export const INVOCATIONS = {
  name: 'INVOCATIONS',
  subjects: ['invocations.*.*'],
  storage: StorageType.File,
  retention: RetentionPolicy.Limits, // a replay must still find what was done
  // Full means that the gateway hears no, never that old events vanish. Gateways leave room for the stages (`room.ts`).
  discard: DiscardPolicy.New,
  max_age: 0, // age would drop what no actor has read; the attributor purges what is done
  max_msg_size: 8 * 1024 * 1024,
  duplicate_window: 120_000_000_000, // ns; a gateway repeats an unanswered publish for seconds, not minutes
  allow_direct: true,
} satisfies Partial<StreamConfig>

export const invocationsSubject = (stage: StageName, partition: number): string => `invocations.${stage}.${partition}`

/** Those of every stage and partition. */
export const INVOCATIONS_OF_ALL = 'invocations.*.*'

export const isInvocations = (subject: string): boolean => subject.startsWith('invocations.')

export const partitionOfSubject = (subject: string): number => Number(subject.split('.')[2])

/** What the broker must take as one message (`max_payload`, of which this is the default), headers and all. */
export const PAYLOAD_BYTES_MIN = 1024 * 1024
/** Of one message; those that are written here have some hundred bytes. */
const HEADER_BYTES_MAX = 4 * 1024

/** Bytes of one group at most: what every broker takes, large enough that a full group is cheap. */
export const GROUP_BYTES_MAX = PAYLOAD_BYTES_MIN - HEADER_BYTES_MAX

/** Done events stay this long, so that a window can be replayed. */
export const REPLAY_WINDOW_MS = 24 * 60 * 60 * 1000
