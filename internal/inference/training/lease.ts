import type { KV } from '@nats-io/kv'
import { isLostRace } from '../../broker/errors.js'

/** Gives one trainer the exclusive right to train a tenant. */
export interface Lease {
  /** False once another trainer may hold the lease. */
  isHeld(): boolean
  release(): Promise<void>
}

/** The TTL of the bucket is 30 s. */
const RENEW_MS = 8_000
/** After this time without a renewal the entry may have expired. */
const HELD_MS = 25_000

/**
 * Acquires the lease of a tenant and renews it until it is released. The lease of a trainer that dies expires with the
 * TTL of the bucket.
 *
 * @param bucket training_leases
 * @returns undefined while another trainer holds the lease
 */
export async function acquireLease(bucket: KV, tenantId: string, member: string): Promise<Lease | undefined> {
  const value = JSON.stringify({ member })
  let renewedAt = performance.now()
  let revision: number
  try {
    revision = await bucket.create(tenantId, value)
  } catch (cause) {
    if (isLostRace(cause)) return undefined
    throw cause
  }
  let isOver = false
  const renew = async (): Promise<void> => {
    const at = performance.now()
    try {
      revision = await bucket.update(tenantId, value, revision)
      renewedAt = at
    } catch (cause) {
      // A short outage of the broker does no harm; an entry of another trainer ends this lease.
      if (isLostRace(cause)) isOver = true
    }
  }
  let renewing = Promise.resolve()
  const timer = setInterval(() => {
    renewing = renewing.then(renew)
  }, RENEW_MS)
  return {
    isHeld: () => !isOver && performance.now() - renewedAt < HELD_MS,
    async release() {
      clearInterval(timer)
      await renewing
      if (isOver) return
      isOver = true
      await bucket.delete(tenantId, { previousSeq: revision }).catch((cause: unknown) => {
        if (!isLostRace(cause)) throw cause
      })
    },
  }
}
