import { DiscardPolicy, RetentionPolicy, StorageType, type StreamConfig } from '@nats-io/jetstream'

/**
 * Observations accepted by `POST /api/v1/events`, on their way to the read model. One message carries one observation,
 * or several of one request, encoded by `internal/ingest/observations/observation-codec.ts`.
 *
 * One attributor at a time reads the whole stream, starting at the sequence in its checkpoint.
 */
export const OBSERVATIONS = {
  name: 'OBSERVATIONS',
  subjects: ['observations.*'],
  storage: StorageType.File,
  retention: RetentionPolicy.Limits,
  discard: DiscardPolicy.New, // a full stream refuses observations at the gateway; the attributor purges processed ones
  max_age: 30 * 24 * 60 * 60 * 1_000_000_000, // ns; the read model keeps them no longer
  max_msg_size: 1024 * 1024,
  duplicate_window: 120_000_000_000, // ns
  allow_direct: true,
} satisfies Partial<StreamConfig>

export const observationsSubject = (tenantId: string): string => `observations.${tenantId}`

export const isObservations = (subject: string): boolean => subject.startsWith('observations.')

/** All tenants' observations, for the stream's one reader. */
export const OBSERVATIONS_OF_ALL = 'observations.*'

/** Key of the reader's checkpoint. */
export const OBSERVATIONS_CHECKPOINT = 'observations'
