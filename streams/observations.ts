import { DiscardPolicy, RetentionPolicy, StorageType, type StreamConfig } from '@nats-io/jetstream'

/**
 * Observations that `POST /api/v1/events` took, on their way to the read model. One message carries one observation, or
 * some of one request (see `internal/ingest/observations/codec.ts` for its form).
 *
 * One attributor at a time reads the whole stream, from the sequence that its checkpoint names.
 */
export const OBSERVATIONS = {
  name: 'OBSERVATIONS',
  subjects: ['observations.*'],
  storage: StorageType.File,
  retention: RetentionPolicy.Limits,
  discard: DiscardPolicy.New, // full means that the gateway hears no; the attributor purges what is done
  max_age: 30 * 24 * 60 * 60 * 1_000_000_000, // ns; the read model keeps them no longer
  max_msg_size: 1024 * 1024,
  duplicate_window: 120_000_000_000, // ns
  allow_direct: true,
} satisfies Partial<StreamConfig>

export const observationsSubject = (tenantId: string): string => `observations.${tenantId}`

/** The one reader's, of every tenant. */
export const OBSERVATIONS_OF_ALL = 'observations.*'

/** Key of the reader's checkpoint. */
export const OBSERVATIONS_CHECKPOINT = 'observations'
