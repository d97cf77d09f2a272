import { setMaxListeners } from 'node:events'
import type { KV } from '@nats-io/kv'
import { jobOfExportsSubject } from '../../streams/exports.js'
import type { QueuedWork, Settlement } from '../broker/work-queue.js'
import type { PublishEvent } from '../events/publish.js'
import type { Logger } from '../telemetry/log.js'
import { type ExporterDeps, exportJob, prefixOf } from './exporter.js'
import { type FailureReason, hasEnded, type StoredJob } from './job.js'
import { JobHold, JobLost } from './job-hold.js'
import { takePlace } from './slots.js'
import { ExportFailed, Unavailable } from './unavailable.js'

export interface WorkerDeps extends ExporterDeps {
  /** jobs */
  readonly jobs: KV
  /** export_places */
  readonly placesInUse: KV
  /** Jobs of one tenant that run at once, over all exporters. */
  readonly perTenant: number
  /** Puts the jobs of a tenant whose turn it is into the queue, after one that ran has left its place. */
  readonly wake: (tenantId: string) => Promise<void>
  readonly publishEvent: PublishEvent
  readonly log: Logger
}

/** Attempts of a job at most: one that ends its exporter each time must not go round for ever. */
const ATTEMPTS_MAX = 10
const BACKOFF_MS_MAX = 60_000
/** How often an exporter says that it works on a job: well within the time after which the job is given to another. */
const BEAT_MS = 4_000
/** How soon a job that was begun is looked at again, whose tenant has as many running as it may. */
const PLACE_RETRY_MS = 1_000

const DONE: Settlement = { kind: 'done' }
const again = (afterMs: number): Settlement => ({ kind: 'again', afterMs })

/**
 * Works on one message of the queue: makes its job's files, or gives the job back. Every step is safe to repeat, by
 * whoever gets the job next.
 *
 * @param stopping when it aborts, the job is left to another exporter
 */
export async function workOnJob(work: QueuedWork, deps: WorkerDeps, stopping: AbortSignal): Promise<Settlement> {
  const hold = await JobHold.take(deps.jobs, jobOfExportsSubject(work.subject))
  if (hold === undefined) return DONE
  // Whoever ended it may have died before it said so.
  if (hasEnded(hold.job)) return conclude(hold, deps)
  const { id, tenant_id: tenantId } = hold.job
  const place = await takePlace(deps.placesInUse, tenantId, id, deps.perTenant)
  // A job that has not begun leaves the queue, which goes on to those of other tenants, until its tenant has a place.
  if (place === undefined) return hold.job.status === 'queued' ? DONE : again(PLACE_RETRY_MS)

  const log = deps.log.child({ job_id: id, tenant_id: tenantId })
  const lost = new AbortController()
  const beat = setInterval(() => {
    work.working()
    place.renew().catch((cause: unknown) => lost.abort(cause))
  }, BEAT_MS)
  try {
    const signal = AbortSignal.any([stopping, lost.signal])
    // Each slice that is counted again after a restart listens.
    setMaxListeners(0, signal)
    return await attempt(hold, deps, signal, log)
  } catch (cause) {
    if (cause instanceof JobLost) {
      log.info('another exporter has the job')
      // Ours is an earlier delivery of the message that the other has in hand.
      return { kind: 'elsewhere' }
    }
    throw cause
  } finally {
    clearInterval(beat)
    await place.leave().catch((cause: unknown) => log.warn({ err: cause }, 'a place was left to its expiry'))
    await deps.wake(tenantId).catch((cause: unknown) => log.warn({ err: cause }, 'who waits is left to the next sweep'))
  }
}

async function attempt(hold: JobHold, deps: WorkerDeps, signal: AbortSignal, log: Logger): Promise<Settlement> {
  const attempts = hold.job.attempts + 1
  const now = (): string => new Date(deps.clock()).toISOString()
  if (attempts > ATTEMPTS_MAX) return fail(hold, 'internal_error', deps, log)
  await hold.save({ status: 'running', attempts, started_at: hold.job.started_at ?? now() })
  try {
    const result = await exportJob(hold, deps, signal)
    await hold.save({ status: 'succeeded', percent: 100, result, finished_at: now() })
    log.info({ rows: result.rows, bytes: result.file.bytes, attempts }, 'exported')
    return conclude(hold, deps)
  } catch (cause) {
    if (cause instanceof JobLost) throw cause
    if (signal.aborted) {
      // It did not fail: however often exporters are restarted, a job keeps the attempts that it has.
      await hold.save({ attempts: attempts - 1 })
      log.info('left a job to another exporter')
      return again(0)
    }
    if (cause instanceof ExportFailed) {
      log.warn({ err: cause }, 'an export failed')
      return fail(hold, cause.reason, deps, log)
    }
    const reason = cause instanceof Unavailable ? cause.reason : 'internal_error'
    log.warn({ err: cause, attempts }, 'an export could not be made now')
    if (attempts >= ATTEMPTS_MAX) return fail(hold, reason, deps, log)
    return again(Math.min(BACKOFF_MS_MAX, 500 * 2 ** attempts))
  }
}

async function fail(hold: JobHold, reason: FailureReason, deps: WorkerDeps, log: Logger): Promise<Settlement> {
  await hold.save({ status: 'failed', failure: reason, finished_at: new Date(deps.clock()).toISOString() })
  log.error({ reason }, 'an export has failed')
  return conclude(hold, deps)
}

/** Tells of an ended job, and removes what it needs no more. */
async function conclude(hold: JobHold, { publishEvent, ...deps }: WorkerDeps): Promise<Settlement> {
  const { id, tenant_id: tenantId, status } = hold.job
  if (status === 'succeeded') {
    await publishEvent({ tenantId, type: 'export.completed', cause: id, data: { job_id: id, status } })
  } else if (status === 'failed') {
    await publishEvent({ tenantId, type: 'export.failed', cause: id, data: { job_id: id, status } })
  }
  if (!hold.job.is_cleared) await clear(hold, deps)
  return DONE
}

/** Of a job that has files, only what they were made from goes. */
export async function clear(hold: JobHold, { source, blobs }: Pick<ExporterDeps, 'source' | 'blobs'>): Promise<void> {
  const { id, status }: StoredJob = hold.job
  await source.clearStaged(id)
  await blobs.removeUnder(status === 'succeeded' ? `${prefixOf(hold.job)}parts/` : prefixOf(hold.job))
  await hold.save({ is_cleared: true, work: null })
}
