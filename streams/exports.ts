import {
  AckPolicy,
  type ConsumerConfig,
  DiscardPolicy,
  RetentionPolicy,
  StorageType,
  type StreamConfig,
} from '@nats-io/jetstream'

/**
 * Export jobs that are queued or running. One message per job, with an empty body; the bucket `jobs` describes the job.
 * The message is deleted when the job has ended.
 */
export const EXPORTS = {
  name: 'EXPORTS',
  subjects: ['exports.*.*'],
  storage: StorageType.File,
  retention: RetentionPolicy.Workqueue,
  discard: DiscardPolicy.New, // a full stream makes the gateway refuse jobs; it never drops one
  // One message per job: publishing it again, in case it was lost, is refused while it exists.
  max_msgs_per_subject: 1,
  discard_new_per_subject: true,
  max_msgs: 100_000,
  max_age: 0,
  max_msg_size: 1024,
  duplicate_window: 1_000_000_000, // ns; the limit above deduplicates without a time limit
  allow_direct: true,
} satisfies Partial<StreamConfig>

/** @param jobId valid as a token: ids are base32 after a prefix */
export const exportsSubject = (tenantId: string, jobId: string): string => `exports.${tenantId}.${jobId}`

/** The job id in a subject. */
export const jobOfExportsSubject = (subject: string): string => subject.split('.')[2] ?? ''

/** An exporter that has not reported progress on a job for this long is considered dead: the job is redelivered. */
const EXPORT_ACK_WAIT_MS = 15_000

/** The one consumer, which all exporters share. */
export const EXPORTERS = {
  durable_name: 'exporters',
  ack_policy: AckPolicy.Explicit,
  ack_wait: EXPORT_ACK_WAIT_MS * 1_000_000, // ns
  max_deliver: -1, // the job counts its own attempts, and fails after the last
  max_ack_pending: 1_000,
} satisfies Partial<ConsumerConfig>
