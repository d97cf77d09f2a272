import type { KV } from '@nats-io/kv'
import { isLostRace } from '../../../broker/errors.js'

/** A trainer's sole right to work on a tenant. */
export interface Lease {
  /** False once another one may have it. */
  isHeld(): boolean
  release(): Promise<void>
}

/** Of the bucket's 30 s. */
const RENEW_MS = 8_000
/** After that long without a renewal the entry may be gone. */
const HELD_MS = 25_000

/**
 * Takes the lease of a tenant, and renews it until it is released. A trainer that dies loses it with the bucket's TTL.
 *
 * @param bucket training_leases
 * @returns undefined while another trainer has it
 */
export async function takeLease(bucket: KV, tenantId: string, member: string): Promise<Lease | undefined> {
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
      // The broker being away for a moment costs nothing; somebody else's entry ends it.
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
