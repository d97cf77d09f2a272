import { setMaxListeners } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import type { KV } from '@nats-io/kv'
import { jobOfExportsSubject } from '../../streams/exports.js'
import type { Mirror } from '../broker/mirror.js'
import type { QueuedWork, Settlement } from '../broker/work-queue.js'
import type { PublishEvent } from '../events/publish-event.js'
import type { Logger } from '../telemetry/log.js'
import { counter } from '../telemetry/metrics.js'
import { type FailureReason, hasEnded, type StoredJob, statusAt } from './export-job.js'
import { type ExporterDeps, prefixOf } from './export-run.js'
import { exportJob } from './exporter.js'
import { JobHold, JobLost } from './job-hold.js'
import { takeSlot } from './slots.js'
import { ExportFailed, Unavailable } from './unavailable.js'
import { nextJobs } from './waiting-exports.js'

const EXPORTS = counter('exports_total', 'Attempts to write the files of an export.', ['status'])
// To Prometheus a series that begins with its first failure has not increased: it has to see the 0 before.
for (const status of ['succeeded', 'failed', 'retried']) EXPORTS.inc({ status }, 0)
const EXPORTED_ROWS = counter('exported_rows_total', 'Rows in the files of exports.')

export interface WorkerDeps extends ExporterDeps {
  /** jobs */
  readonly jobs: KV
  /** export_places */
  readonly slots: KV
  /** Maximum number of concurrent jobs per tenant, over all exporters. */
  readonly perTenant: number
  /** Publishes a tenant's next jobs to the queue, after a job has released its slot. */
  readonly wake: (tenantId: string) => Promise<void>
  readonly publishEvent: PublishEvent
  readonly log: Logger
}

/** A job that crashes its exporter every time must not be retried forever. */
const ATTEMPTS_MAX = 10
const BACKOFF_MS_MAX = 60_000
/** Heartbeat interval: well below the ack wait after which the broker redelivers the job to another exporter. */
const HEARTBEAT_MS = 4_000
/** Redelivery delay of a started job whose tenant has no free slot. */
const SLOT_RETRY_MS = 1_000

const DONE: Settlement = { kind: 'done' }
const again = (afterMs: number): Settlement => ({ kind: 'again', afterMs })

/**
 * Processes one message of the queue: writes the job's files, or returns the job to the queue. Every step is safe to
 * repeat by this or another exporter.
 *
 * @param stopping when it aborts, the job is returned to the queue for another exporter
 */
export async function workOnJob(work: QueuedWork, deps: WorkerDeps, stopping: AbortSignal): Promise<Settlement> {
  const hold = await JobHold.take(deps.jobs, jobOfExportsSubject(work.subject))
  if (hold === undefined) return DONE
  // The exporter that ended the job may have crashed before it published the event.
  if (hasEnded(hold.job)) return conclude(hold, deps)
  const { id, tenant_id: tenantId } = hold.job
  const slot = await takeSlot(deps.slots, tenantId, id, deps.perTenant)
  // A job that has not started leaves the queue until its tenant has a free slot, so that other tenants' jobs proceed.
  if (slot === undefined) return hold.job.status === 'queued' ? DONE : again(SLOT_RETRY_MS)

  const log = deps.log.child({ job_id: id, tenant_id: tenantId })
  const lost = new AbortController()
  const heartbeat = setInterval(() => {
    work.working()
    slot.renew().catch((cause: unknown) => lost.abort(cause))
  }, HEARTBEAT_MS)
  try {
    const signal = AbortSignal.any([stopping, lost.signal])
    // After a restart every staged slice is counted again, and each query adds a listener.
    setMaxListeners(0, signal)
    return await attempt(hold, deps, signal, log)
  } catch (cause) {
    if (cause instanceof JobLost) {
      log.info('another exporter has taken over the job')
      // This is an earlier delivery of the message that the other exporter is processing.
      return { kind: 'elsewhere' }
    }
    throw cause
  } finally {
    clearInterval(heartbeat)
    await slot
      .release()
      .catch((cause: unknown) => log.warn({ err: cause }, 'could not release a job slot; it expires by itself'))
    await deps
      .wake(tenantId)
      .catch((cause: unknown) => log.warn({ err: cause }, 'could not queue waiting jobs; the next sweep does'))
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
    EXPORTS.inc({ status: 'succeeded' })
    EXPORTED_ROWS.inc(result.rows)
    log.info({ rows: result.rows, bytes: result.file.bytes, attempts }, 'export succeeded')
    return conclude(hold, deps)
  } catch (cause) {
    if (cause instanceof JobLost) throw cause
    if (signal.aborted) {
      // Restarts of exporters do not use up a job's attempts.
      await hold.save({ attempts: attempts - 1 })
      log.info('exporter is stopping; returned the job to the queue')
      return again(0)
    }
    if (cause instanceof ExportFailed) {
      log.warn({ err: cause }, 'export failed, not retryable')
      return fail(hold, cause.reason, deps, log)
    }
    const reason = cause instanceof Unavailable ? cause.reason : 'internal_error'
    EXPORTS.inc({ status: 'retried' })
    log.warn({ err: cause, attempts }, 'export attempt failed')
    if (attempts >= ATTEMPTS_MAX) return fail(hold, reason, deps, log)
    return again(Math.min(BACKOFF_MS_MAX, 500 * 2 ** attempts))
  }
}

