import type { DegradationState } from '../../records/interpretation.js'
import { formatInstant } from '../../units/instant.js'
import { RULES_VERSION, type Verdict } from '../records/row.js'
import type { AllocationPolicy, PooledCall } from './policy.js'
import { DEFAULT_POOL } from './pool.js'

/** An allocation says where a cost is kept, not who caused it: always below the 0.50 of a provisional record. */
const CONFIDENCE = { allocation_policy: 3_000, default_pool: 1_000 } as const

export interface AllocationDeps {
  readonly policyOf: (tenantId: string) => AllocationPolicy
  /** How stage B, which left the call to this one, serves the tenant. */
  readonly degradationOf: (tenantId: string) => DegradationState
  /**
   * As of which instant the weights are by which a tenant's pools may be spread, the last that are known at a time; undefined
   * when there are none. Sees to it that they are renewed. Never throws, and does not wait for that: nobody sees what comes
   * behind a batch until it is done.
   */
  readonly weightsAsOf: (tenantId: string, nowMs: number) => Promise<number | undefined>
}

/**
 * Where the cost of a call is kept that nobody could be named for: the pool that a rule of the tenant names, else the
 * default pool, unresolved.
 *
 * @param weightsAsOfMs the instant of the weights by which the pool may be spread, if there are any
 */
export function allocate(
  tenantId: string,
  call: PooledCall,
  weightsAsOfMs: number | undefined,
  { policyOf, degradationOf }: Pick<AllocationDeps, 'policyOf' | 'degradationOf'>,
): Verdict {
  const degradationState = degradationOf(tenantId)
  const rest = { stageOrigin: 'stage_c', modelVersion: RULES_VERSION, degradationState } as const
  const weights = weightsAsOfMs === undefined ? {} : { weights_as_of: formatInstant(weightsAsOfMs) }
  const allocation = policyOf(tenantId).allocate(call)
  if (allocation === undefined) {
    return {
      ...rest,
      service: DEFAULT_POOL,
      owner: DEFAULT_POOL,
      evidenceBasis: 'default_pool',
      confidence: CONFIDENCE.default_pool,
      outputState: 'unresolved',
      evidence: { pool: DEFAULT_POOL, rule: 'default', ...weights },
    }
  }
  const { pool, rule } = allocation
  return {
    ...rest,
    service: pool.name,
    owner: pool.owner,
    evidenceBasis: 'allocation_policy',
    confidence: CONFIDENCE.allocation_policy,
    outputState: 'allocated',
    evidence: { pool: pool.name, pool_id: pool.id, rule, ...weights },
  }
}

export const pooledCall = (
  { provider, ingestionLayer }: Omit<PooledCall, 'principal'>,
  principal: string,
): PooledCall => ({ provider, ingestionLayer, principal })
