import type { KV } from '@nats-io/kv'
import { isLostRace } from '../broker/errors.js'

/** One of a tenant's slots for running jobs, occupied by a job. */
export interface JobSlot {
  /** Extends the slot's expiry. @throws Error when another job has taken the slot, or the broker is unavailable */
  renew(): Promise<void>
  release(): Promise<void>
}

/**
 * Jobs that an exporter processes concurrently: one more than a tenant has slots, so that one tenant cannot block the
 * others.
 */
export const jobsAtOnce = (perTenant: number): number => perTenant + 1

/**
 * Takes one of a tenant's slots. Slots limit the jobs that a tenant runs concurrently. A slot that is not renewed
 * within the TTL of the bucket is free again.
 *
 * @param bucket export_places
 * @returns undefined when all slots are taken
 */
export async function takeSlot(
  bucket: KV,
  tenantId: string,
  jobId: string,
  slots: number,
): Promise<JobSlot | undefined> {
  for (let number = 0; number < slots; number++) {
    const key = `${tenantId}.${number}`
    try {
      let revision = await bucket.create(key, JSON.stringify({ job_id: jobId }))
      return {
        async renew() {
          revision = await bucket.update(key, JSON.stringify({ job_id: jobId }), revision)
        },
        async release() {
          try {
            await bucket.delete(key, { previousSeq: revision })
          } catch (cause) {
            if (!isLostRace(cause)) throw cause
          }
        },
      }
    } catch (cause) {
      if (!isLostRace(cause)) throw cause
    }
  }
  return undefined
}
