import type { KV } from '@nats-io/kv'
import { isLostRace } from '../broker/errors.js'

/** A place in which one of a tenant's jobs runs. */
export interface Place {
  /** Says that it is still used. @throws Error when it fell to another, or the broker is away */
  renew(): Promise<void>
  leave(): Promise<void>
}

/** Jobs that an exporter has in hand at once: one more than a tenant has places, so that its jobs leave room for another's. */
export const jobsAtOnce = (perTenant: number): number => perTenant + 1

/**
 * Takes one of the places of a tenant, so that its jobs leave room for those of others. A place that is not renewed
 * for as long as the bucket keeps an entry is free again.
 *
 * @param bucket export_places
 * @returns undefined when all are taken
 */
export async function takePlace(
  bucket: KV,
  tenantId: string,
  jobId: string,
  places: number,
): Promise<Place | undefined> {
  for (let number = 0; number < places; number++) {
    const key = `${tenantId}.${number}`
    try {
      let revision = await bucket.create(key, JSON.stringify({ job_id: jobId }))
      return {
        async renew() {
          revision = await bucket.update(key, JSON.stringify({ job_id: jobId }), revision)
        },
        async leave() {
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
