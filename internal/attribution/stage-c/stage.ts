import { eachInvocation, type Stage } from '../actor/stage.js'
import type { DegradationState } from '../interpretation.js'
import type { AllocationPolicy } from '../pools/policy.js'
import { DEFAULT_POOL } from '../pools/pool.js'
import { type RowDeps, RULES_VERSION, toRow, type Verdict } from '../row.js'

/** An allocation says where a cost is kept, not who caused it: always below the 0.50 of a provisional record. */
const CONFIDENCE = { allocation_policy: 3_000, default_pool: 1_000 } as const

export interface StageCDeps extends RowDeps {
  readonly policyOf: (tenantId: string) => AllocationPolicy
  /** How stage B, which left the call to this one, serves the tenant. */
  readonly degradationOf: (tenantId: string) => DegradationState
  /** Sees to the weights by which a tenant's pools may be spread at a time, and says as of which instant they are. */
  readonly weightsAsOf: (tenantId: string, nowMs: number) => Promise<number>
}

/**
 * Stage C: allocation. Mailbox `invocations.c.<partition>`. What no stage before could resolve is kept in the pool that
 * a rule of the tenant names, else in the default pool, unresolved; nothing is guessed.
 */
export const stageC = (deps: StageCDeps): Stage => ({
  name: 'c',
  next: undefined,
  open: async (partition) => ({
    async handle({ invocations, validFromMs }) {
      const weightsAsOf = new Map<string, number>()
      for (const tenantId of new Set(invocations.map((admitted) => admitted.tenantId))) {
        weightsAsOf.set(tenantId, await deps.weightsAsOf(tenantId, validFromMs))
      }
      return eachInvocation(invocations, (admitted) => {
        const { tenantId, principal, invocation } = admitted
        const call = { provider: invocation.provider, ingestionLayer: invocation.ingestionLayer, principal }
        const degradationState = deps.degradationOf(tenantId)
        const verdict = allocate(deps.policyOf(tenantId), call, weightsAsOf.get(tenantId) ?? 0, degradationState)
        return toRow(admitted, verdict, { partition, validFromMs }, deps)
      })
    },
  }),
})

function allocate(
  policy: AllocationPolicy,
  call: Parameters<AllocationPolicy['allocate']>[0],
  weightsAsOf: number,
  degradationState: DegradationState,
): Verdict {
  const rest = {
    stageOrigin: 'stage_c',
    modelVersion: RULES_VERSION,
    degradationState,
  } as const
  const weights_as_of = new Date(weightsAsOf).toISOString()
  const allocation = policy.allocate(call)
  if (allocation === undefined) {
    return {
      ...rest,
      service: DEFAULT_POOL,
      owner: DEFAULT_POOL,
      evidenceBasis: 'default_pool',
      confidence: CONFIDENCE.default_pool,
      outputState: 'unresolved',
      evidence: { pool: DEFAULT_POOL, rule: 'default', weights_as_of },
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
    evidence: { pool: pool.name, pool_id: pool.id, rule, weights_as_of },
  }
}
