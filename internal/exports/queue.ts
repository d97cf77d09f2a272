import { EXPORTS, exportsSubject } from '../../streams/exports.js'
import type { Broker } from '../broker/connect.js'
import { NotStored } from '../broker/errors.js'
import type { Publisher } from '../broker/publisher.js'
import type { StoredJob } from './export-job.js'

const TIMEOUT_MS = 2_000
/** JetStream error 10077, a stream limit was exceeded; here usually one message per subject, which is one per job. */
const AT_LIMIT = 10_077

/**
 * Publishes a job to the exporters' queue, unless it is already queued.
 *
 * Another process may have queued it first, and an exporter may have taken it from the queue since: then it is
 * published again.
 *
 * @param isThere whether the queue holds the job; checked when a stream limit is hit, since it may be a different limit
 * @returns a function that throws NotStored when the broker does not store the message
 */
export const jobQueue =
  (publish: Publisher['publish'], isThere: (subject: string) => Promise<boolean>) =>
  async ({ tenant_id: tenantId, id }: Pick<StoredJob, 'tenant_id' | 'id'>): Promise<void> => {
    const subject = exportsSubject(tenantId, id)
    for (let attempt = 1; ; attempt++) {
      // No message id: JetStream would drop a job as a duplicate if it had left the queue moments ago.
      const result = await publish(subject, new Uint8Array(), '', TIMEOUT_MS)
      if (result.kind === 'stored') return
      const isAtLimit = result.kind === 'refused' && result.errorCode === AT_LIMIT
      if (isAtLimit && (await isThere(subject))) return
      if (isAtLimit && attempt === 1) continue
      throw new NotStored(`${EXPORTS.name} did not store the job: ${result.kind}`)
    }
  }

/** Whether the queue holds a message of a subject. */
export const isQueuedIn =
  ({ manager }: Pick<Broker, 'manager'>) =>
  async (subject: string): Promise<boolean> =>
    (await manager.direct.getMessage(EXPORTS.name, { last_by_subj: subject })) !== null
