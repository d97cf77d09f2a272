import { setTimeout as sleep } from 'node:timers/promises'
import type { KV } from '@nats-io/kv'
import type { Mirror } from '../broker/mirror.js'
import type { Logger } from '../telemetry/log.js'
import type { ExporterDeps } from './exporter.js'
import { hasEnded, type StoredJob, statusAt } from './job.js'
import { JobHold, JobLost } from './job-hold.js'
import { nextJobs } from './waiting.js'
import { clear } from './worker.js'

export interface SweepDeps extends Pick<ExporterDeps, 'source' | 'blobs' | 'clock'> {
  readonly jobs: KV
  readonly watched: Pick<Mirror<StoredJob>, 'entries'>
  /** Jobs of one tenant that run at once. */
  readonly perTenant: number
  readonly enqueue: (job: StoredJob) => Promise<void>
  readonly log: Logger
}

/** A job that has waited so long may have been forgotten: whoever made it died before it was in the queue. */
const FORGOTTEN_MS = 60_000

/** Looks after jobs that nobody works on, until `signal` aborts. Any number of exporters may do so. */
export async function sweepJobs(deps: SweepDeps, everyMs: number, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await sweepOnce(deps)
    await sleep(everyMs, undefined, { signal }).catch(() => undefined)
  }
}

/** Removes files whose time is over, clears what ended jobs have left, and puts forgotten jobs into the queue again. */
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
        // First said, then done: nobody is given an address of what is being removed.
        if (isExpired) await hold.save({ status: 'expired', is_cleared: false })
        await clear(hold, deps)
      } else if ((job.status === 'running' || next.has(job)) && nowMs - Date.parse(job.created_at) > FORGOTTEN_MS) {
        await enqueue(job)
      }
    } catch (cause) {
      if (!(cause instanceof JobLost)) log.warn({ err: cause, job_id: job.id }, 'a job could not be looked after now')
    }
  }
}
