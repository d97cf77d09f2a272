import {
  AckPolicy,
  type ConsumerConfig,
  DiscardPolicy,
  RetentionPolicy,
  StorageType,
  type StreamConfig,
} from '@nats-io/jetstream'

/**
 * Export jobs that wait for an exporter, or are in its hands. One message stands for one job, which the bucket `jobs`
 * describes; its body is empty. Gone once the job has ended.
 */
export const EXPORTS = {
  name: 'EXPORTS',
  subjects: ['exports.*.*'],
  storage: StorageType.File,
  retention: RetentionPolicy.Workqueue,
  discard: DiscardPolicy.New, // full means that the gateway hears no, never that a job vanishes
  // One message a job: whoever puts it in once more, because it may have been lost, is refused while it is there.
  max_msgs_per_subject: 1,
  discard_new_per_subject: true,
  max_msgs: 100_000,
  max_age: 0,
  max_msg_size: 1024,
  duplicate_window: 1_000_000_000, // ns; the limit above does what it would, for longer
  allow_direct: true,
} satisfies Partial<StreamConfig>

/** @param jobId a token: ids are base32 behind a prefix */
export const exportsSubject = (tenantId: string, jobId: string): string => `exports.${tenantId}.${jobId}`

/** The job that a subject names. */
export const jobOfExportsSubject = (subject: string): string => subject.split('.')[2] ?? ''

/** An exporter that has not said for so long that it works on a job is dead: another gets the job. */
export const EXPORT_ACK_WAIT_MS = 15_000

/** The one consumer, which all exporters share. */
export const EXPORTERS = {
  durable_name: 'exporters',
  ack_policy: AckPolicy.Explicit,
  ack_wait: EXPORT_ACK_WAIT_MS * 1_000_000, // ns
  max_deliver: -1, // the job counts its attempts, and ends itself
  max_ack_pending: 1_000,
} satisfies Partial<ConsumerConfig>
