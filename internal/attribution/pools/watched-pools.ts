import { ByTenant } from '../../broker/by-tenant.js'
import type { StoredPool } from './pool.js'
import { type AllocationPolicy, allocationPolicy } from './pool-policy.js'

/** Every tenant's allocation policy in memory, fed from the bucket `pools` (its keys are in streams/buckets.ts). */
export class WatchedPools {
  private readonly pools = new ByTenant<StoredPool>()
  private readonly policies = new Map<string, AllocationPolicy>()

  /** @param pool undefined when it was deleted */
  apply(key: string, pool: StoredPool | undefined): void {
    this.pools.follow(key, pool)
    // Pools change rarely, and rebuilding a tenant's policy takes microseconds.
    this.policies.clear()
  }

  /** The same object until the tenant's pools change. */
  of(tenantId: string): AllocationPolicy {
    const known = this.policies.get(tenantId)
    if (known !== undefined) return known
    const policy = allocationPolicy(this.pools.of(tenantId))
    this.policies.set(tenantId, policy)
    return policy
  }
}
