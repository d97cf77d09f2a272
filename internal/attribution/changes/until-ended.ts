import { setTimeout as sleep } from 'node:timers/promises'
import type { Records } from '../../broker/records.js'
import type { Watermark } from '../../broker/watermark.js'
import type { ReattributionJob } from './reattribution-job.js'

/** Time to wait for a job before answering 202; one with few records is done by then. */
const DONE_MS_MAX = 3_000
const POLL_EVERY_MS = 50

/** Waits for a job for some seconds; then the next read of this gateway shows what it has done. */
export async function untilEnded(
  started: ReattributionJob,
  {
    jobs,
    watermark,
  }: { readonly jobs: Pick<Records<ReattributionJob>, 'read'>; readonly watermark: Pick<Watermark, 'renewed'> },
): Promise<ReattributionJob> {
  let job = started
  for (const until = performance.now() + DONE_MS_MAX; job.status === 'running' && performance.now() < until; ) {
    await sleep(POLL_EVERY_MS)
    job = (await jobs.read(started.id)) ?? job
  }
  await watermark.renewed()
  return job
}
