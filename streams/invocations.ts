import { DiscardPolicy, RetentionPolicy, StorageType, type StreamConfig } from '@nats-io/jetstream'

/**
 * The lane of tenants that send more than is worked off; then an event's own facts, those of its trace, trained
 * inference, allocation.
 */
export const STAGES = ['l', 'a', 't', 'b', 'c'] as const
export type StageName = (typeof STAGES)[number]

/**
 * Admitted events on their way through the stages. One message carries a group of events of one partition, encoded by
 * `internal/invocations/invocation-group.ts`.
 *
 * The one attributor that owns a (stage, partition) reads it, starting at the sequence in its checkpoint (`checkpoints`
 * in buckets.ts). The checkpoint records progress; there is no consumer.
 */
export const INVOCATIONS = {
  name: 'INVOCATIONS',
  subjects: ['invocations.*.*'],
  storage: StorageType.File,
  retention: RetentionPolicy.Limits, // a replay must still find processed events
  // A full stream refuses events at the gateway; it never drops old ones. Gateways reserve capacity for the stages
  // (`stream-capacity.ts`).
  discard: DiscardPolicy.New,
  max_age: 0, // an age limit would drop unread events; the attributor purges processed ones
  max_msg_size: 8 * 1024 * 1024,
  duplicate_window: 120_000_000_000, // ns; a gateway repeats an unanswered publish for seconds, not minutes
  allow_direct: true,
  allow_atomic: true, // a batch hands on to up to 64 partitions
} satisfies Partial<StreamConfig>

export const invocationsSubject = (stage: StageName, partition: number): string => `invocations.${stage}.${partition}`

/** The events of all stages and partitions. */
export const INVOCATIONS_OF_ALL = 'invocations.*.*'

export const isInvocations = (subject: string): boolean => subject.startsWith('invocations.')

export const partitionOfSubject = (subject: string): number => Number(subject.split('.')[2])

/** The most partitions for events: each has a mailbox and a checkpoint per stage, and inserts of its own. */
export const PARTITIONS_MAX = 64

/** A stage reads it. */
export interface Mailbox {
  readonly stage: StageName
  readonly partition: number
}

/** The mailboxes of all stages. The lane is one. */
export const mailboxes = (partitions: readonly number[]): readonly Mailbox[] =>
  STAGES.flatMap((stage) => (stage === 'l' ? [0] : partitions).map((partition) => ({ stage, partition })))

/** The least `max_payload` that the broker must have, headers included; also its default. */
export const PAYLOAD_BYTES_MIN = 1024 * 1024
/** Reserved for a message's headers; actual ones have a few hundred bytes. */
const HEADER_BYTES_MAX = 4 * 1024

/** Maximum size of a group: within every broker's `max_payload`, and so large that it is cheap per event. */
export const GROUP_BYTES_MAX = PAYLOAD_BYTES_MIN - HEADER_BYTES_MAX

/** Of a group of the lane, which hands on whole messages: events of other tenants wait for what it hands on. */
export const LANE_GROUP_BYTES_MAX = 16 * 1024

/** How long processed events are kept, so that a window can be replayed. */
export const REPLAY_WINDOW_MS = 24 * 60 * 60 * 1000
