import type { Mirror } from '../broker/mirror.js'
import type { StoredJob } from './export-job.js'

/**
 * The queued jobs that are next for their tenant, oldest first, as many as a tenant has slots. The stream holds no
 * others: they would only delay the jobs of other tenants.
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

/** Publishes a tenant's next jobs to the queue. */
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