async function fail(hold: JobHold, reason: FailureReason, deps: WorkerDeps, log: Logger): Promise<Settlement> {
  await hold.save({ status: 'failed', failure: reason, finished_at: new Date(deps.clock()).toISOString() })
  EXPORTS.inc({ status: 'failed' })
  log.error({ reason }, 'export job failed')
  return conclude(hold, deps)
}

/** Publishes the event of an ended job and removes its temporary data. */
async function conclude(hold: JobHold, { publishEvent, ...deps }: WorkerDeps): Promise<Settlement> {
  const { id, tenant_id: tenantId, status, schedule_id } = hold.job
  // A schedule has succeeded when the files are in the tenant's bucket, and tries again with another job until it is
  // late: its runner publishes `export.completed` and `export.schedule.late`.
  if (schedule_id === undefined && status === 'succeeded') {
    await publishEvent({ tenantId, type: 'export.completed', cause: id, data: { job_id: id, status } })
  } else if (schedule_id === undefined && status === 'failed') {
    await publishEvent({ tenantId, type: 'export.failed', cause: id, data: { job_id: id, status } })
  }
  if (!hold.job.is_cleared) await clear(hold, deps)
  return DONE
}

/** Removes staged groups and blobs; the files of a succeeded job stay. */
async function clear(hold: JobHold, { source, blobs }: Pick<ExporterDeps, 'source' | 'blobs'>): Promise<void> {
  const { id, status }: StoredJob = hold.job
  await source.clearStaged(id)
  await blobs.removeUnder(status === 'succeeded' ? `${prefixOf(hold.job)}parts/` : prefixOf(hold.job))
  await hold.save({ is_cleared: true, work: null })
}

interface SweepDeps extends Pick<WorkerDeps, 'source' | 'blobs' | 'jobs' | 'perTenant' | 'clock' | 'log'> {
  readonly watched: Pick<Mirror<StoredJob>, 'entries'>
  readonly enqueue: (job: StoredJob) => Promise<void>
}

/**
 * After this time a queued job is published again: the gateway that created it may have crashed before publishing it.
 */
const REQUEUE_AFTER_MS = 60_000

/** Sweeps the jobs at an interval until `signal` aborts. Any number of exporters may do so concurrently. */
export async function sweepJobs(deps: SweepDeps, everyMs: number, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await sweepOnce(deps)
    await sleep(everyMs, undefined, { signal }).catch(() => undefined)
  }
}

/** Deletes expired files, cleans up after ended jobs, and publishes jobs that are missing in the queue. */
async function sweepOnce({ watched, jobs, enqueue, perTenant, clock, log, ...deps }: SweepDeps): Promise<void> {
  const nowMs = clock()
  const next = nextJobs(
    [...watched.entries()].map(([, job]) => job),
    perTenant,
  )
  for (const [, job] of [...watched.entries()]) {
    try {
      const isExpired = job.status === 'succeeded' && statusAt(job, nowMs) === 'expired'
      if (isExpired || (hasEnded(job) && !job.is_cleared)) {
        const hold = await JobHold.take(jobs, job.id)
        if (hold === undefined) continue
        // Save the status first, so that no download URL is issued for files that are being deleted.
        if (isExpired) await hold.save({ status: 'expired', is_cleared: false })
        await clear(hold, deps)
      } else if ((job.status === 'running' || next.has(job)) && nowMs - Date.parse(job.created_at) > REQUEUE_AFTER_MS) {
        await enqueue(job)
      }
    } catch (cause) {
      if (!(cause instanceof JobLost))
        log.warn({ err: cause, job_id: job.id }, 'could not sweep an export job; will retry')
    }
  }
}
