import { EXPORTS, exportsSubject } from '../../streams/exports.js'
import type { Broker } from '../broker/connect.js'
import { NotStored } from '../broker/errors.js'
import type { Publisher } from '../broker/publisher.js'
import type { StoredJob } from './job.js'

const TIMEOUT_MS = 2_000
/** JetStream's error 10077: a limit of the stream, here one message a job. */
const AT_LIMIT = 10_077

/**
 * Puts a job into the queue of exporters, unless it is there already.
 *
 * @param isThere whether the queue holds the job; asked when the queue is at a limit, which may be another one
 * @returns throws NotStored when the broker did not take it
 */
export const jobQueue =
  (publish: Publisher['publish'], isThere: (subject: string) => Promise<boolean>) =>
  async ({ tenant_id: tenantId, id }: Pick<StoredJob, 'tenant_id' | 'id'>): Promise<void> => {
    const subject = exportsSubject(tenantId, id)
    // Without an id: a job that has left the queue a moment ago is no repeat when it is put in again.
    const result = await publish(subject, new Uint8Array(), '', TIMEOUT_MS)
    if (result.kind === 'stored') return
    if (result.kind === 'refused' && result.errorCode === AT_LIMIT && (await isThere(subject))) return
    throw new NotStored(`${EXPORTS.name} did not take a job: ${result.kind}`)
  }

/** Whether the queue holds a message of a subject. */
export const isQueuedIn =
  ({ manager }: Pick<Broker, 'manager'>) =>
  async (subject: string): Promise<boolean> =>
    (await manager.direct.getMessage(EXPORTS.name, { last_by_subj: subject })) !== null
