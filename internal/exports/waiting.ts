import type { Mirror } from '../broker/mirror.js'
import type { StoredJob } from './job.js'

/**
 * Jobs that wait, and whose turn within their tenant it is: as many as a tenant has places, the oldest first. The queue
 * needs to hold no others: they would only stand before what other tenants have ordered.
 */
export function nextJobs(jobs: Iterable<StoredJob>, perTenant: number): ReadonlySet<StoredJob> {
  const waiting = [...jobs].filter(({ status }) => status === 'queued')
  waiting.sort(
    (one, other) => Date.parse(one.created_at) - Date.parse(other.created_at) || (one.id < other.id ? -1 : 1),
  )
  const counts = new Map<string, number>()
  return new Set(
    waiting.filter(({ tenant_id }) => {
      const count = (counts.get(tenant_id) ?? 0) + 1
      counts.set(tenant_id, count)
      return count <= perTenant
    }),
  )
}

/** Puts a tenant's jobs whose turn it is into the queue. */
export const waker =
  (
    watched: Pick<Mirror<StoredJob>, 'entries'>,
    enqueue: (job: StoredJob) => Promise<void>,
    perTenant: number,
  ): ((tenantId: string) => Promise<void>) =>
  async (tenantId) => {
    const ofTenant = [...watched.entries()].map(([, job]) => job).filter(({ tenant_id }) => tenant_id === tenantId)
    for (const job of nextJobs(ofTenant, perTenant)) await enqueue(job)
  }
