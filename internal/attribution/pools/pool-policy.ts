import { ByTenant } from '../../broker/by-tenant.js'
import { canonicalProvider, comparableProvider } from '../../records/provider-names.js'
import { comparableName } from '../../text/comparable-name.js'
import { DEFAULT_POOL, type PoolRule, type StoredPool } from './pool.js'

/** What of a call decides which pool it goes to. */
export interface PooledCall {
  readonly provider: string
  readonly ingestionLayer: string
  readonly principal: string
}

export interface Allocation {
  readonly pool: StoredPool
  /** The first of the pool's rules that took the call. */
  readonly rule: PoolRule
}

/** A tenant's pools, ready for calls. */
export interface AllocationPolicy {
  /** Undefined when no rule takes it: it belongs to the default pool. */
  allocate(call: PooledCall): Allocation | undefined
  /** Whether a pool has this name, compared as names of services are. The default pool always exists. */
  isPool(name: string): boolean
}

/** Pure. The order in which pools are tried is the same in every process: priority, name, id. */
export function allocationPolicy(pools: Iterable<StoredPool>): AllocationPolicy {
  const sorted = [...pools].sort(inOrder)
  const tried = sorted.flatMap((pool) => pool.rules.map((rule) => ({ pool, rule, takes: takes(rule) })))
  const names = new Set([DEFAULT_POOL, ...sorted.map(({ name }) => name)].map(comparableName))
  return {
    isPool: (name) => names.has(comparableName(name)),
    allocate({ provider, ingestionLayer, principal }) {
      const compared = { provider: providerOf(provider), ingestionLayer: ingestionLayer.toLowerCase(), principal }
      return tried.find((each) => each.takes(compared))
    },
  }
}

function takes(rule: PoolRule): (call: PooledCall) => boolean {
  const provider = rule.provider === undefined ? undefined : providerOf(rule.provider)
  const layer = rule.ingestion_layer?.toLowerCase()
  const { principal_id: principal } = rule
  return (call) =>
    (provider === undefined || call.provider === provider) &&
    (layer === undefined || call.ingestionLayer === layer) &&
    (principal === undefined || call.principal === principal)
}

/** `aws.bedrock` and `bedrock` are one provider. */
const providerOf = (name: string): string => canonicalProvider(name) ?? comparableProvider(name)

const inOrder = (one: StoredPool, other: StoredPool): number =>
  one.priority - other.priority || compareText(one.name, other.name) || compareText(one.id, other.id)

const compareText = (one: string, other: string): number => (one < other ? -1 : one > other ? 1 : 0)

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

  /** A tenant's policy with a pool as it would be, or without it. */
  with(id: string, pool: StoredPool | undefined, tenantId: string): AllocationPolicy {
    const others = [...this.pools.of(tenantId)].filter((one) => one.id !== id)
    return allocationPolicy(pool === undefined ? others : [...others, pool])
  }
}
