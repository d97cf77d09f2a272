import type { DegradationState } from '../../records/interpretation.js'
import { formatInstant } from '../../units/instant.js'
import { RULES_VERSION, type Verdict } from '../records/row.js'
import { DEFAULT_POOL } from './pool.js'
import type { AllocationPolicy, PooledCall } from './pool-policy.js'

/** An allocation states where a cost is booked, not who caused it: always below the 0.50 of a provisional record. */
const CONFIDENCE = { allocation_policy: 3_000, default_pool: 1_000 } as const

export interface AllocationDeps {
  readonly policyOf: (tenantId: string) => AllocationPolicy
  /** The tenant's degradation state in the inference stage, which passed the call on. */
  readonly degradationOf: (tenantId: string) => DegradationState
  /**
   * The instant of the last known weights by which reports may spread a tenant's pools; undefined when there are none.
   * Starts their renewal in the background. Never throws and never waits for it, since an unfinished batch delays those
   * behind it.
   */
  readonly weightsAsOf: (tenantId: string, nowMs: number) => Promise<number | undefined>
}

/** A call that no stage could attribute. */
interface Unattributed {
  readonly tenantId: string
  /** The services of its trace, when there are several. */
  readonly traceServices?: readonly string[] | undefined
  /** Whether it states an identity: then the directory knows neither service nor owner of it. */
  readonly statesIdentity?: boolean
}

/**
 * Allocates the cost of an unattributed call: to the pool with a matching rule, otherwise to the default pool, as
 * unresolved.
 *
 * @param weightsAsOfMs the instant of the weights by which the pool may be spread, if there are any
 */
export function allocate(
  { tenantId, traceServices, statesIdentity = false }: Unattributed,
  call: PooledCall,
  weightsAsOfMs: number | undefined,
  { policyOf, degradationOf }: Pick<AllocationDeps, 'policyOf' | 'degradationOf'>,
): Verdict {
  const degradationState = degradationOf(tenantId)
  const conflict = traceServices && ({ by: 'trace', services: traceServices } as const)
  const rest = {
    stageOrigin: 'stage_c',
    modelVersion: RULES_VERSION,
    degradationState,
    ...(conflict && { contested: conflict.by }),
  } as const
  const unknown = statesIdentity ? { unknown_identity: true } : {}
  const weights = weightsAsOfMs === undefined ? {} : { weights_as_of: formatInstant(weightsAsOfMs) }
  const allocation = policyOf(tenantId).allocate(call)
  if (allocation === undefined) {
    return {
      service: DEFAULT_POOL,
      owner: DEFAULT_POOL,
      evidenceBasis: 'default_pool',
      confidence: CONFIDENCE.default_pool,
      outputState: 'unresolved',
      evidence: { pool: DEFAULT_POOL, rule: 'default', ...unknown, ...weights, ...(conflict && { conflict }) },
      ...rest,
    }
  }
  const { pool, rule } = allocation
  return {
    service: pool.name,
    owner: pool.owner,
    evidenceBasis: 'allocation_policy',
    confidence: CONFIDENCE.allocation_policy,
    outputState: 'allocated',
    evidence: { pool: pool.name, pool_id: pool.id, rule, ...unknown, ...weights, ...(conflict && { conflict }) },
    ...rest,
  }
}

export const pooledCall = (
  { provider, ingestionLayer }: Omit<PooledCall, 'principal'>,
  principal: string,
): PooledCall => ({ provider, ingestionLayer, principal })
