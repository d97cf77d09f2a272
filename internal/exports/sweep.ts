import { setTimeout as sleep } from 'node:timers/promises'
import type { KV } from '@nats-io/kv'
import type { Mirror } from '../broker/mirror.js'
import type { Logger } from '../telemetry/log.js'
import { hasEnded, type StoredJob, statusAt } from './export-job.js'
import { clear } from './export-worker.js'
import type { ExporterDeps } from './exporter.js'
import { JobHold, JobLost } from './job-hold.js'
import { nextJobs } from './waiting-exports.js'

export interface SweepDeps extends Pick<ExporterDeps, 'source' | 'blobs' | 'clock'> {
  readonly jobs: KV
  readonly watched: Pick<Mirror<StoredJob>, 'entries'>
  /** Maximum number of concurrent jobs per tenant. */
  readonly perTenant: number
  readonly enqueue: (job: StoredJob) => Promise<void>
  readonly log: Logger
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
export async function sweepOnce({ watched, jobs, enqueue, perTenant, clock, log, ...deps }: SweepDeps): Promise<void> {
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
